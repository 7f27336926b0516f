"""Methods of every fitted model: coefficients, standard errors, intervals, tidy tables."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from dpstats.arguments import listed, number, one_of, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.report.released import Released


@dataclass(frozen=True)
class Coefficients:
    """Released coefficients with the two independent parts of their covariance.

    ``freedom``: degrees of freedom of a t distribution, which fits without privacy may have.
    """

    terms: tuple[str, ...]
    coef: Floats
    sampling: Floats
    privacy: Floats
    freedom: float = math.inf

    @property
    def vcov(self) -> Floats:
        return self.sampling + self.privacy

    @property
    def std_error(self) -> Floats:
        return np.sqrt(np.diag(self.vcov))

    @property
    def statistic(self) -> Floats:
        with np.errstate(all="ignore"):
            return self.coef / self.std_error

    @property
    def p_value(self) -> Floats:
        return np.asarray(2 * _below(-np.abs(self.statistic), self.freedom))

    @property
    def privacy_share(self) -> Floats:
        """Share of each variance that the noise of the mechanism is responsible for."""
        with np.errstate(all="ignore"):
            return np.diag(self.privacy) / np.diag(self.vcov)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        half = quantile(level, self.freedom) * self.std_error
        return self.coef - half, self.coef + half


def quantile(level: float, freedom: float = math.inf) -> float:
    """Half width of a two-sided interval in standard errors, normal or of a t distribution."""
    share = number(level)
    if share is None or not 0 < share < 1:
        raise ArgumentError(f"level must lie strictly between 0 and 1, not {shown(level)}.")
    level = (1 + share) / 2
    return float(special.ndtri(level) if math.isinf(freedom) else special.stdtrit(freedom, level))


def _below(value: Floats, freedom: float) -> Floats:
    """Probability of less, under a normal or a t distribution."""
    return np.asarray(special.ndtr(value) if math.isinf(freedom) else special.stdtr(freedom, value))


def limit_names(level: float) -> tuple[str, str]:
    """Column names of an interval, "2.5%" and "97.5%"."""
    low = 100 * (1 - level) / 2
    return f"{low:.4g}%", f"{100 - low:.4g}%"


class Result(Released):
    """Base of the models with coefficients."""

    coefficients: Coefficients

    def coef(self) -> pd.Series:
        """Coefficients, indexed by the columns of the design."""
        c = self.coefficients
        return pd.Series(c.coef, index=list(c.terms), name="estimate")

    def se(self) -> pd.Series:
        """Standard errors, sampling and privacy together."""
        c = self.coefficients
        return pd.Series(c.std_error, index=list(c.terms), name="std_error")

    def vcov(self, part: str = "total") -> pd.DataFrame:
        """Covariance of the coefficients: "total", or its "sampling" or "privacy" part."""
        c = self.coefficients
        parts = {"total": c.vcov, "sampling": c.sampling, "privacy": c.privacy}
        if not one_of(part, parts):
            raise ArgumentError(
                f"part must be 'total', 'sampling' or 'privacy', not {shown(part)}."
            )
        return pd.DataFrame(parts[part], index=list(c.terms), columns=list(c.terms))

    def confint(
        self, parm: str | Sequence[str] | float | None = None, level: float = 0.95
    ) -> pd.DataFrame:
        """Normal confidence intervals that cover sampling and privacy noise.

        ``parm``: which coefficients, as in R: ``confint("x1")``, ``confint(["x1", "x2"])``; a number is
        taken for the level.
        """
        terms = list(self.coefficients.terms)
        if isinstance(parm, float | int):
            wanted, level = terms, parm
        else:
            wanted = terms if parm is None else [parm] if isinstance(parm, str) else list(parm)
        for name in wanted:
            if name not in terms:
                raise ArgumentError(f"there is no coefficient {name!r}; there are {listed(terms)}.")
        low, high = self.coefficients.interval(level)
        names = limit_names(level)
        return pd.DataFrame({names[0]: low, names[1]: high}, index=terms).loc[wanted]

    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """One row per coefficient, in broom's columns, plus the privacy share of the variance."""
        c = self.coefficients
        low, high = c.interval(level)
        return pd.DataFrame(
            {
                "term": list(c.terms),
                "estimate": c.coef,
                "std_error": c.std_error,
                "statistic": c.statistic,
                "p_value": c.p_value,
                "conf_low": low,
                "conf_high": high,
                "privacy_share": c.privacy_share,
            }
        )

    def to_json(self) -> str:
        """Estimates, covariances and privacy as JSON; no rows, because a result holds none."""
        c = self.coefficients
        return json.dumps(
            {
                "terms": list(c.terms),
                "estimate": _json_numbers(c.coef),
                "sampling": _json_numbers(c.sampling),
                "privacy": _json_numbers(c.privacy),
                "mu": self.privacy.mu,
                "slack": self.privacy.slack,
                "unit": self.privacy.unit,
                "seeded": self.privacy.seeded,
                "mechanisms": self.privacy.mechanisms.to_dict(orient="records"),
                "glance": {k: _plain(v) for k, v in self.glance().iloc[0].to_dict().items()},
            }
        )


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _json_numbers(values: Floats) -> Any:
    return [_plain(v) if np.ndim(v) == 0 else _json_numbers(v) for v in values]
