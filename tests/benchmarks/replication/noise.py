"""Streams of noise for the private fits of one repetition."""

from __future__ import annotations

import numpy as np

_APART = 1
"""Beside the seed: settings draw their data from the seed alone, so no stream is theirs."""


class Noise:
    """A fresh stream at every call, the same ones in every run of a repetition."""

    def __init__(self, repetition: int) -> None:
        self._root = np.random.SeedSequence([repetition, _APART])

    def rng(self) -> np.random.Generator:
        """For algorithms with numpy's noise."""
        return np.random.default_rng(self._root.spawn(1)[0])

    def seed(self) -> int:
        """For functions of the package."""
        return int(self._root.spawn(1)[0].generate_state(1)[0])
