"""Families of generalised linear models: statsmodels' links, variances and deviances, entry by entry.

A `Family` is a family with a link, and says of a row at the linear predictor eta what a fit needs. It
is made afresh from the offered families and links, so that what is applied to private rows is what is
written here, whatever object was passed in.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpstats.arguments import number, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError

_LINKS = {
    "logit": "Logit",
    "probit": "Probit",
    "cloglog": "CLogLog",
    "log": "Log",
    "identity": "Identity",
}
# linear predictors beyond these say nothing more in double precision: means would be 0, 1 or infinite
_RANGE = {
    "logit": (-30.0, 30.0),
    "probit": (-7.0, 7.0),
    "cloglog": (-30.0, 3.4),
    "log": (-30.0, 100.0),
    "identity": (-np.inf, np.inf),
}


@cache
def _families() -> Any:
    """statsmodels' families, which take long to load: when the first generalised model is fitted."""
    from statsmodels.genmod import families

    return families


def _link(name: str) -> Any:
    """statsmodels' link, a class."""
    return getattr(_families().links, _LINKS[name])


@dataclass(frozen=True)
class _Kind:
    model: str  # its name in statsmodels
    links: tuple[str, ...]
    dispersed: bool  # the dispersion is estimated
    skewed: bool  # responses have a long right tail
    lowest: float
    highest: float
    open_below: bool = False


_KINDS = {
    "binomial": _Kind("Binomial", ("logit", "probit", "cloglog"), False, False, 0.0, 1.0),
    "quasibinomial": _Kind("Binomial", ("logit", "probit", "cloglog"), True, False, 0.0, 1.0),
    "poisson": _Kind("Poisson", ("log",), False, True, 0.0, np.inf),
    "quasipoisson": _Kind("Poisson", ("log",), True, True, 0.0, np.inf),
    "gamma": _Kind("Gamma", ("log",), True, True, 0.0, np.inf, open_below=True),
    "gaussian": _Kind("Gaussian", ("identity",), True, False, -np.inf, np.inf),
    "negative binomial": _Kind("NegativeBinomial", ("log",), False, True, 0.0, np.inf),
}
_MANY = 1e4
_RAREST = 6.0
"""Linear predictors, on both sides, within which a rare outcome is looked for."""


@dataclass(frozen=True)
class RareOutcome:
    """The rarer of two outcomes.

    Attributes
    ----------
    share : float
        Of the rows that have it.
    score : float
        How long its score is, in lengths of its row.
    """

    share: float
    score: float

    @classmethod
    def of_row(cls, share: float) -> RareOutcome:
        """Where scores are response less mean: no score is longer than its row."""
        return cls(share, 1 - share)


"""Mean of counts beyond which their quantiles take long, and are those of a law without steps."""
_OFFERED = (
    "binomial (links logit, probit, cloglog), poisson (log), gamma (log), gaussian (identity), "
    "quasibinomial, quasipoisson, and statsmodels' NegativeBinomial(alpha=...) (log)"
)


