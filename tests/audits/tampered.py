"""Rows that are not cut any more, while the noise stays: NOT private, for tests of the audit itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from dpstats.models.eptr_bayes import rows as class_rows
from dpstats.models.eptr_nw import rows as kernel_rows
from dpstats.models.gaussian import rows as cell_rows
from dpstats.models.linear.rows import LinearRows
from dpstats.score_rounds import rows as score_rows

Floats = np.ndarray


def _linear(rows: Any, slab: Any, radius: float) -> None:
    slab.z = np.rint(np.ldexp(slab.z, slab.exponent) / (radius / rows.grid.steps))
    slab.norm = np.linalg.norm(slab.z, axis=0)
    slab.factor = np.ones_like(slab.norm)
    slab.cut = True


def _family(vectors: Any, bound: float, steps: int) -> Any:
    factor = vectors.factor
    return np.rint(vectors.z * (factor / (bound / steps))), np.zeros(len(factor), dtype=bool)


def _to_grid(z: Floats, exponent: Floats, length: Floats, radius: float, steps: int) -> Floats:
    z[:] = np.rint(np.ldexp(z, exponent) / (radius / steps))
    return np.zeros(z.shape[1], dtype=bool)


class _Unclipped:
    """numpy without `clip`."""

    def __getattr__(self, name: str) -> Any:
        return (lambda values, *ends: values) if name == "clip" else getattr(np, name)


PATCHES: dict[str, tuple[Any, str, Any]] = {
    "linear": (LinearRows, "_cut_slab", _linear),
    "family": (score_rows, "rounded", _family),
    "class": (class_rows, "cut_to_grid", _to_grid),
    "cell": (cell_rows, "cut_to_grid", _to_grid),
    "kernel": (kernel_rows, "np", _Unclipped()),
}


@contextmanager
def without_cut(rows: str) -> Iterator[None]:
    """Rows of one kind keep their lengths, or responses their size."""
    with mock.patch.object(*PATCHES[rows]):
        yield
