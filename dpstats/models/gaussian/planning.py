"""How a budget is divided over the rounds of a Gaussian estimate, and where rows are cut.

Rows are whitened by the public covariance, w = Shat^-1/2 (x - muhat). Then neither the private mean
nor its covariance is known, but the law of how far off they are is: it depends on d and on the
number m of public rows alone. From it follow the number of private re-whitening rounds, their
budgets, and where rows are cut. Nothing here reads private data. "Paper" is Bie, Kamath, Singhal,
*Private Estimation with Public Data*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.models.gaussian.cuts import (
    COARSE_RATIO,
    LAST_SHARE,
    RATIOS,
    RIDGE,
    FinalCut,
    NoiseLevel,
    choose_final_cut,
    clipping_loss,
    coarse_cut,
    final_cut,
    final_objective,
    length2,
    whitening_update,
)
from dpstats.models.gaussian.public_range import spectrum

_MOST_ROUNDS = 8
_SHARES = np.array([0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4])
_KEEP = 0.2  # least share of the last round
_TRACE_SD = 0.7 / RIDGE  # of the trace of the re-whitened covariance, as estimated
_SMALLEST = 1e-60  # eigenvalues below: nothing is learnt, and no power of them overflows
_SEED, _RUNS = 20231, 400
MORE_ROUNDS, KEEP_FOR_LAST = 6, 0.35  # while some direction is not resolved
_WORTH = 0.7  # rounds must lower log noise^2 of cells by this much on average


@dataclass(frozen=True)
class GaussianPlan:
    """Shares of the budget for a mean and covariance, and the error they promise.

    Attributes
    ----------
    n, d : int
    rounds : int
        T, private re-whitening rounds before the last one.
    share : float
        Of each of them; 0 when there is none.
    search, counts : float
        What `simulated_noise` takes off before rounds and after them. Fits divide the same sum, for
        lengths, tails and counts, otherwise.
    final : float
        Of the last round.
    cut : FinalCut
        Of the last round, if the private covariance is the identity by then.
    noise : float
        Root mean square Frobenius norm of the covariance's relative noise.
    bias : float
        Frobenius norm of what cutting takes off it.
    mean_noise : float
        Largest sd of the mean's noise in any direction, in units of that direction's sd.
    """

    n: int
    d: int
    rounds: int
    share: float
    search: float
    counts: float
    final: float
    cut: FinalCut
    noise: float
    bias: float
    mean_noise: float

    @property
    def error(self) -> float:
        """Planned root mean square of |Sigma^-1/2 Sigmahat Sigma^-1/2 - I|_F.

        sqrt(2 D/n + noise^2 + bias^2), the first term being the sampling error.
        """
        sampling2 = self.d * (self.d + 1) / self.n
        return math.sqrt(sampling2 + self.noise**2 + self.bias**2)


@dataclass(frozen=True)
class CellsPlan:
    """One plan for the means and covariances of all cells.

    Attributes
    ----------
    rounds : int
        T, re-whitening rounds before the last one.
    share : float
        Of each of them, relative to what they and the last one may spend together.
    cuts : tuple of FinalCut
        Of the last round, cell by cell, with one b^2/g^2 since one mechanism releases all.
    bias : tuple of float
        As in `GaussianPlan`.
    """

    rounds: int
    share: float
    cuts: tuple[FinalCut, ...]
    bias: tuple[float, ...]


# ---- plans for mean and covariance --------------------------------------------------------------


def _allowed(budget: float) -> NDArray[np.bool_]:
    """Which (T, f) leave enough of ``budget`` for the last round; one column serves T = 0."""
    rounds = np.arange(_MOST_ROUNDS + 1)[:, None]
    allowed = budget - rounds * _SHARES >= _KEEP - 1e-12
    allowed[0, 1:] = False
    return np.asarray(allowed)


def _predict(
    start: Floats, n: float, d: int, cut: FinalCut, noise: NoiseLevel, budget: float, scale: float,
    cells: int,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Run the rounds on expected eigenvalues; shares are f times ``scale``, of ``budget`` in all.

    The covariance's squared noise and the mean's, by number of rounds T (rows) and share f (columns).
    """
    unit, power = noise.second(1.0, 1.0, n, d, cells), noise.power

    def sd(size2: Floats, share: Floats) -> Floats:
        least = np.maximum(share, 1e-12)  # plans that overspend are dropped later
        return np.asarray(size2 * unit * (least * scale) ** -power)

    s = np.tile(start, (_SHARES.size, 1))
    log_cut = float(scipy.stats.chi2.isf(0.01, d))
    tau = s.sum(1)
    noise2, mean_noise = [], []
    for t in range(_MOST_ROUNDS + 1):
        if t == 0:
            # 1 % of rows are cut if the search is followed by the last round, 5 % otherwise
            size2, last = _searched(s, 100.0), _searched(s, 20.0)
        else:
            size2 = length2(tau, d, math.log(max(n, 2.0)), cut.size2)
            last = length2(tau, d, math.log(100), log_cut)
        final = sd((1 + cut.ratio) * size2, budget - t * _SHARES)
        inverse = 1 / s
        noise2.append(final**2 / 2 * (inverse.sum(1) ** 2 + (inverse**2).sum(1)))
        mean_noise.append(final / np.sqrt(2 * cut.ratio * size2 * s.min(1)))
        coarse = sd((1 + COARSE_RATIO) * last, _SHARES)[:, None]
        s = s / (s + coarse * (RIDGE * math.sqrt(2 * d) + math.sqrt(d / 2)))
        s = np.maximum(s, _SMALLEST)
        tau = np.maximum(s.sum(1), 1.0) + _TRACE_SD
    return np.array(noise2), np.array(mean_noise)


