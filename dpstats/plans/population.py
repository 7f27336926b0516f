"""Simulated rows like the public ones, on which a fit is rehearsed before it is run.

Everything here is public. Rows are the public rows many times over, or drawn from the normal law of
public moments. Their second moments are those of the public sample, which differ from those of the
private rows: `undone` corrects for the bias of inverses of a sample's second moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from dpstats.arrays import Floats
from dpstats.frame import Block, PersonsBlock
from dpstats.models.glm.family import Family
from dpstats.numerics.matrices import equilibrated_inverse, equilibrated_whitening
from dpstats.numerics.public_rows import PublicRows
from dpstats.score_rounds.estimate import moments_least_squares

_SMEAR = 0.2
"""Standard deviation of the multiples; it lengthens distances by 2 %."""
_UNEQUAL = 0.3
"""By how much the two variances differ in the median of 20 real tables, as a logarithm."""


class Population(Protocol):
    """Where rows come from."""

    def rows(self, n: int, generator: np.random.Generator) -> Block: ...


class Law(Protocol):
    """How responses fall about a linear predictor, given weights."""

    def __call__(
        self, predictor: Floats, weight: Floats | None, generator: np.random.Generator
    ) -> Floats: ...


def undone(m: int | None, d: int) -> float:
    """(m - d - 1)/m: the inverse of a second moment of m normal rows, times this, is unbiased.

    1 where m is not known; never less than 1/m, for very small samples.

    Examples
    --------
    >>> undone(100, 9)
    0.9
    """
    return 1.0 if m is None else max(m - d - 1, 1) / m


def anchor_error(moment: Floats, scale: float, m: int | None) -> Floats | None:
    """A root of the variance of coefficients that m public rows gave, scale^2 moment^-1 / (m - d - 1).

    A move by it lengthens residuals of the private rows as the real error does: those are longer than
    public rows in coordinates that whiten the public ones, by a mean of m/(m - d - 1) in squares. From
    very few rows it may be larger still; here it is at most as long as the residuals.
    """
    if m is None:
        return None
    d, back = len(moment), equilibrated_whitening(moment).back
    return np.asarray(scale / math.sqrt(max(m - d - 1, d)) * back)


def robust_ratio(
    known: PublicRows, scores: Floats, weight: Floats, inverse: Floats, dispersed: bool
) -> Floats:
    """Sandwich variances of coefficients over those of errors of constant variance, from public rows.

    Row by row, a^2 ``scores``^2 against a^2 ``weight`` times the dispersion, a = x ``inverse``. From few
    rows the ratio is not well known: its logarithm is moved towards 0 as far as its own variance goes,
    beside a variance `_UNEQUAL`^2 among tables. Never below 1: few rows rather hide than show that
    errors are longer where a column is.
    """
    squares = (known.x @ inverse) ** 2
    sandwich = squares * (scores**2)[:, None]
    constant = squares * weight[:, None]
    change = sandwich / sandwich.mean(axis=0) - constant / constant.mean(axis=0)
    ratio = np.log(sandwich.mean(axis=0) / constant.mean(axis=0))
    if dispersed:
        pearson = scores**2 / np.maximum(weight, 1e-300)
        change -= (pearson / pearson.mean())[:, None]
        ratio -= math.log(pearson.mean())
    unsure = change.var(axis=0) / len(known.x)
    return np.asarray(np.exp(np.maximum(ratio, 0.0) * _UNEQUAL**2 / (_UNEQUAL**2 + unsure)))


def relative_error(known: PublicRows, scale: Floats, squares: Floats | None) -> Floats:
    """How well each standard error is known from public rows: the relative error of its prediction.

    A variance is s (A^-1)_jj with A the mean of a a', a = x ``scale`` (square roots of weights), and s
    the mean of ``squares`` (None: s is known). To first order a row changes its logarithm by u =
    squares/s - (A^-1 a)_j^2 / (A^-1)_jj; a standard error is half as uncertain.
    """
    rows = known.x * scale[:, None]
    return _half_error(_changes(rows, equilibrated_inverse(rows.T @ rows / len(rows)), squares))


def relative_error_of_family(known: PublicRows, family: Family, coef: Floats) -> Floats:
    """`relative_error` of a generalised linear model, whose curvatures h follow estimated coefficients.

    A row changes those by A^-1 x r, r its score, and so the logarithm of (A^-1)_jj by
    -(1/(A^-1)_jj) times the mean of h' (A^-1 x)_j^2 x'(A^-1 x r). Where every response has one value, or
    columns separate them, r is small on all public rows: for binary responses its mean square is
    taken to be h, as in the model.
    """
    r, h, e = known.working(family, coef)
    m, d = known.x.shape
    step = 1e-4
    above, below = (
        replace(known, offset=known.offset + s).working(family, coef)[1] for s in (step, -step)
    )
    inverse = equilibrated_inverse((known.x * h[:, None]).T @ known.x / m)
    along = known.x @ inverse
    slope = -(along**2 * ((above - below) / (2 * step))[:, None]).T @ known.x / m
    moved = along @ (slope / np.diag(inverse)[:, None]).T  # times r: what a row does through coef
    squares = e**2 if family.dispersed else None
    changes = _changes(known.x * np.sqrt(h)[:, None], inverse, squares)
    if family.binary and not family.dispersed:
        of_model = h @ moved**2 / m / max(m - d, 1)
        return np.asarray(np.hypot(_half_error(changes), np.sqrt(of_model) / 2))
    return _half_error(changes + moved * r[:, None])


def _changes(rows: Floats, inverse: Floats, squares: Floats | None) -> Floats:
    """What each row adds to the logarithm of each variance, (m, d)."""
    change = -((rows @ inverse) ** 2) / np.diag(inverse)
    return change if squares is None else change + (squares / squares.mean())[:, None]


def _half_error(changes: Floats) -> Floats:
    m, d = changes.shape
    return np.asarray(changes.std(axis=0) / math.sqrt(max(m - d, 1)) / 2)


def relative_error_of_normal(m: int, d: int) -> float:
    """`relative_error` for normal rows and errors: 1/sqrt(m - d)."""
    return 1 / math.sqrt(max(m - d, 1))


@dataclass(frozen=True)
class DrawnRows:
    """Public rows, each equally often, so that a rehearsal has their second moments.

    ``law`` draws responses anew about the linear predictor with ``coef``; None: they come with their
    rows, and are smeared about ``centre`` where there is one (`smeared`). ``weighted`` and ``offset``:
    whether rows have these at all. ``unsure`` (d, d), times d standard normal numbers, is how far
    private coefficients may be from ``coef``, where a fit begins; None: not at all.
    """

    known: PublicRows
    coef: Floats
    law: Law | None
    weighted: bool
    offset: bool
    unsure: Floats | None = None
    centre: Floats | None = None

    def rows(self, n: int, generator: np.random.Generator) -> Block:
        """n rows."""
        move = _move(self.unsure, len(self.coef), generator)
        some = generator.permutation(len(self.known.y))  # public rows may be sorted
        which = generator.permutation(np.resize(some, n))
        x = np.asfortranarray(self.known.x[which])
        offset, weight = self.known.offset[which], self.known.weight[which]
        if self.law is not None:
            y = self.law(
                x @ (self.coef + move) + offset, weight if self.weighted else None, generator
            )
        else:
            y = self.known.y[which]
            if self.centre is not None:
                y = smeared(y, self.centre[which], generator)
            y = y + x @ move
        offset, weight = offset if self.offset else None, weight if self.weighted else None
        return Block(x, np.asarray(y, dtype=np.float64), offset, weight)


def smeared(y: Floats, centre: Floats, generator: np.random.Generator) -> Floats:
    """Responses at random multiples, of mean 1, of their distance from a centre.

    Rows that recur to the letter are not what private rows are like: scores of one length, by the
    hundred, are cut all or none, and a cut just below them would take them for errors of one sign.
    """
    factor = generator.gamma(1 / _SMEAR**2, _SMEAR**2, len(y))
    return centre + (y - centre) * factor


@dataclass(frozen=True)
class NormalRows:
    """Normal rows of public second moments; a constant, at position ``constant``, stays one.

    ``coef``, ``law`` and ``unsure`` as for `DrawnRows`.
    """

    moment: Floats
    constant: int | None
    coef: Floats
    law: Law
    unsure: Floats | None = None

    def rows(self, n: int, generator: np.random.Generator) -> Block:
        """n rows."""
        k, d = self.constant, len(self.moment)
        coef = self.coef + _move(self.unsure, d, generator)
        rest = [j for j in range(d) if j != k]
        mean = np.zeros(d) if k is None else self.moment[k] / self.moment[k, k]
        spread = (self.moment - np.outer(mean, mean) * (0 if k is None else self.moment[k, k]))[
            np.ix_(rest, rest)
        ]
        x = np.empty((n, d), order="F")
        x[:, rest] = mean[rest] + generator.normal(size=(n, len(rest))) @ _root(spread)
        if k is not None:
            x[:, k] = math.sqrt(self.moment[k, k])
        y = np.asarray(self.law(x @ coef, None, generator), dtype=np.float64)
        return Block(x, y, None, None)


def _move(unsure: Floats | None, d: int, generator: np.random.Generator) -> Floats:
    return np.zeros(d) if unsure is None else unsure @ generator.normal(size=d)


def _root(spread: Floats) -> Floats:
    return equilibrated_whitening(spread).root if len(spread) else spread


def public_fit(
    moment: Floats, cross: Floats | None, yy: float | None, m: int | None
) -> tuple[Floats, float | None]:
    """Least squares of the public moments, and sigma on m - d degrees of freedom; None if unknown."""
    if cross is None or yy is None:
        return np.zeros(len(moment)), None
    coef, variance = moments_least_squares(moment, cross, yy, m)
    return coef, math.sqrt(variance) if variance else None


def with_full_residuals(known: PublicRows, coef: Floats, sigma: float) -> PublicRows:
    """Public rows whose residuals from their own fit are as long as errors are.

    Least squares leaves of an error the share 1 - (leverage) of its variance; residuals are divided by
    its root, and all of them scaled to ``sigma``.
    """
    root = np.sqrt(known.weight)
    rows = known.x * root[:, None]
    basis = np.linalg.qr(rows / np.maximum(np.abs(rows).max(axis=0), 1e-300))[0]
    leverage = np.minimum((basis**2).sum(axis=1), 0.9)
    fitted = known.x @ coef + known.offset
    rest = (known.y - fitted) / np.sqrt(1 - leverage)
    size = math.sqrt(float((known.weight * rest**2).mean()))
    rest = rest * (sigma / size) if size > 0 else rest
    return PublicRows(known.x, fitted + rest, known.offset, known.weight)


def normal_law(sigma: float) -> Law:
    """Normal errors, of variance sigma^2 over the weight."""

    def draw(predictor: Floats, weight: Floats | None, generator: np.random.Generator) -> Floats:
        errors = sigma * generator.normal(size=len(predictor))
        return predictor + (errors if weight is None else errors / np.sqrt(weight))

    return draw


def ratio_law(family: Family, known: PublicRows, coef: Floats) -> Law:
    """Means times ratios of public responses to their means, each equally often and in any row.

    Ratios differ more where means are small, and are smeared as well: they are drawn towards 1 until
    Pearson residuals are as long as those of the public rows.
    """
    fitted = known.x @ coef + known.offset
    ratios = known.y / family.mean(fitted)

    def draw(predictor: Floats, weight: Floats | None, generator: np.random.Generator) -> Floats:
        some = generator.permutation(np.resize(generator.permutation(ratios), len(predictor)))
        return family.mean(predictor) * smeared(some, np.zeros(len(some)), generator)

    copies = np.tile(fitted, max(1, 10_000 // len(fitted)))
    longer = (family.working(copies, draw(copies, None, np.random.default_rng(1)))[2] ** 2).mean()
    length = (family.working(fitted, known.y)[2] ** 2).mean()
    if longer > length:
        ratios = 1 + math.sqrt(length / longer) * (ratios - 1)
    return draw


def bernoulli_law(mean: Callable[[Floats], Floats]) -> Law:
    """Shares of successes; the weight is the number of trials."""

    def draw(predictor: Floats, weight: Floats | None, generator: np.random.Generator) -> Floats:
        trials = np.ones(len(predictor)) if weight is None else np.maximum(np.rint(weight), 1)
        drawn = generator.binomial(trials.astype(np.int64), np.clip(mean(predictor), 0.0, 1.0))
        return np.asarray(drawn / trials)

    return draw


def poisson_law(mean: Callable[[Floats], Floats]) -> Law:
    """Counts."""

    def draw(predictor: Floats, weight: Floats | None, generator: np.random.Generator) -> Floats:
        return np.asarray(generator.poisson(np.minimum(mean(predictor), 1e15)), dtype=np.float64)

    return draw


def laws_of_counts(family: Family) -> dict[str, Law]:
    """The laws of families whose mean says all, by name."""
    return {"binomial": bernoulli_law(family.mean), "poisson": poisson_law(family.mean)}


@dataclass(frozen=True)
class DrawnPersons:
    """Public persons, or rows, drawn many times over.

    ``unsure`` is a root of the variance of the public coefficients, by which the responses are moved:
    the private fit is as far from the public one as two samples are.
    """

    known: Block | PersonsBlock
    unsure: Floats | None

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.known.starts if isinstance(self.known, PersonsBlock) else self.known.y)

    def rows(self, n: int, generator: np.random.Generator) -> Any:
        """So many persons; or rows, where nobody is named."""
        known = self.known
        drawn = generator.integers(self.size, size=n)
        if isinstance(known, PersonsBlock):
            lengths = np.diff(np.append(known.starts, len(known.y)))[drawn]
            starts = np.cumsum(lengths) - lengths
            at = np.arange(lengths.sum()) + np.repeat(known.starts[drawn] - starts, lengths)
            return replace(self._moved(at, generator), starts=starts, lots=known.lots[drawn])
        return self._moved(drawn, generator)

    def _moved(self, at: Any, generator: np.random.Generator) -> Any:
        parts: dict[str, Any] = {
            name: None if values is None else values[at]
            for name, values in vars(self.known).items()
            if name not in ("starts", "lots")
        }
        if self.unsure is not None:
            move = self.unsure @ generator.normal(size=self.unsure.shape[1])
            parts["y"] = parts["y"] + parts["x"] @ move
        return replace(self.known, **parts)