@dataclass(frozen=True)
class Family:
    """A family with its link.

    Attributes
    ----------
    name : str
        "binomial", "quasibinomial", "poisson", "quasipoisson", "gamma", "gaussian" or
        "negative binomial".
    link : str
        "logit", "probit", "cloglog", "log" or "identity".
    alpha : float or None
        Of the negative binomial: the variance is mean + alpha mean^2.
    """

    name: str
    link: str
    alpha: float | None = None

    @property
    def _kind(self) -> _Kind:
        return _KINDS[self.name]

    @property
    def dispersed(self) -> bool:
        """Whether the dispersion is estimated rather than taken to be 1."""
        return self._kind.dispersed

    @property
    def skewed(self) -> bool:
        """Whether responses have a long right tail."""
        return self._kind.skewed

    @property
    def binary(self) -> bool:
        """Whether responses lie in [0, 1]."""
        return self._kind.highest == 1.0

    @property
    def counts(self) -> bool:
        """Whether responses are whole numbers without end."""
        return self._kind.model in ("Poisson", "NegativeBinomial")

    @property
    def linear(self) -> bool:
        """Whether the mean is the linear predictor itself."""
        return self.link == "identity"

    @property
    def canonical(self) -> bool:
        """Whether the link is the canonical one, for which r = y - mean and h = variance."""
        pairs = {("binomial", "logit"), ("poisson", "log"), ("gaussian", "identity")}
        return (self.name.removeprefix("quasi"), self.link) in pairs

    def __str__(self) -> str:
        known = "" if self.alpha is None else f"(alpha = {self.alpha:g})"
        return f"{self.name}{known}"

    def model(self) -> Any:
        """The statsmodels family."""
        link = _link(self.link)()
        more = {} if self.alpha is None else {"alpha": self.alpha}
        return getattr(_families(), self._kind.model)(link=link, **more)

    def bounded(self, eta: Floats) -> Floats:
        """Linear predictors within the range in which means are numbers."""
        return np.clip(eta, *_RANGE[self.link])

    def mean(self, eta: Floats) -> Floats:
        """Mean of the response at the linear predictor."""
        return np.asarray(_link(self.link)().inverse(self.bounded(eta)))

    def predictor(self, mean: float) -> float:
        """Linear predictor of a mean; inside the range of means."""
        return float(_link(self.link)()(mean))

    def working(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Score, expected curvature and Pearson residual of rows, at unit dispersion.

        Parameters
        ----------
        eta, y : (k,) arrays
            Linear predictors and responses.

        Returns
        -------
        score : (k,) array
            (y - m) m' / V(m), the derivative of the (quasi) log-likelihood by eta.
        curvature : (k,) array
            m'^2 / V(m).
        pearson : (k,) array
            (y - m) / sqrt(V(m)).

        Examples
        --------
        >>> Family("poisson", "log").working(np.array([0.0]), np.array([3.0]))
        (array([2.]), array([1.]), array([2.]))
        """
        model = self.model()
        eta = self.bounded(eta)
        mean, slope = model.link.inverse(eta), model.link.inverse_deriv(eta)
        variance = model.variance(mean)
        rest = y - mean
        return rest * (slope / variance), slope**2 / variance, rest / np.sqrt(variance)

    @property
    def falls(self) -> bool:
        """Whether a row has the less information, the lower its rate is, as one of counts."""
        return self.link == "log" and self.information(-1.0) < self.information(0.0)

    def information(self, eta: float) -> float:
        """Expected curvature of one row at a linear predictor."""
        return float(self.working(np.array([eta]), np.ones(1))[1][0])

    def outcomes(
        self, eta: Floats, trials: Floats | None = None
    ) -> list[tuple[Floats, Floats]] | None:
        """Responses that a row may have, each with its probability; None for continuous families.

        Counts are told by 24 quantiles, closer together towards the upper end; so are averages of ones
        or counts over so many ``trials``.
        """
        mean = self.mean(eta)
        if self.binary and trials is None:
            return [(np.zeros_like(mean), 1 - mean), (np.ones_like(mean), mean)]
        of: Any = 1.0 if trials is None else trials
        law: Any
        if self.binary:
            of = np.maximum(np.rint(of), 1.0)
            law = scipy.stats.binom(of, mean).isf
        elif self._kind.model == "Poisson":
            law = partial(_poisson_isf, mean=of * mean)
        elif self.alpha is not None:
            law = scipy.stats.nbinom(of / self.alpha, 1 / (1 + self.alpha * mean)).isf
        else:
            return None
        above = np.concatenate([np.linspace(1.0, 0.1, 13)[:-1], 0.1 * 2.0 ** -np.arange(13.0)])
        middle = np.append((above[:-1] + above[1:]) / 2, above[-1] / 2)
        weight = np.append(above[:-1] - above[1:], above[-1])
        total = of * mean
        if not float(np.max(of if self.binary else total, initial=0.0)) <= _MANY:
            # a gamma law of that mean and variance; quantiles of whole numbers end in no time there
            each = np.maximum(1 - mean, 1e-9) if self.binary else 1 + (self.alpha or 0.0) * mean
            quantiles = each * scipy.special.gammainccinv(total / each, middle[:, None])
            quantiles = np.minimum(quantiles, of) if self.binary else quantiles
        else:
            quantiles = law(middle[:, None])
        return [(y / of, np.full_like(mean, w)) for y, w in zip(quantiles, weight, strict=True)]

    def expected_beyond(self, eta: Floats, unit: Floats, length: float) -> Floats | None:
        """Mean, over the responses that a row may have, of what of its score is beyond a length.

        Scores are ``unit`` times those of `working`, with their signs; no more than ``length`` counts.
        Rare outcomes have long scores of one sign by nature, which many short ones make up for. None
        for continuous families, of which nothing is expected.

        Examples
        --------
        Of 100 rows 10 have the rarer outcome, and a score of 0.9 times 4:

        >>> logit = Family("binomial", "logit")
        >>> logit.expected_beyond(np.array([np.log(1 / 9)]), np.array([4.0]), 2.0).round(2)
        array([0.16])
        """
        if self.binary:
            return self._ones_beyond(eta, unit, length)
        if not self.counts:
            return None
        mean = self.mean(eta)
        each = unit * self.working(eta, mean + 1)[0]  # of one count more
        step = length / np.maximum(each, 1e-300)
        found = self._mean_above(mean, mean + step) - self._mean_above(mean, mean + 2 * step)
        for times, sign in ((1, -1), (2, 1)):
            some = mean > times * step  # no count is below 0
            found[some] += sign * self._mean_below(mean[some], mean[some] - times * step[some])
        found *= each
        return np.where(np.isfinite(found), found, 0.0)

    def _ones_beyond(self, eta: Floats, unit: Floats, length: float) -> Floats:
        """What scores have beyond a length, where a response is one or zero."""
        found = np.zeros_like(eta)
        some = unit > length if self.canonical else np.ones(len(eta), dtype=np.bool_)
        eta, unit = eta[some], unit[some]
        mean = self.mean(eta)
        one, zero = (self.working(eta, np.full_like(eta, y))[0] for y in (1.0, 0.0))
        up, down = (np.clip(unit * np.abs(r) - length, 0, length) for r in (one, zero))
        found[some] = mean * up - (1 - mean) * down
        return found

    def _mean_above(self, mean: Floats, k: Floats) -> Floats:
        """E (y - k)+ of counts."""
        j = np.ceil(k)
        return mean * self._at_least(j - 1, mean, 1) - k * self._at_least(j, mean)

    def _mean_below(self, mean: Floats, k: Floats) -> Floats:
        """E (k - y)+ of counts."""
        return self._mean_above(mean, k) + k - mean

    def _at_least(self, j: Floats, mean: Floats, more: int = 0) -> Floats:
        """P(y >= j); with ``more`` = 1 that of y - 1 where y is drawn with probability y P(y)/mean."""
        if self.alpha is None:
            found = scipy.special.pdtrc(np.maximum(j, 1) - 1, mean)
        else:
            found = scipy.special.betainc(
                np.maximum(j, 1), 1 / self.alpha + more, self.alpha * mean / (1 + self.alpha * mean)
            )
        return np.where(j >= 1, found, 1.0)

    def rarer(self, level: float, mean: float) -> RareOutcome | None:
        """The rarer outcome, one or zero, where the information of a row is ``level``.

        ``mean`` is that of the responses and tells which outcome is rarer: links need not be symmetric.
        Of counts a half of the rows have it, unless nearly all are zero. None for continuous families.

        Examples
        --------
        >>> Family("poisson", "log").rarer(0.05, 0.05).share
        0.05
        >>> found = Family("binomial", "probit").rarer(0.18, 0.04)
        >>> round(found.share, 3), round(found.score, 1)
        (0.036, 2.2)
        """
        if self.link == "logit":  # level = p (1 - p)
            return RareOutcome.of_row((1 - math.sqrt(max(1 - 4 * level, 0.0))) / 2)
        if self.binary:
            low, high = _RANGE[self.link]
            eta = np.linspace(max(low, -_RAREST), min(high, _RAREST), 961)
            information = self.working(eta, np.ones_like(eta))[1]
            top, ones = int(np.argmax(information)), mean <= 0.5
            side = slice(None, top + 1) if ones else slice(None, top - 1 if top else None, -1)
            at = np.array([np.interp(level, information[side], eta[side])])
            share = float(self.mean(at)[0]) if ones else 1 - float(self.mean(at)[0])
            score = abs(float(self.working(at, np.array([float(ones)]))[0][0]))
            return RareOutcome(min(share, 0.5), score)
        if not self.counts:
            return None
        return RareOutcome.of_row(min(level / max(1 - (self.alpha or 0.0) * level, 1e-3), 0.5))

    def deviance(self, eta: Floats, y: Floats, weight: Floats) -> float:
        """Deviance of weighted rows at linear predictors."""
        return float(self.model().deviance(y, self.mean(eta), var_weights=weight))

    def possible(self, y: Floats) -> NDArray[np.bool_]:
        """Which responses the family knows."""
        kind = self._kind
        low = y > kind.lowest if kind.open_below else y >= kind.lowest
        return np.asarray(low & (y <= kind.highest))

    @property
    def domain(self) -> str:
        """What responses may be, in words."""
        if self.binary:
            return "numbers between 0 and 1 (yes and no are coded 1 and 0)"
        if self._kind.open_below:
            return "numbers above 0"
        return "numbers" if self._kind.lowest < 0 else "numbers >= 0"


def resolve_family(family: Any) -> Family:
    """A family by name, as in R with a link, or a statsmodels family.

    Examples
    --------
    >>> resolve_family("binomial(link='probit')")
    Family(name='binomial', link='probit', alpha=None)
    >>> import statsmodels.api as sm
    >>> resolve_family(sm.families.NegativeBinomial(alpha=0.5)).alpha
    0.5
    """
    if type(family) is Family and family.name in _KINDS:
        return _checked(family.name, family.link, family)
    if isinstance(family, str):
        return _by_name(family)
    models = _families()
    if family is models.NegativeBinomial:
        return _by_name("negative binomial")
    if isinstance(family, type) and issubclass(family, models.Family):
        family = family()
    for name, kind in _KINDS.items():
        if type(family) is getattr(models, kind.model):
            link = next((k for k in _LINKS if type(family.link) is _link(k)), None)
            return _checked(name, link or type(family.link).__name__, family)
    raise ArgumentError(f"family must be one of {_OFFERED}; not {shown(family)}.")


def is_family(text: str) -> bool:
    """Whether a text names a family, as it may where public rows belong."""
    try:
        _by_name(text)
    except ArgumentError:
        return False
    return True


def _by_name(text: str) -> Family:
    found = re.fullmatch(
        r"\s*([\w .]+?)\s*(?:\(\s*(?:link\s*=\s*)?[\"']?(\w*)[\"']?\s*\))?\s*", text
    )
    name = found.group(1).lower().replace("_", " ").replace(".", " ") if found else text
    if name.replace(" ", "") in ("negativebinomial", "negbin", "nbinom", "nb"):
        raise ArgumentError(
            "the negative binomial needs its alpha (variance = mean + alpha mean^2), a public number: "
            "family=statsmodels.api.families.NegativeBinomial(alpha=0.5)."
        )
    if name in ("multinomial", "multinom", "categorical", "mnlogit"):
        raise ArgumentError(
            f"dp_glm has no family {shown(text)}: for a response of several classes use eptr_bayes, for "
            "two of them family='binomial'."
        )
    name = {"normal": "gaussian", "logistic": "binomial", "bernoulli": "binomial"}.get(name, name)
    if name in ("logit", "probit", "cloglog"):
        return _checked("binomial", name, None)
    if found is None or name not in _KINDS:
        near = get_close_matches(name, _KINDS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ArgumentError(f"family must be one of {_OFFERED}; not {shown(text)}{hint}")
    return _checked(name, found.group(2) or _KINDS[name].links[0], None)


def _checked(name: str, link: str, model: Any) -> Family:
    kind = _KINDS[name]
    if link not in kind.links:
        extra = (
            " (statsmodels' Gamma() has the inverse link: write family='gamma')"
            if name == "gamma" and model is not None
            else ""
        )
        raise ArgumentError(
            f"the {name} family is offered with the link{'s' * (len(kind.links) > 1)} "
            f"{', '.join(kind.links)}; not {link}{extra}."
        )
    if name != "negative binomial":
        return Family(name, link)
    alpha = model.alpha
    size = number(alpha)
    if size is None or not 1e-8 <= size <= 1e8:
        raise ArgumentError(
            f"alpha of the negative binomial must be a number > 0 (1e-8 to 1e8), not {shown(alpha)}."
        )
    return Family(name, link, size)


def _poisson_isf(p: Floats, mean: Floats) -> Floats:
    """The least count that is exceeded with probability ``p`` at most.

    From where a normal law with the skewness of counts has it, which is a few counts off at most.

    Examples
    --------
    >>> _poisson_isf(np.array([0.5, 1e-4]), np.array([3.0, 3.0]))
    array([ 3., 11.])
    """
    normal = -scipy.special.ndtri(p)
    count = np.floor(np.maximum(mean + np.sqrt(mean) * normal + (normal**2 - 1) / 6, 0.0))
    p, mean = np.broadcast_arrays(p, mean)
    while (low := scipy.special.pdtrc(count, mean) > p).any():
        count[low] += 1
    while (high := (count > 0) & (scipy.special.pdtrc(count - 1, mean) <= p)).any():
        count[high] -= 1
    return count
