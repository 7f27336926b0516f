"""`eptr_lm` on real regressions, beside `dp_lm` at the same budget."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np

from dpstats import dp_lm, eptr_lm, public_moments
from tests.benchmarks.others.tables import FAR, Case, Folders, draw, noted
from tests.benchmarks.real_tables import nonprivate

_TABLES = (
    "lm_diamonds_log", "lm_diamonds_raw", "lm_cps1988_log", "lm_flights_arr", "lm_ames_log",
    "lm_k401ksubs", "lm_card", "lm_twoyear", "lm_gpa2", "lm_storms", "lm_budgetfood", "lm_nox",
    "lm_star_k", "lm_crime1",
)  # fmt: skip
_FORMULAS = {
    "wine_white": "quality ~ alcohol + volatile_acidity + residual_sugar + chlorides + sulphates",
    "power_plant": "PE ~ AT + V + AP + RH",
}


def _figures(
    name: str, share: float, folders: Folders, seed: int, epsilon: float, delta: float
) -> dict[str, Any]:
    formula = _FORMULAS.get(name)
    if formula is None:
        formula = json.loads((folders.real / "manifest.json").read_text())[name]["formula"]
    table = folders.table(name)
    numbers = {c: float for c in table.columns if table[c].dtype.kind in "fiub"}
    table = table.astype(numbers)
    columns = len(public_moments(formula, table).terms)
    m = int(max(share * min(len(table), 25_000), 40, 3 * columns))
    drawn = draw(table, m, seed)
    design = public_moments(formula, drawn.public).design
    (truth, _, _), (plain, errors, _), (public, _, _) = (
        nonprivate(design, formula, rows, None) for rows in (table, drawn.private, drawn.public)
    )
    asked = {"public": drawn.public, "epsilon": epsilon, "delta": delta, "seed": seed}
    fit = eptr_lm(formula, drawn.private, **asked)
    other = dp_lm(formula, drawn.private, **asked)

    def error(coef: Any) -> float:
        return float(np.sqrt(np.mean(((np.asarray(coef) - truth) / errors) ** 2)))

    printed = fit.se().to_numpy()
    off = np.abs(fit.coef().to_numpy() - truth)
    said = np.isfinite(printed)
    return {
        "error": error(fit.coef()),
        "plain": error(plain),
        "public": error(public),
        "dp_lm": error(other.coef()),
        "over_dp_lm": error(fit.coef()) / error(other.coef()),
        "cover": float((off <= 1.96 * printed)[said].mean()) if said.any() else np.nan,
        "width": float(np.median(printed[said] / errors[said])) if said.any() else np.nan,
        "far": bool((off > FAR * printed)[said].any()),
        "noted": noted(fit),
        "withheld": float(not said.all()),
    }


CASES: dict[str, Case] = {
    f"{name} {share:.0%}": partial(_figures, name, share)
    for name in (*_TABLES, *_FORMULAS)
    for share in (0.03, 0.1)
}
