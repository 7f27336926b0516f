"""Releases of two sessions in step: what the first draws, the second is told, and a tape adds up.

At every release the second session finds the exact total that it would have added noise to. The log
ratio of the two laws at what was released, given all that was released before, is exact for Gaussian and
Laplace noise and for coins ("no reply"); for spherical noise it leaves out that lengths are rounded to
levels, of which there are thousands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from dpstats.accounting.privacy import PurePrivacy
from dpstats.mechanism import release as gaussian
from dpstats.mechanism.ball import SphericalLaw, rough_draw
from dpstats.mechanism.noise import SMALLEST_SD, SeededNoise
from dpstats.mechanism.release import Release

CERTAIN = 1e6
"""Log ratio of what only one of the two tables can have released."""


class Leak(AssertionError):
    """What should be public, or released, differs between neighbours."""


@dataclass
class Tape:
    """What the first of two sessions has released and the second has not yet answered for.

    ``ratio`` is the log density of all releases under the first table less that under the second.
    """

    waiting: list[tuple[Any, ...]] = field(default_factory=list)
    ratio: float = 0.0
    hidden: bool = False

    def next(self, kind: str) -> tuple[Any, ...]:
        if not self.waiting or self.waiting[0][0] != kind:
            raise Leak("neighbours release different things after the same history")
        return self.waiting.pop(0)


@cache
def _ball(sensitivity: float, size: int, heavy: int, epsilon: float) -> SphericalLaw:
    weights = np.repeat([2.0, 1.0], [heavy, size - heavy])
    return SphericalLaw.fitting(sensitivity, weights, epsilon, SMALLEST_SD)


class Draws(SeededNoise):
    """The package's seeded noise. With ``part`` below 1 all of it is too small, and NOT private."""

    def __init__(self, seed: int, part: float = 1.0) -> None:
        super().__init__(seed)
        self.part = part

    def integers(self, sd: float, size: int) -> Any:
        drawn = super().integers(sd, size)
        return drawn if self.part == 1 else np.rint(self.part * drawn).astype(np.int64)

    def laplace(self, scale: float, size: int) -> Any:
        return super().laplace(self.part * scale, size)

    def spherical(self, sensitivity: float, weights: Any, epsilon: float) -> Any:
        # the ball of a release is the same in every run; weights are 2 off the diagonal, 1 on it
        heavy = int((weights == 2.0).sum())
        assert (weights[:heavy] == 2.0).all()
        assert (weights[heavy:] == 1.0).all()
        ball = _ball(sensitivity, len(weights), heavy, epsilon)
        drawn = rough_draw(ball, self._generator)
        if self.part != 1:
            drawn = np.array([round(self.part * k) for k in drawn], dtype=object)
        return drawn, ball.sd


class Voice:
    """Noise of the first session: drawn, and noted on the tape."""

    seeded = True

    def __init__(self, source: Any, tape: Tape) -> None:
        self.source, self.tape = source, tape

    def coin(self, probability: float) -> bool:
        passed = bool(self.source.coin(probability))
        self.tape.waiting.append(("coin", probability, passed))
        return passed

    def release(self, original: Any, kind: str, given: dict[str, Any]) -> Release:
        found: Release = original(**{**given, "noise": self.source})
        self.tape.waiting.append((kind, found, given))
        return found


class Echo:
    """Noise of the second session: what the first has released is released again."""

    seeded = True

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def coin(self, probability: float) -> bool:
        _, first, passed = self.tape.next("coin")
        self.tape.hidden = not passed
        ends = (first, probability) if passed else (1 - first, 1 - probability)
        self.tape.ratio += _log(ends[0]) - _log(ends[1])
        return bool(passed)

    def release(self, original: Any, kind: str, given: dict[str, Any]) -> Release:
        tape = self.tape
        _, found, first = tape.next(kind)
        for name, value in given.items():
            if name not in ("total", "noise") and not _same(value, first[name]):
                raise Leak(f"{found.what}: {name} differs between neighbours")
        if first["total"].shape != given["total"].shape:
            raise Leak(f"{found.what}: the shape differs between neighbours")
        if tape.hidden:
            tape.hidden = False
        else:
            tape.ratio += _log_ratio(kind, found, first, given)
        return found  # type: ignore[no-any-return]


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -CERTAIN


def _same(one: Any, two: Any) -> bool:
    if one is two:
        return True
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, two))
    return bool(one == two)


def _log_ratio(kind: str, found: Release, first: dict[str, Any], second: dict[str, Any]) -> float:
    """Of the densities of what was released, first total over second."""
    if (first["total"] == second["total"]).all():
        return 0.0
    unit, value = first["unit"], found.value
    one, two = (np.array(given["total"] * 1.0, dtype=float) * unit for given in (first, second))
    if isinstance(first["privacy"], PurePrivacy):
        order = 1 if kind == "counts" else 2  # of a matrix that of all entries
        near, far = (float(np.linalg.norm((value - v).ravel(), order)) for v in (one, two))
        return (far - near) * first["privacy"].at / found.sensitivity
    weight: Any = 1.0
    if kind == "symmetric" and not first.get("isometric", True):
        # every entry above the diagonal has the same noise, and stands twice here
        weight = (1 + np.eye(value.shape[-1])) / 2
    elif first.get("wider") is not None:
        weight = np.where(first["wider"], 0.5, 1.0)
    parts = weight * (one - two) * (value - (one + two) / 2)
    return float(parts.sum()) / found.noise_sd**2


ORIGINAL = {
    "vector": gaussian.release_vector,
    "counts": gaussian.release_counts,
    "symmetric": gaussian.release_symmetric,
}
_NAMES = ("what", "total", "sensitivity", "unit", "privacy", "noise", "wider")


def heard(kind: str) -> Callable[..., Release]:
    original = ORIGINAL[kind]

    def release(*args: Any, **named: Any) -> Release:
        given = {**dict(zip(_NAMES, args, strict=False)), **named}
        noise = given["noise"]
        if isinstance(noise, Voice | Echo):
            return noise.release(original, kind, given)
        return original(**given)

    return release
