"""What worst neighbours give away in single releases of cells stays below the claim. Slow.

Neighbours are as bad as the proofs allow; sessions of the package run with seeded noise, tens of
thousands of times for either neighbour, on rows that are summed by the package's own arithmetic (without
its threads, and each sum only once). The attacker knows both tables and decides by the likelihood
ratio. (Whole functions: `test_claims_audit`.)

False alarms. A threshold is chosen on the first third of the runs and its two error rates are bounded on
the others by Clopper-Pearson limits that fail with probability 2.5e-7 each. A right implementation fails
an assertion with probability below 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from dpstats.accounting.privacy import Cost, Privacy, PurePrivacy
from dpstats.mechanism.noise import Noise, SeededNoise
from dpstats.mechanism.release import Release
from dpstats.mechanism.session import Session
from dpstats.models.gaussian.releases import CellSession
from dpstats.models.gaussian.rows import CellCoordinates, CellRows, LiftedSums, Zones
from dpstats.models.mixture.clustering import Split, nearest, number_of_zones, zone_of
from tests.mechanism.sources import Arrays

pytestmark = pytest.mark.slow

_ALARM = 2.5e-7

Floats = np.ndarray
Tables = tuple[Floats, Floats]


# --- lower bounds --------------------------------------------------------------------------------


def _rates(low: Floats, high: Floats, cut: float) -> tuple[float, float]:
    """A lower limit for P(high > cut) and an upper one for P(low > cut)."""
    n, hit = len(high), int((high > cut).sum())
    m, missed = len(low), int((low > cut).sum())
    right = float(stats.beta.ppf(_ALARM, hit, n - hit + 1)) if hit else 0.0
    wrong = float(stats.beta.isf(_ALARM, missed + 1, m - missed)) if missed < m else 1.0
    return right, wrong


def _best(ratios: Tables, score: Callable[[float, float], float]) -> float:
    """The score of a threshold on log ratios of runs on either table; both directions are tried."""
    tries = []
    for low, high in (ratios, (-ratios[1], -ratios[0])):
        first, second = low[: len(low) // 3], high[: len(high) // 3]
        for cut in np.quantile(np.concatenate([first, second]), np.linspace(0.005, 0.995, 199)):
            tries.append((score(*_rates(first, second, cut)), low, high, cut))
    _, low, high, cut = max(tries, key=lambda found: found[0])
    return score(*_rates(low[len(low) // 3 :], high[len(high) // 3 :], cut))


def _mu_bound(ratios: Tables) -> float:
    """A lower bound on mu: errors (a, 1 - b) are impossible under mu-GDP unless mu >= z(b) - z(a)."""

    def score(right: float, wrong: float) -> float:
        return float(special.ndtri(right) - special.ndtri(wrong))

    return max(_best(ratios, score), 0.0)


def _epsilon_bound(ratios: Tables) -> float:
    """A lower bound on epsilon without a delta."""

    def score(right: float, wrong: float) -> float:
        return math.log(right / wrong) if right > 0 else -math.inf

    return max(_best(ratios, score), 0.0)


# --- a session that is watched -------------------------------------------------------------------


class _Still(CellRows):
    """The package's rows without its threads."""

    def _over(self, work: Any) -> Any:
        if self._cached is None:
            list(super()._over(lambda slab: slab))
            self._threads.shutdown()
        with np.errstate(all="ignore"):
            for slab in (slab for block in self._cached or () for slab in block):
                self._prepare(slab)
                yield work(slab)


class _Both:
    """Rows of two neighbours: gives the totals of one, and remembers those of both.

    ``expected``: of each release to come the totals of both, and what their steps are worth (None: as
    the release says). Totals that are asked for again are not computed again.
    """

    def __init__(self, first: CellRows, second: CellRows) -> None:
        self.sides, self.side = (first, second), 0
        self.n, self.d, self.grid = first.n, first.d, first.grid
        self.expected: list[tuple[list[Any], float | None]] = []
        self._known: dict[Any, list[Any]] = {}

    def close(self) -> None:
        self.expected.clear()

    def _totals(
        self, name: str, frames: Sequence[CellCoordinates], numbers: Any, *given: Any
    ) -> list[Any]:
        key = (name, *numbers, *(a.tobytes() for f in frames for a in (f.centre, f.back)))
        if key not in self._known:
            if len(self._known) > 4:
                self._known.clear()
            self._known[key] = [getattr(rows, name)(*given) for rows in self.sides]
        return self._known[key]

    def zones(self, partition: Any, tests: Sequence[Zones]) -> Any:
        found = self._totals("zones", (), (id(tests),), partition, tests)
        self.expected = [([np.concatenate(counts) for counts in found], 1.0)]
        return found[self.side]

    def lifted(
        self, partition: Any, frames: Sequence[CellCoordinates], radii: Any, lift: int
    ) -> LiftedSums:
        found = self._totals("lifted", frames, (*radii, lift), partition, frames, radii, lift)
        self.expected = [([sums.total for sums in found], None)]
        self.expected.append(([sums.cut for sums in found], 1 / self.n))
        side: LiftedSums = found[self.side]
        return side


