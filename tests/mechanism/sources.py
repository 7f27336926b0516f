"""Tables of numbers and noises for the tests of the mechanism."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpstats.mechanism.ball import SphericalLaw
from dpstats.mechanism.noise import SMALLEST_SD
from dpstats.mechanism.passes import RowSource

Floats = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class Slab:
    x: Floats
    y: Floats
    offset: Floats | None = None
    weight: Floats | None = None
    above: Floats | None = None
    usable: NDArray[np.bool_] | None = None


class Arrays:
    """Rows held in arrays, handed out in blocks of ``size`` whatever is asked for.

    Weights above 2 are said to have been above their bound.
    """

    def __init__(
        self, x: Floats, y: Floats, size: int | None = None, weight: Floats | None = None
    ) -> None:
        self.x, self.y, self.weight, self.size = x, y, weight, size
        self.n, self.d = x.shape
        self.threads = None

    def pieces(self, size: int) -> Iterator[Callable[[], Slab]]:
        size = self.size or size
        for a in range(0, self.n, size):
            yield partial(self._slab, slice(a, a + size))

    def _slab(self, part: slice) -> Slab:
        w = None if self.weight is None else self.weight[part]
        return Slab(self.x[part], self.y[part], None, w, None if w is None else np.float64(w > 2))

    def map_parts(self, task: Callable[[RowSource], T]) -> Iterator[T] | None:
        return None


class NonPrivateSilence:
    """No noise at all, to see what a mechanism adds its noise to. NOT private."""

    seeded = True

    def integers(self, sd: float, size: int) -> NDArray[np.int64]:
        return np.zeros(size, dtype=np.int64)

    def laplace(self, scale: float, size: int) -> NDArray[np.object_]:
        return np.zeros(size, dtype=object)

    def spherical(
        self, sensitivity: float, weights: Floats, epsilon: float
    ) -> tuple[NDArray[np.object_], float]:
        ball = SphericalLaw.fitting(sensitivity, weights, epsilon, SMALLEST_SD)
        return np.zeros(len(weights), dtype=object), ball.sd

    def coin(self, probability: float) -> bool:
        return True


class NonPrivateCoins(NonPrivateSilence):
    """No noise; remembers the probabilities that it was asked to toss. NOT private."""

    def __init__(self) -> None:
        self.coins: list[float] = []

    def coin(self, probability: float) -> bool:
        self.coins.append(probability)
        return True
