"""Methods of every fitted model: coefficients, standard errors, intervals, tidy tables."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from dpstats.arguments import listed, number, one_of, returning_text, shown, spelled
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.report.frames import WholeFrame
from dpstats.report.released import Released


@dataclass(frozen=True)
class Coefficients:
    """Released coefficients with the two independent parts of their covariance.

    ``freedom``: degrees of freedom of the variance of the errors, from which the sampling part was
    estimated; that of the noise for privacy is known. Infinite where they are so many that it does not
    matter, or where the variance is known.
    """

    terms: tuple[str, ...]
    coef: Floats
    sampling: Floats
    privacy: Floats
    freedom: float = math.inf

    def __repr__(self) -> str:
        return f"<Coefficients of {listed(self.terms)}: coef, std_error, vcov, sampling, privacy>"

    @property
    def vcov(self) -> Floats:
        return self.sampling + self.privacy

    @property
    def std_error(self) -> Floats:
        with np.errstate(all="ignore"):  # noise may leave no variance
            return np.asarray(np.sqrt(np.diag(self.vcov)))

    @property
    def left_out(self) -> NDArray[np.bool_]:
        """Columns in which hardly any row differs: their coefficients are zero, and have no errors."""
        return np.asarray(np.isnan(np.diag(self.vcov)) & (self.coef == 0))

    @property
    def vcov_of_others(self) -> Floats:
        """The covariance, in which columns that were left out are known to be zero."""
        left_out = self.left_out
        return np.where(left_out | left_out[:, None], 0.0, self.vcov)

    @property
    def known(self) -> bool:
        """Whether all others have errors."""
        return bool(np.isfinite(self.vcov_of_others).all())

    def others(self, at: Sequence[int]) -> list[int]:
        """Those of these columns that were not left out; all, where every one was."""
        left_out = self.left_out
        return [j for j in at if not left_out[j]] or list(at)

    @property
    def statistic(self) -> Floats:
        with np.errstate(all="ignore"):
            return self.coef / self.std_error

    @property
    def p_value(self) -> Floats:
        freedom = self.freedom_of(np.eye(len(self.coef)))
        return two_sided(self.statistic, freedom)

    def error_of(self, rows: Floats, *, averages: bool = True) -> Floats:
        """Standard errors of some linear functions (k, d) of the coefficients.

        ``averages``: over private rows, or differences; else each is a row or some of them, of which a
        column that was left out tells more than nothing.
        """
        with np.errstate(all="ignore"):
            found = np.sqrt(self._squares(rows, self.vcov))
        return found if averages else np.where(self.follows(rows), found, np.nan)

    def follows(self, rows: Floats, among: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Of which rows no column that was left out, ``among`` some, is other than zero."""
        looked = self.left_out if among is None else self.left_out & among
        return np.asarray(~(rows[:, looked] != 0).any(axis=1))

    def freedom_of(self, rows: Floats) -> Floats:
        """Degrees of freedom of the t distributions of some linear functions (k, d).

        Those of the sampling part, and the more the larger the part of the noise is (Satterthwaite).
        """
        if math.isinf(self.freedom):
            return np.full(len(rows), math.inf)
        with np.errstate(all="ignore"):
            own = self._squares(rows, self.sampling)
            found = self.freedom * (self.error_of(rows) ** 2 / own) ** 2
        return np.where(np.isnan(found), self.freedom, found)

    def halves(self, level: float, rows: Floats, *, averages: bool = True) -> Floats:
        """Half widths of two-sided intervals of some linear functions (k, d); as `error_of`."""
        width = quantile(level, self.freedom_of(rows))
        with np.errstate(all="ignore"):
            return np.asarray(width * self.error_of(rows, averages=averages))

    @property
    def privacy_share(self) -> Floats:
        """Share of each variance that the noise of the mechanism is responsible for."""
        with np.errstate(all="ignore"):
            return np.diag(self.privacy) / np.diag(self.vcov)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        half = self.halves(level, np.eye(len(self.coef)))
        return self.coef - half, self.coef + half

    def _squares(self, rows: Floats, covariance: Floats) -> Floats:
        """Variances of some linear functions (k, d); NaN of those with a coefficient that has none.

        A column of numbers that was left out is no matter beside others, since the constant has its
        average effect; of a level nothing is known.
        """
        unknown = np.isnan(np.diag(covariance))
        known = np.where(unknown | unknown[:, None], 0.0, covariance)
        found = ((rows @ known) * rows).sum(axis=1)
        numbers = self.left_out & np.array(["[T." not in term for term in self.terms], dtype=bool)
        used = rows != 0
        others = used & ~(unknown & numbers)
        lost = (others & unknown).any(axis=1) | (used.any(axis=1) & ~others.any(axis=1))
        return np.where(lost, np.nan, found)


def coverage(level: Any) -> float:
    """The level of an interval, or an error."""
    share = number(level)
    if share is None or not 0 < share < 1:
        raise ArgumentError(
            f"level must lie strictly between 0 and 1, such as level=0.95, not {shown(level)}."
        )
    return share


