"""How the rows of a linear fit are seen: whitened by public or released moments, less a public fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.arrays import Floats
from dpstats.frame import PublicMoments
from dpstats.mechanism.lattice import ExactMatrix
from dpstats.mechanism.passes import RowSource
from dpstats.numerics.matrices import Whitening, equilibrated_whitening
from dpstats.score_rounds.coarse import coarse_map
from dpstats.score_rounds.estimate import moments_least_squares


@dataclass(frozen=True)
class View:
    """How rows are seen: whitened, and less the fit of public coefficients.

    ``coarse`` are both as rows of large tables see them, ``residual`` is the public size of residuals.
    """

    whitening: Whitening
    shift: Floats
    residual: float
    coarse: ExactMatrix | None = None

    @classmethod
    def of(cls, moments: PublicMoments, rows: RowSource, start: Floats | None = None) -> View:
        """From public moments and the size of the table; ``start`` in place of the public fit."""
        back = equilibrated_whitening(moments.gram).back
        shift: Floats = np.zeros(len(moments.terms))
        residual = math.inf
        if moments.cross is not None:
            shift, rest = moments_least_squares(
                moments.gram, moments.cross, moments.yy or 0.0, None, back
            )
            residual = math.sqrt(rest or 0.0)
        shift = shift if start is None else start
        whitening = equilibrated_whitening(moments.to_whiten_with())
        back, shift, coarse = coarse_map(rows, whitening.back, shift, residual)
        if coarse is None:
            return cls(whitening, shift, residual)
        return cls(Whitening.of(back), shift, residual, coarse)

    @property
    def map(self) -> tuple[Floats, Floats]:
        """What a session applies to every row."""
        return self.whitening.back, self.shift

    def how(self, persons: str | None, limited: bool) -> dict[str, Any]:
        """The rest of what a session of a linear model is told."""
        return {"coarse": self.coarse, "persons": persons, "limited": limited}

    def for_persons(self, rows: float) -> View:
        """Persons with so many rows as a row was seen: sums over them are as large."""
        root = math.sqrt(rows)
        return View(
            Whitening(self.whitening.back / root, self.whitening.root * root),
            self.shift,
            self.residual,
        )
