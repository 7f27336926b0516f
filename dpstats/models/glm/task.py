"""What a generalised linear fit is told; all of it public."""

from __future__ import annotations

from dataclasses import dataclass

from dpstats.arrays import Floats
from dpstats.models.glm.family import Family
from dpstats.numerics.public_rows import PublicRows
from dpstats.score_rounds.rounds import RoundsTask


@dataclass(frozen=True, kw_only=True)
class GlmTask(RoundsTask):
    """What a fit is told; all of it public.

    Attributes
    ----------
    method : {"anchored", "pmt", "ssp"}
    family : Family
    known : PublicRows or None
        Public rows as numbers, where rows were given.
    columns : (d,) array or None
        Declared sizes of the columns, for "ssp".
    ridge, eta : float
    iterations : int or None
    thin : str or None
        A mark of which so few public rows tell that all of them are left out.
    """

    method: str
    family: Family
    known: PublicRows | None = None
    columns: Floats | None = None
    ridge: float
    eta: float
    iterations: int | None = None
    thin: str | None = None