def quantile(level: float, freedom: Any = math.inf) -> Any:
    """Half width of a two-sided interval in standard errors, normal or of t distributions."""
    chance = (1 + coverage(level)) / 2
    found = np.where(np.isinf(freedom), special.ndtri(chance), special.stdtrit(freedom, chance))
    return found if np.ndim(freedom) else float(found)


def two_sided(statistic: Any, freedom: Any = math.inf) -> Floats:
    """p values of statistics that are normal, or have t distributions."""
    size = np.abs(np.asarray(statistic, dtype=float))
    freedom = np.broadcast_to(freedom, size.shape)
    return np.asarray(
        np.where(np.isinf(freedom), 2 * special.ndtr(-size), 2 * special.stdtr(freedom, -size))
    )


def law_letter(freedom: float) -> str:
    """How tables name a statistic: t where degrees of freedom are few, else z."""
    return "z" if math.isinf(freedom) else "t"


def limit_names(level: float) -> tuple[str, str]:
    """Column names of an interval, "2.5%" and "97.5%"."""
    low = 100 * (1 - level) / 2
    return f"{low:.4g}%", f"{100 - low:.4g}%"


class Result(Released):
    """Base of the models with coefficients."""

    _other_names: ClassVar[dict[str, str]] = Released._other_names | {
        **dict.fromkeys(("coef_", "intercept_", "coefficients", "params"), "coef()"),
        **dict.fromkeys(("bse", "std_errors", "std_error", "stderr"), "se()"),
        "cov_params": "vcov()",
        **dict.fromkeys(("conf_int", "ci"), "confint()"),
        **dict.fromkeys(("pvalues", "pvalue", "p_values"), "tidy().p_value"),
        **dict.fromkeys(("tvalues", "tstat", "zvalues", "statistic"), "tidy().statistic"),
        "terms": "coef().index",
    }
    coefficients: Coefficients

    def __getitem__(self, name: object) -> NoReturn:
        known = isinstance(name, str) and name in self.coefficients.terms
        raise TypeError(
            f"a fit has no items: coef()[{shown(name if known else 'x1')}] is a coefficient, and tidy() "
            "has them all with their errors."
        )

    def _named(self, name: Any) -> Any:
        """The coefficient that a name stands for, or the name as it is."""
        return name

    @spelled
    def coef(self) -> pd.Series:
        """Coefficients, indexed by the columns of the design."""
        c = self.coefficients
        return pd.Series(c.coef, index=list(c.terms), name="estimate")

    @spelled
    def se(self) -> pd.Series:
        """Standard errors, sampling and privacy together."""
        c = self.coefficients
        return pd.Series(c.std_error, index=list(c.terms), name="std_error")

    @spelled
    def vcov(self, part: str = "total") -> pd.DataFrame:
        """Covariance of the coefficients: "total", or its "sampling" or "privacy" part."""
        c = self.coefficients
        parts = {"total": c.vcov, "sampling": c.sampling, "privacy": c.privacy}
        if not one_of(part, parts):
            raise ArgumentError(
                f"part must be 'total', 'sampling' or 'privacy', not {shown(part)}; which errors "
                "these are is a matter of the call, vcov='hetero' or 'iid'."
            )
        return pd.DataFrame(parts[part], index=list(c.terms), columns=list(c.terms))

    @spelled
    def confint(
        self, parm: str | Sequence[str] | float | None = None, level: float = 0.95
    ) -> pd.DataFrame:
        """Confidence intervals that cover sampling and privacy noise.

        Normal, or from a t distribution, as in R, where a variance was estimated on fewer than 1000
        degrees of freedom.

        ``parm``: which coefficients, as in R: ``confint("x1")``, ``confint(["x1", "x2"])``; a number is
        taken for the level. Fits of formulas also know R's names, ``"(Intercept)"``, ``"I(x^2)"``.
        """
        terms = list(self.coefficients.terms)
        if isinstance(parm, float | int):
            wanted, level = terms, parm
        else:
            wanted = terms if parm is None else [parm] if isinstance(parm, str) else list(parm)
        wanted = [self._named(name) for name in wanted]
        for name in wanted:
            if name not in terms:
                raise ArgumentError(
                    f"there is no coefficient {name!r}; the coefficients are {listed(terms)}."
                )
        low, high = self.coefficients.interval(level)
        names = limit_names(level)
        return WholeFrame({names[0]: low, names[1]: high}, index=terms).loc[wanted]

    @spelled
    def tidy(self, level: float = 0.95) -> pd.DataFrame:
        """One row per coefficient, in broom's columns, plus the privacy share of the variance.

        Parameters
        ----------
        level : float
            Of the intervals from ``conf_low`` to ``conf_high``.

        Returns
        -------
        DataFrame
            ``term``, ``estimate``, ``std_error``, ``statistic``, ``p_value``, ``conf_low``,
            ``conf_high``, and ``privacy_share``: the part of the variance that is noise for
            privacy.
        """
        c = self.coefficients
        low, high = c.interval(level)
        return WholeFrame(
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

    @returning_text
    def to_json(self) -> str:
        """Estimates, covariances and privacy as JSON; no rows, because a result holds none.

        For other programs: no fit is made of it again. A fit that is to be used later is pickled.
        """
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