def _searched(s: Floats, one_in: float) -> Floats:
    """Squared length that one row in so many exceeds, found on a noisy grid (1.25)."""
    log_term = math.log(one_in)
    spread = 2 * np.sqrt(log_term * (s**2).sum(1))
    return np.asarray(1.25 * (s.sum(1) + spread + 2 * log_term * s.max(1)))


@lru_cache(maxsize=256)
def plan_gaussian(
    n: int,
    d: int,
    m: int,
    noise: NoiseLevel,
    *,
    gamma: float = 0.0,
    cond: float | None = None,
    eta: float = 0.05,
    reserved: float = 0.035,
) -> GaussianPlan:
    """Rounds and shares that promise the least error; reads no data.

    Parameters
    ----------
    n, m : int
        Private and public rows.
    gamma : float
        Bound for the total variation distance of the public and the private law.
    cond : float, optional
        Guess of the condition number after public whitening; needed if m <= d (1e4), and if larger than
        that of the public rows it replaces that.
    reserved : float
        Share for lengths, tails and counts; `simulated_noise` takes six sevenths off before rounds.

    Examples
    --------
    >>> plan = plan_gaussian(10_000, 10, 20, NoiseLevel(rho=0.5))
    >>> 1 <= plan.rounds <= 4, round(plan.error, 3)
    (True, 0.112)
    """
    start = spectrum(d, m, eta, gamma, cond)
    cut = choose_final_cut(n, d, noise)
    noise2, mean_noise = _predict(start, n, d, cut, noise, 1 - reserved, 1.0, 1)
    # noise alone would never re-whiten large tables, in which 1 % of cut rows is what hurts
    sizes = np.full(_MOST_ROUNDS + 1, cut.size2)
    sizes[0] = scipy.stats.chi2.isf(0.01, d)
    bias = math.sqrt(d) * clipping_loss(sizes, d)
    error2 = np.where(_allowed(1 - reserved), noise2 + bias[:, None] ** 2, math.inf)
    t, f = (int(i) for i in np.unravel_index(int(np.argmin(error2)), error2.shape))
    share = float(_SHARES[f]) if t else 0.0
    return GaussianPlan(
        n=n,
        d=d,
        rounds=t,
        share=share,
        search=reserved * 6 / 7,
        counts=reserved / 7,
        final=1 - reserved - t * share,
        cut=cut,
        noise=math.sqrt(float(noise2[t, f])),
        bias=float(bias[t]),
        mean_noise=float(mean_noise[t, f]),
    )


def plan_cells(
    ns: Sequence[float],
    ms: Sequence[int],
    d: int,
    noise: NoiseLevel,
    *,
    available: float = 1.0,
    eta: float = 0.05,
) -> CellsPlan:
    """One plan for all cells, that with the least mean logarithm of their squared noise.

    Parameters
    ----------
    ns, ms : sequences
        Private rows of each cell, as released, and public ones.
    available : float
        Fraction of the total for the rounds and the last one; at least a fifth of it is kept for that.

    Notes
    -----
    No round is made unless rounds lower the mean of log noise^2 by 0.7: cells are small, and rounds
    rely on what they find in them.

    Examples
    --------
    >>> plan = plan_cells((5000.0, 20_000.0), (40, 90), 5, NoiseLevel(rho=0.5), available=0.9)
    >>> plan.rounds, plan.share
    (2, 0.02)
    """
    cells = len(ns)
    rows = [max(float(n), 2.0) for n in ns]
    cuts = _common_cuts(rows, d, noise, LAST_SHARE * available)
    noises2 = [
        _predict(spectrum(d, m, eta, 0.0, None), n, d, cut, noise, 1.0, available, cells)[0]
        for n, m, cut in zip(rows, ms, cuts, strict=True)
    ]
    mean_log = np.mean([np.log(noise2) for noise2 in noises2], axis=0)
    mean_log[~_allowed(1.0)] = math.inf
    t, f = (int(i) for i in np.unravel_index(int(np.argmin(mean_log)), mean_log.shape))
    if mean_log[0, 0] - mean_log[t, f] <= _WORTH:
        t, f = 0, 0
    share = float(_SHARES[f]) if t else 0.0
    sizes = np.array([cut.size2 if t else scipy.stats.chi2.isf(0.01, d) for cut in cuts])
    return CellsPlan(
        rounds=t,
        share=share,
        cuts=cuts,
        bias=tuple(float(v) for v in math.sqrt(d) * clipping_loss(sizes, d)),
    )


