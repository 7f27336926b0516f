"""Rehearsals: a fit run on simulated rows, at a total that is not spent.

What a fit does with its total depends on the data: how long rows are, how far the public anchor is,
which cuts and how many rounds follow. Rather than a formula for all that, a plan runs the fit itself on
simulated rows (`dpstats.plans.population`). No private row is there, and nothing is charged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpstats.accounting.privacy import Privacy
from dpstats.arrays import Floats
from dpstats.frame import Block, PersonsBlock
from dpstats.mechanism.threads import InTurn, one_blas_thread
from dpstats.plans.population import Population
from dpstats.report.bound import Bound
from dpstats.report.privacy import PrivacyStatement
from dpstats.score_rounds.notes import CUT_ALLOWANCE, MOSTLY
from dpstats.score_rounds.result import Model

_T = TypeVar("_T")
_LARGEST = 40_000
"""Numbers in the largest table that is rehearsed; larger ones are scaled down."""
_REPEATS = 5


@dataclass(frozen=True)
class ExpectedRows:
    """Simulated rows, or rows of persons, as a source that a session can read."""

    simulated: Block | PersonsBlock
    threads: Executor = InTurn()  # noqa: RUF009

    @property
    def n(self) -> int:
        s = self.simulated
        return len(s.starts if isinstance(s, PersonsBlock) else s.y)

    @property
    def d(self) -> int:
        return int(self.simulated.x.shape[1])

    def pieces(self, size: int) -> Iterator[Callable[[], Any]]:
        """Blocks of at most ``size`` rows; those of persons at once, as they are few."""
        if isinstance(self.simulated, PersonsBlock):
            yield lambda: self.simulated
            return
        for start in range(0, self.n, size):
            yield partial(self._block, slice(start, start + size))

    def map_parts(self, task: Callable[[Any], _T]) -> Iterator[_T] | None:
        """The rows are worked on here."""
        return None

    def _block(self, part: slice) -> Block:
        s = self.simulated
        offset = None if s.offset is None else _doubles(s.offset[part])
        weight = None if s.weight is None else _doubles(s.weight[part])
        return Block(_doubles(s.x[part]), _doubles(s.y[part]), offset, weight)


def _doubles(values: Floats) -> NDArray[np.float64]:
    return np.asfortranarray(values, dtype=np.float64)


Fitting = Callable[[ExpectedRows, Privacy, int], Model]
"""Fits rows at a total, with noise from a seed."""


@dataclass(frozen=True)
class Predicted:
    """The variances and bounds that rehearsals predict for n rows.

    ``sampling`` and ``privacy`` (d,) are the two parts of the variances of the coefficients, medians
    over the fits that give errors; NaN where most give none, of which ``silent`` is the share.
    ``cautioned``: the share of fits in which cutting may have moved coefficients, noted or allowed for.
    ``bounds`` are those of one rehearsed fit. ``spread``: how much standard errors differ from fit to
    fit, of the coefficient of which they differ most, as a share; NaN of fewer than three fits.
    """

    n: int
    sampling: Floats
    privacy: Floats
    silent: float
    cautioned: float
    bounds: tuple[Bound, ...]
    spread: float = math.nan

    @property
    def std_error(self) -> Floats:
        return np.sqrt(self.sampling + self.privacy)


@dataclass(frozen=True)
class Rehearsal:
    """How often and on what a fit is rehearsed.

    Attributes
    ----------
    population : Population
    fitting : callable
    share : float
        Share of the rows that count: those without missing values, as among the public rows.
    undone : float
        For the sampling part, see `population.undone`.
    noise_undone : float
        For the privacy part: the same where cuts of rows are known beforehand; 1 where they are taken
        from the private rows, which are longer in coordinates that whiten public ones, by as much as
        the inverse overstates.
    least : (d,) array
        Variances of one row without privacy. No fit is expected to be surer: rows whose errors are cut
        make its own estimate of them a little too small.
    robust : (d,) array or float
        Sandwich variances over those of constant variance, at least 1; in ``least`` already.
    least_budget : float
        n mu below which the fit is refused.
    repeats : int
    size : float
        Share of the numbers of `_LARGEST` that a table has.
    """

    population: Population
    fitting: Fitting
    share: float
    undone: float
    noise_undone: float
    least: Floats
    robust: Floats | float = 1.0
    least_budget: float = 0.0
    repeats: int = _REPEATS
    size: float = 1.0

    @property
    def d(self) -> int:
        return len(self.least)

    def nonprivate(self, n: int) -> Floats:
        """Standard errors without privacy."""
        return np.asarray(np.sqrt(self.least / (n * self.share)))

    def at(self, n: int, total: Privacy, bounds: bool = True) -> Predicted:
        """Medians of a few rehearsals with n rows; the same seeds whatever n and total.

        ``bounds``: whether those of a fit are wanted, which take time of their own.

        A larger table is rehearsed with N rows at a total of mu n/N: then noise is to means over rows
        what it will be, and the sampling part is N/n of that.
        """
        if n * total.mu < self.least_budget:
            unknown = np.full(self.d, math.nan)
            return Predicted(n, unknown, unknown, 1.0, 0.0, ())
        counting = max(round(n * self.share), self.d + 2)
        few = min(counting, max(int(self.size * _LARGEST) // self.d, 2000))
        raised, models = Privacy(total.mu * counting / few), []
        # tables are small: to start threads takes longer than to do without
        with one_blas_thread():
            for seed in range(self.repeats):
                rows = self.population.rows(few, np.random.default_rng([seed, 17]))
                models.append(self.fitting(ExpectedRows(rows), raised, seed))
        parts = np.array([[np.diag(_sampling(m)), np.diag(m.coefficients.privacy)] for m in models])
        known = parts[np.isfinite(parts).all(axis=(1, 2))]
        silent = 1 - len(known) / len(models)
        sampling, privacy = np.full((2, self.d), np.nan)
        if silent <= 0.5:
            sampling, privacy = np.median(known, axis=0)
        back = few / counting
        return Predicted(
            n,
            np.maximum(self.undone * back * self.robust * sampling, self.nonprivate(n) ** 2),
            self.noise_undone * privacy,
            silent,
            sum(map(_cuts_matter, models)) / len(models),
            _scaled(models[0], total, counting, back)._bounds() if bounds else (),
            _spread(known.sum(axis=1)),
        )


def _cuts_matter(model: Model) -> bool:
    """Whether a fit warns of cuts, or its errors are mostly an allowance for them."""
    allowed = [line.value or 0.0 for line in model.details if line.name == CUT_ALLOWANCE]
    return bool(model.cautions) or max(allowed, default=0.0) > MOSTLY


def _spread(variances: Floats) -> float:
    """The largest standard deviation of the logarithm of standard errors (fits, coefficients)."""
    logs = np.log(np.maximum(variances, 1e-300)) / 2
    return float(logs.std(axis=0, ddof=1).max()) if len(logs) > 2 else math.nan


def _sampling(model: Model) -> Floats:
    """As of errors of constant variance: `Rehearsal.robust` makes it the sandwich, without its noise."""
    classical = model.estimate.classical
    return model.coefficients.sampling if classical is None else classical


def _scaled(model: Model, total: Privacy, n: int, back: float) -> Model:
    """A rehearsed fit as one of n rows at the total of the plan."""
    estimate = replace(model.estimate, n=n, sampling=model.estimate.sampling * back)
    privacy = PrivacyStatement(total, (), seeded=True)
    return replace(model, estimate=estimate, privacy=privacy, n=n)