def _log_ratio(release: Release, one: Floats, two: Floats) -> float:
    """Of the densities of a release with the exact values ``two`` and ``one``."""
    value = release.value
    if isinstance(release.cost, PurePrivacy):
        counts = value.ndim == 1 and release.what != "sum and number of rows"
        order = 1 if counts else 2  # of symmetric matrices that of all entries
        near, far = (float(np.linalg.norm((value - v).ravel(), order)) for v in (two, one))
        return (far - near) * release.cost.at / release.sensitivity
    # off the diagonal of a symmetric matrix entries stand twice, and have half the variance
    return float(((two - one) * (value - (one + two) / 2)).sum()) / release.noise_sd**2


class _Watched(CellSession):
    """A session that adds up the log ratio of what it releases."""

    def __init__(self, both: _Both, side: int, total: Cost, noise: Noise) -> None:
        Session.__init__(self, both, total, noise)  # type: ignore[arg-type]
        both.side, self.both, self.ratio = side, both, 0.0

    def _record(self, release: Release) -> Release:
        found, unit = self.both.expected.pop(0)
        one, two = (np.asarray(v, dtype=float) * (unit or release.step) for v in found)
        self.ratio += _log_ratio(release, one, two)
        return super()._record(release)


class _Quieter(SeededNoise):
    """Noise that is too small. NOT private."""

    def __init__(self, seed: int, part: float) -> None:
        super().__init__(seed)
        self.part = part

    def integers(self, sd: float, size: int) -> Any:
        return np.rint(self.part * super().integers(sd, size)).astype(np.int64)

    def laplace(self, scale: float, size: int) -> Any:
        return super().laplace(self.part * scale, size)

    def spherical(self, sensitivity: float, weights: Any, epsilon: float) -> Any:
        drawn, sd = super().spherical(sensitivity, weights, epsilon)
        return np.array([round(self.part * k) for k in drawn], dtype=object), sd


@dataclass(frozen=True)
class _Case:
    """Two neighbours, and what is released of them at a total."""

    both: _Both
    total: Cost
    release: Callable[[CellSession], Any]

    def ratios(self, count: int, seed: int, part: float = 1.0) -> Tables:
        """Log ratios of so many runs on either neighbour, with this part of the noise."""
        found = []
        for side in (0, 1):
            noise = _Quieter(2 * seed + side, part) if part != 1 else SeededNoise(2 * seed + side)
            out = np.empty(count)
            for k in range(count):
                session = _Watched(self.both, side, self.total, noise)
                self.release(session)
                assert not session.left > 1e-9
                out[k] = session.ratio
            found.append(out)
        return found[0], found[1]


def _neighbours(rest: Floats, first: Floats, second: Floats) -> Tables:
    """Tables that differ in their last row; a row of NaN is missing."""

    def table(row: Floats) -> Floats:
        x = np.vstack([rest, row])
        alive = np.isfinite(x).all(axis=1)
        return np.column_stack([alive, np.where(alive[:, None], x, 0.0)])

    return table(first), table(second)


def _standard(n: int, d: int, seed: int) -> Floats:
    """Rows whose mean is 0 and whose covariance is I."""
    x = np.random.default_rng(seed).normal(size=(n, d))
    x -= x.mean(axis=0)
    return np.asarray(np.linalg.qr(x)[0] * math.sqrt(n - 1))


# --- one release ---------------------------------------------------------------------------------

_PLANE = (CellCoordinates(np.zeros(2), np.eye(2)),)


def _angle(ratio: float) -> tuple[Floats, Floats]:
    """Rows far out that are orthogonal when they are lifted, b^2 / g^2 = ratio."""
    return np.array([1e6, 0.0]), 1e6 * np.array([-ratio, math.sqrt(1 - ratio**2)])


