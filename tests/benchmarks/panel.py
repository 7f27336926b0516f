"""People with several rows: how often intervals cover, and errors over those without privacy.

    python -m tests.benchmarks.panel [--persons 2000] [--mu 1] [--draws 100] [--no-public]

Panels of five rows of each person whose errors have a part in common: a pooled fit, effects of
persons (public rows with and without the column of persons), counts of a log-linear model, and
instruments; or the same without public rows. Errors are root mean squares over the draws, over those
of the same fit without privacy: least squares, or the clustered errors of statsmodels. ``width`` is
the median of the printed standard error over that one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

from dpstats import dp_feols, dp_glm, dp_lm

_ROWS = 5
_PUBLIC = 60
_UNNAMED = "within, public rows without persons"


def panel(persons: int, seed: int) -> pd.DataFrame:
    """Seven tenths of the variance of errors are the person's."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), _ROWS)
    n = len(who)
    x = 0.8 * rng.normal(size=persons)[who] + 0.6 * rng.normal(size=n)
    own = np.sqrt(0.7) * rng.normal(size=persons)[who]
    error = own + np.sqrt(0.3) * rng.normal(size=n)
    w, z = rng.normal(size=(2, n))
    d = 0.6 * z + 0.3 * x + 0.5 * error + rng.normal(size=n)
    counts = rng.poisson(np.exp(-0.3 + 0.5 * x - 0.2 * w + 0.5 * own)).astype(float)
    y = 1 + 0.5 * x + error
    return pd.DataFrame(
        {"who": who, "x": x, "w": w, "z": z, "d": d, "y": y, "y2": y + 0.7 * d, "k": counts}
    )


@dataclass(frozen=True)
class Setting:
    """A fit, the same without privacy, and the truth."""

    name: str
    fit: Callable[[pd.DataFrame, pd.DataFrame | None, dict[str, Any]], Any]
    without_privacy: Callable[[pd.DataFrame], tuple[np.ndarray, np.ndarray]]
    truth: tuple[float, ...]


def _clustered(model: Any, who: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    found = model.fit(cov_type="cluster", cov_kwds={"groups": who})
    return found.params.to_numpy(), found.bse.to_numpy()


def _pooled(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return _clustered(smf.ols("y ~ x + w", table), table.who)


def _counts(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return _clustered(smf.glm("k ~ x + w", table, family=sm.families.Poisson()), table.who)


def _within(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    left = table - table.groupby("who").transform("mean").assign(who=0)
    return _clustered(smf.ols("y ~ x + w - 1", left), table.who)


def _instruments(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    ones = np.ones(len(table))
    x, z = (np.column_stack([table[name], ones, table.x]) for name in ("d", "z"))
    inverse = np.linalg.inv(z.T @ x)
    coef = inverse @ z.T @ table.y2
    scores = pd.DataFrame(z * (table.y2 - x @ coef).to_numpy()[:, None])
    sums = scores.groupby(table.who.to_numpy()).sum().to_numpy()
    return coef, np.sqrt(np.diag(inverse @ sums.T @ sums @ inverse.T))


def _settings() -> tuple[Setting, ...]:
    # the marginal mean of counts has the person's variance in its constant
    constant = -0.3 + 0.25 * 0.7 / 2

    def counts(private: pd.DataFrame, public: pd.DataFrame | None, options: dict[str, Any]) -> Any:
        return dp_glm("k ~ x + w", private, public, family="quasipoisson", **options)

    def unnamed(private: pd.DataFrame, public: pd.DataFrame | None, options: dict[str, Any]) -> Any:
        assert public is not None
        return dp_feols("y ~ x + w | who", private, public.drop(columns="who"), **options)

    return (
        Setting("pooled", lambda a, b, o: dp_lm("y ~ x + w", a, b, **o), _pooled, (1.0, 0.5, 0.0)),
        Setting("counts", counts, _counts, (constant, 0.5, -0.2)),
        Setting(
            "within", lambda a, b, o: dp_feols("y ~ x + w | who", a, b, **o), _within, (0.5, 0.0)
        ),
        Setting(_UNNAMED, unnamed, _within, (0.5, 0.0)),
        Setting(
            "instruments",
            lambda a, b, o: dp_feols("y2 ~ x | d ~ z", a, b, **o),
            _instruments,
            (0.7, 1.0, 0.5),
        ),
    )


def measure(setting: Setting, persons: int, mu: float, draws: int, *, alone: bool) -> str:
    """One line of the table; ``alone``: without public rows."""
    covered, widths, errors, others, notes = [], [], [], [], 0
    for seed in range(draws):
        public, private = None if alone else panel(_PUBLIC, 10_000 + seed), panel(persons, seed)
        fit = setting.fit(private, public, {"mu": mu, "person": "who", "seed": seed})
        coef, error = fit.coef().to_numpy(), fit.se().to_numpy()
        plain, plain_error = setting.without_privacy(private)
        away = coef - np.array(setting.truth)
        covered.append(np.abs(away) < 1.96 * error)
        widths.append(error / plain_error)
        errors.append(away**2)
        others.append((plain - np.array(setting.truth)) ** 2)
        notes += bool(fit.notes)
    cover = np.mean(covered, axis=0)
    ratio = np.sqrt(np.mean(errors, axis=0) / np.mean(others, axis=0))
    return (
        f"{setting.name:38}{cover.mean():6.3f}  ({', '.join(f'{c:.2f}' for c in cover)})"
        f"{np.nanmedian(widths):8.2f}{np.median(ratio):8.2f}{notes / draws:8.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=2000)
    parser.add_argument("--mu", type=float, default=1.0)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--no-public", action="store_true")
    given = parser.parse_args()
    print(f"{given.persons} persons, {_ROWS} rows of each, mu = {given.mu:g}, {given.draws} draws")
    print(f"{'':38}{'cover':>6}  {'of each':20}{'width':>4}{'error':>8}{'noted':>8}")
    for setting in _settings():
        if setting.name != _UNNAMED or not given.no_public:
            how = given.persons, given.mu, given.draws
            print(measure(setting, *how, alone=given.no_public), flush=True)


if __name__ == "__main__":
    main()