def _common_cuts(
    rows: Sequence[float], d: int, noise: NoiseLevel, share: float
) -> tuple[FinalCut, ...]:
    """Each cell's best cut at the lift ratio with the least product of objectives."""
    objectives = [final_objective(n, d, noise, share, len(rows)) for n in rows]
    j = int(np.argmin(np.sum([np.log(total.min(axis=0)) for _, total in objectives], axis=0)))
    ratio = float(RATIOS[j])
    sizes = [float(size2[int(np.argmin(total[:, j]))]) for size2, total in objectives]
    return tuple(FinalCut(size2, ratio * size2) for size2 in sizes)


# ---- what the rounds will do, simulated ---------------------------------------------------------


@lru_cache(maxsize=64)
def simulated_noise(
    plan: GaussianPlan, m: int, noise: NoiseLevel, level: float
) -> tuple[float, float]:
    """Quantiles of the covariance's and of the mean's noise over runs of the plan without data.

    Everything that rounds do has one law whatever the population, because public whitening follows
    every affine change: rows may be taken as N(0, I), and the public covariance as a Wishart matrix.
    Sharper than the prediction of `plan_gaussian` where public rows are few, since noise makes
    unresolved directions less bad than it assumes. For public rows of the same population.

    Parameters
    ----------
    m : int
        Public rows, more than columns.
    level : float
        Of the quantile.

    Returns
    -------
    noise, mean_noise : float
        As in `GaussianPlan`.

    Examples
    --------
    >>> level = NoiseLevel(rho=0.5)
    >>> plan = plan_gaussian(1000, 10, 11, level)
    >>> simulated_noise(plan, 11, level, 0.95)[0] < plan.noise
    True
    """
    rng = np.random.default_rng(_SEED)
    draws = _RUNS if plan.d <= 12 else _RUNS // 3
    runs = np.array([_run(plan, m, noise, rng) for _ in range(draws)])
    high = np.quantile(runs, level, axis=0, method="higher")
    return float(high[0]), float(high[1])


def _run(
    plan: GaussianPlan, m: int, noise: NoiseLevel, rng: np.random.Generator
) -> tuple[float, float]:
    """Relative noise of the covariance and of the mean at the end of one simulated call."""
    n, d = plan.n, plan.d
    sample = rng.standard_normal((m - 1, d))
    values, vectors = np.linalg.eigh(sample.T @ sample / (m - 1))
    root = (vectors / np.sqrt(np.maximum(values, 1e-300))) @ vectors.T
    spread = root @ root  # of private rows after public whitening
    away = root @ rng.standard_normal(d) / math.sqrt(m)
    rows = rng.standard_normal((400, d)) @ root + away
    size2 = float(np.quantile((rows**2).sum(axis=1), 0.95 if plan.rounds else 0.99)) * 1.1
    left, made, planned, resolved = 1 - plan.search, 0, plan.rounds, plan.rounds == 0
    while made < planned and not resolved:
        s = noise.second((1 + COARSE_RATIO) * size2, plan.share, n, d)
        left, made = left - plan.share, made + 1
        seen = away + rng.standard_normal(d) * s / math.sqrt(2 * COARSE_RATIO * size2)
        blur = rng.standard_normal((d, d))
        released = spread + np.outer(away, away) - np.outer(seen, seen) + s * (blur + blur.T) / 2
        update = whitening_update(released, s)
        resolved = update.resolved
        if made == planned and not resolved:
            room = left - 2 * plan.share - plan.counts >= KEEP_FOR_LAST
            clear = s * math.sqrt(2 * d) <= 0.1 * float(np.linalg.eigvalsh(released)[-1])
            planned += int(room and clear and made < plan.rounds + MORE_ROUNDS)
        spread = update.left @ spread @ update.left
        away = update.left @ (away - seen)
        last = resolved or made == planned
        size2 = final_cut(update.tau, d, n, plan.cut) if last else coarse_cut(update.tau, d)
    s = noise.second((1 + plan.cut.ratio) * size2, left - plan.counts, n, d)
    inverse = 1 / np.maximum(np.linalg.eigvalsh(spread), _SMALLEST)
    relative = s * math.sqrt(float(inverse.sum() ** 2 + (inverse**2).sum()) / 2)
    return relative, s * math.sqrt(float(inverse.max()) / (2 * plan.cut.ratio * size2))
