"""What every fitted model answers: coefficients, errors, intervals, tidy tables.

A result is frozen and holds no row of the private data, so that it can be printed, pickled and passed
on. What would need a row does not exist; asking for it says what to use instead.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from dpstats.bounds.bound import Bound
from dpstats.errors import ArgumentError, NotReleasedError
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.table import Page

Floats = NDArray[np.floating[Any]]

_NEEDS_ROWS = {
    "resid": "residuals",
    "residuals": "residuals",
    "resid_pearson": "residuals",
    "rstandard": "residuals",
    "fitted": "fitted values",
    "fittedvalues": "fitted values",
    "fitted_values": "fitted values",
    "hatvalues": "leverages",
    "model": "rows of the model frame",
    "data": "rows",
    "augment": "per-row values",
}
_NOT_RELEASED = ("aic", "bic", "deviance", "null_deviance", "llf", "loglik", "logLik", "pseudo_r2")
_OTHER_NAMES = {
    "df_resid": "glance().df_residual",
    "scale": "glance()",
    "get_prediction": "predict(newdata, interval='confidence')",
    "exposure": "offset(log(time)) in the formula",
    "params": "coef()",
    "bse": "se()",
    "conf_int": "confint()",
    "cov_params": "vcov()",
    "coefficients": "coef()",
    "rsquared": "glance().r_squared",
    "r_squared": "glance().r_squared",
    "df_residual": "glance().df_residual",
    "pvalues": "tidy().p_value",
    "tvalues": "tidy().statistic",
    "summary2": "summary()",
    "terms": "coef().index",
    "wald_test": "anova(fit, smaller)",
}


@dataclass(frozen=True)
class Coefficients:
    """Released coefficients with the two independent parts of their covariance."""

    terms: tuple[str, ...]
    coef: Floats
    sampling: Floats
    privacy: Floats

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
        return 2 * stats.norm.sf(np.abs(self.statistic))

    @property
    def privacy_share(self) -> Floats:
        """Share of each variance that the noise of the mechanism is responsible for."""
        with np.errstate(all="ignore"):
            return np.diag(self.privacy) / np.diag(self.vcov)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        half = z_quantile(level) * self.std_error
        return self.coef - half, self.coef + half


def z_quantile(level: float) -> float:
    """Half width of a two-sided normal interval in standard errors."""
    if not (isinstance(level, int | float) and 0 < level < 1):
        raise ArgumentError(f"level must lie strictly between 0 and 1, not {level!r}.")
    return float(stats.norm.ppf((1 + level) / 2))


def limit_names(level: float) -> tuple[str, str]:
    """Column names of an interval, "2.5%" and "97.5%"."""
    low = 100 * (1 - level) / 2
    return f"{low:.4g}%", f"{100 - low:.4g}%"


class Result:
    """Base of the fitted models; subclasses provide the four attributes below."""

    coefficients: Coefficients
    privacy: PrivacyStatement

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
        if part not in parts:
            raise ArgumentError(f"part must be 'total', 'sampling' or 'privacy', not {part!r}.")
        return pd.DataFrame(parts[part], index=list(c.terms), columns=list(c.terms))

    def confint(self, level: float = 0.95) -> pd.DataFrame:
        """Normal confidence intervals that cover sampling and privacy noise."""
        low, high = self.coefficients.interval(level)
        names = limit_names(level)
        return pd.DataFrame({names[0]: low, names[1]: high}, index=list(self.coefficients.terms))

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

    def glance(self) -> pd.DataFrame:
        """One row that describes the fit as a whole."""
        raise NotImplementedError

    def summary(self) -> Page:
        """The page of the fit; prints as text, shows as HTML, exports to Markdown, LaTeX, CSV."""
        raise NotImplementedError

    def _bounds(self) -> tuple[Bound, ...]:
        raise NotImplementedError

    def bounds(self) -> pd.DataFrame:
        """Error bounds: exact ones, simulated ones, and the theorems' rates with their premises."""
        bounds = self._bounds()
        return pd.DataFrame(
            {
                "statement": [b.statement for b in bounds],
                "norm": [b.norm for b in bounds],
                "value": [b.value for b in bounds],
                "probability": [b.probability for b in bounds],
                "kind": [b.kind for b in bounds],
                "source": [b.source for b in bounds],
                "premises": ["; ".join(str(p) for p in b.premises) for b in bounds],
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
                "seeded": self.privacy.seeded,
                "mechanisms": self.privacy.mechanisms.to_dict(orient="records"),
                "glance": {k: _plain(v) for k, v in self.glance().iloc[0].to_dict().items()},
            }
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name in _NEEDS_ROWS:
            raise NotReleasedError(
                f"{_NEEDS_ROWS[name]} of private rows are not released: they would be the rows "
                "themselves. Use predict(newdata) on rows that you may show, and diagnostics() for "
                "what the fit says of itself."
            )
        if name in _NOT_RELEASED:
            raise NotReleasedError(
                f"{name} is not released: it needs a pass over the private rows, and a budget, of its "
                "own. Compare nested models by anova(fit, fit.update(...)), which spends nothing."
            )
        if _OTHER_NAMES.get(name):
            raise AttributeError(f"no attribute {name!r}; here it is {_OTHER_NAMES[name]}.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __str__(self) -> str:
        return repr(self)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _json_numbers(values: Floats) -> Any:
    return [_plain(v) if np.ndim(v) == 0 else _json_numbers(v) for v in values]