def _released(total: Cost, rest: Floats, first: Floats, second: Floats, release: Any) -> _Case:
    tables = _neighbours(rest, first, second)
    one, two = (_Still(Arrays(t, np.zeros(len(t))), np.zeros(2), np.ones(2)) for t in tables)
    return _Case(_Both(one, two), total, release)


def _lifted(total: Cost) -> _Case:
    first, second = _angle(0.25)
    rest = _standard(11, 2, 0)
    return _released(
        total, rest, first, second, lambda s: s.lifted(1.0, (), _PLANE, [3.0], 0.5)
    )  # fmt: skip


_SIDES = (Split(0, nearest(np.array([[-9.0, 0], [9, 0]]), np.zeros(2), np.ones(2)), (0, 1)),)


def _moving(total: Cost) -> _Case:
    """A row that goes from one cell to the other, with the noise for rows at right angles."""
    frames = (
        CellCoordinates(np.array([-9.0, 0]), np.eye(2)),
        CellCoordinates(np.array([9.0, 0]), np.eye(2) / 100),
    )
    first, second = np.array([-50.0, 0]), np.array([1e5, 0])

    def release(session: CellSession) -> Any:
        return session.lifted(1.0, _SIDES, frames, [3.0, 1.0], 0.5)

    return _released(total, _standard(11, 2, 0), first, second, release)


def _zones(total: Cost) -> _Case:
    """A row that is in two zones of its cell, and then in two others."""
    ends = np.array([[-4.0], [0.0], [4.0]])
    tests = tuple(
        Zones(
            0, np.zeros(2), axis, np.ones(2), lambda y: zone_of(y, ends), number_of_zones(len(ends))
        )
        for axis in (np.eye(2)[:, :1], np.eye(2)[:, 1:])
    )
    first, second = np.array([-4.0, 4.0]), np.array([4.0, 0.0])
    return _released(
        total, _standard(11, 2, 0), first, second, lambda s: s.zones(1.0, (), tests)
    )  # fmt: skip


# --- what the worst neighbours give away ---------------------------------------------------------

# of one release: what, at which total, runs on either table, the part of the claim that they find at
# least, and runs that are enough for an attack on 0.7 of the noise
_RELEASES: dict[str, tuple[Callable[[Cost], _Case], Cost, int, float, int]] = {
    "lifted, rho = .05": (_lifted, Privacy(math.sqrt(0.1)), 90_000, 0.8, 30_000),
    "lifted, rho = .5": (_lifted, Privacy(1.0), 60_000, 0.9, 8000),
    "lifted, rho = 2": (_lifted, Privacy(2.0), 35_000, 0.9, 4000),
    "lifted, pure": (_lifted, PurePrivacy(2.0), 6000, 0.3, 0),
    "moving, rho = .5": (_moving, Privacy(1.0), 60_000, 0.9, 8000),
    "zones, rho = .5": (_zones, Privacy(1.0), 60_000, 0.9, 8000),
    "zones, rho = 2": (_zones, Privacy(2.0), 30_000, 0.9, 4000),
    "zones, pure": (_zones, PurePrivacy(1.0), 60_000, 0.75, 15_000),
}


def _bound(total: Cost, ratios: Tables) -> tuple[float, float]:
    """A lower bound on what is given away, and what is claimed, in one unit."""
    if isinstance(total, PurePrivacy):
        assert max(float(np.abs(r).max()) for r in ratios) <= total.at * (1 + 1e-9)
        return _epsilon_bound(ratios), total.at
    return _mu_bound(ratios), total.mu


@pytest.mark.parametrize("name", _RELEASES)
def test_worst_neighbours_give_away_no_more_than_a_release_claims(name: str) -> None:
    release, total, count, least, _ = _RELEASES[name]
    found, claim = _bound(total, release(total).ratios(count, 2))
    assert found <= claim
    assert found >= least * claim


@pytest.mark.parametrize("name", [name for name, release in _RELEASES.items() if release[-1]])
def test_an_attack_finds_a_release_whose_noise_is_too_small(name: str) -> None:
    # in many dimensions spherical noise is seldom along the line that tells the tables apart
    release, total, _, _, count = _RELEASES[name]
    ratios = release(total).ratios(count, 4, part=0.7)
    if isinstance(total, PurePrivacy):
        assert _epsilon_bound(ratios) > total.at
    else:
        assert _mu_bound(ratios) > total.mu
