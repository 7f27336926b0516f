"""Do fits tell the truth on real tables? The population is the table, so that the truth is known.

Private rows are drawn from a table with replacement, public ones without; the truth is the fit of the
whole table. For every table: the error of the coefficients over that of the fit without privacy (root
mean squares in its standard errors, medians over fits), coverage of 95 % intervals of slopes and of the
constant, and without privacy, the share of fits with a coefficient beyond 3.29 printed errors and no
note ("silent"), of the other fits with a note ("noisy"), and of fits without privacy that are as far in
their own errors. Below: quantiles of printed over planned
errors, of plans that warn of cuts and of others; how often the simulated and the estimated distance
to the fit without privacy hold; and sigma over that without privacy.

    python -m tests.benchmarks.real_tables --data FOLDER [--part lm] [--repeats 6] [--mu 1,3]

FOLDER has tables (NAME.csv.gz) and a manifest.json: a formula for every name, and a family for part
"glm". Fits without privacy have sandwich errors.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import formulaic
import numpy as np
import pandas as pd
import statsmodels.api as sm

from dpstats import dp_glm, dp_lm, plan_glm, plan_lm, public_moments
from dpstats.errors import DPStatsError

_LARGEST = 25_000
_FAR = 3.29
_FAMILIES = {
    "binomial": sm.families.Binomial(),
    "quasipoisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(sm.families.links.Log()),
}


def nonprivate(design: Any, formula: str, table: pd.DataFrame, family: str | None) -> Any:
    """Coefficients, sandwich errors and sigma of a fit without privacy."""
    x, _ = design.matrix(table)
    left = formula.partition("~")[0].strip()
    y = formulaic.model_matrix(f"0 + I({left})", table, na_action="ignore").to_numpy()[:, 0]
    used = np.isfinite(x).all(axis=1) & np.isfinite(y)
    if family is None:
        fit = sm.OLS(y[used], x[used]).fit(cov_type="HC1")
    else:
        fit = sm.GLM(y[used], x[used], _FAMILIES[family]).fit(cov_type="HC0")
    return np.asarray(fit.params), np.asarray(fit.bse), float(np.sqrt(fit.scale))


def fits_of(
    folder: Path, name: str, entry: dict[str, Any], repeats: int, mus: list[float]
) -> pd.DataFrame:
    """A line for every coefficient of every fit of a table."""
    table = pd.read_csv(folder / f"{name}.csv.gz")
    table = table.astype({c: float for c in table.columns if table[c].dtype.kind in "iub"})
    formula, family = entry["formula"], entry.get("family")
    n, columns = min(len(table), _LARGEST), len(public_moments(formula, table).terms)
    lines = []
    for m in sorted({int(max(share * n, 40, 3 * columns)) for share in (0.01, 0.03, 0.10)}):
        for seed in range(repeats):
            rng = np.random.default_rng([seed, m])
            public = table.iloc[rng.choice(len(table), m, replace=False)].reset_index(drop=True)
            private = table.iloc[rng.integers(0, len(table), n)].reset_index(drop=True)
            for mu in mus:
                given = {"public": public, "mu": mu, "seed": seed}
                try:
                    if family is None:
                        plan = plan_lm(formula, public, n, mu)
                        fit: Any = dp_lm(formula, private, **given)
                    else:
                        plan = plan_glm(formula, public, n, mu, family=family)
                        fit = dp_glm(formula, private, family=family, **given)
                except DPStatsError:
                    continue
                (here, error, sigma), (truth, _, _) = (
                    nonprivate(fit.design, formula, rows, family) for rows in (private, table)
                )
                bounds = fit.bounds().set_index("kind").value
                away = float(np.linalg.norm(fit.coef().to_numpy() - here))
                row = fit.glance().iloc[0]
                lines.append(
                    pd.DataFrame(
                        {
                            "fit": f"{m} {seed} {mu}",
                            "constant": fit.coef().index == "Intercept",
                            "off": (fit.coef().to_numpy() - truth) / error,
                            "z": (fit.coef().to_numpy() - truth) / fit.se().to_numpy(),
                            "off_plain": (here - truth) / error,
                            "noted": any("seed" not in note for note in fit.notes),
                            "over_plan": fit.se().to_numpy() / plan.std_errors[0],
                            "warned": "say that cuts" in " ".join(str(plan).split()),
                            "simulated": bounds.get("simulated", np.nan) / away,
                            "estimated": bounds.get("estimated", np.nan) / away,
                            "sigma": row.get("sigma", np.nan) / sigma,
                            "sigma_low": row.get("sigma_low", np.nan) / sigma,
                            "sigma_high": row.get("sigma_high", np.nan) / sigma,
                        }
                    )
                )
    return pd.concat(lines) if lines else pd.DataFrame()


def measured(lines: pd.DataFrame) -> dict[str, float]:
    """The figures of one table."""
    size = lines.groupby("fit")[["off", "off_plain"]].agg(lambda v: np.sqrt((v**2).mean()))
    known = lines[lines.z.notna()]
    slope = ~known.constant

    def far(z: pd.Series) -> bool:
        return bool((z.abs() > _FAR).any())

    per_fit = known.groupby("fit").agg(
        far=("z", far), plain=("off_plain", far), noted=("noted", "first")
    )
    return {
        "error": size.off.median() / size.off_plain.median(),
        "slopes": (known.z[slope].abs() <= 1.96).mean(),
        "constant": (known.z[~slope].abs() <= 1.96).mean(),
        "slopes plain": (known.off_plain[slope].abs() <= 1.96).mean(),
        "constant plain": (known.off_plain[~slope].abs() <= 1.96).mean(),
        "silent": (per_fit.far & ~per_fit.noted).mean(),
        "noisy": per_fit.noted[~per_fit.far].mean(),
        "far plain": per_fit.plain.mean(),
    }


def print_others(lines: pd.DataFrame) -> None:
    """Plans, bounds and sigma, over all tables."""
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    for warned, some in lines[lines.over_plan.notna()].groupby("warned"):
        ratio = some.over_plan
        far = ((ratio > 2) | (ratio < 0.5)).mean()
        print(
            f"printed over planned, plans that {'warn' if warned else 'do not warn'} ({len(some)}): "
            f"quantiles {ratio.quantile(levels).round(2).tolist()}, off by 2 or more {far:.2f}"
        )
    fits = lines.drop_duplicates(["table", "fit"])
    for kind in ("simulated", "estimated"):
        print(f"{kind} distance holds in {(fits[kind].dropna() >= 1).mean():.2f}")
    if fits.sigma.notna().any():
        inside = ((fits.sigma_low <= 1) & (fits.sigma_high >= 1)).mean()
        quantiles = fits.sigma.quantile(levels).round(2).tolist()
        print(
            f"sigma over that without privacy: quantiles {quantiles}, range holds it in {inside:.2f}"
        )


def main() -> None:
    """Print a line for every table, and the summary."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=("lm", "glm"), default="lm")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--mu", default="1,3")
    given = parser.parse_args()
    manifest = json.loads((given.data / "manifest.json").read_text())
    names = [name for name in manifest if name.startswith(f"{given.part}_")]
    mus = [float(mu) for mu in given.mu.split(",")]
    rows, everything = {}, []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        jobs = {
            name: pool.submit(fits_of, given.data, name, manifest[name], given.repeats, mus)
            for name in names
        }
        for name, job in jobs.items():
            if not job.result().empty:
                rows[name] = measured(job.result())
                everything.append(job.result().assign(table=name))
    found = pd.DataFrame(rows).T
    print(found.round(3).to_string())
    fair = found[found["slopes plain"] >= 0.92]
    print(
        f"{len(found)} tables: error median {found.error.median():.2f}, worst {found.error.max():.2f}; "
        f"slopes {fair.slopes.mean():.3f}, worst {fair.slopes.min():.3f}; constant "
        f"{fair.constant.mean():.3f}, worst {fair.constant.min():.3f}, of {len(fair)} whose fit without "
        f"privacy covers; silent {found.silent.mean():.3f}, noisy {found.noisy.mean():.3f}; "
        f"far without privacy {found['far plain'].mean():.3f}"
    )
    print_others(pd.concat(everything))


if __name__ == "__main__":
    main()
