"""What a generalised linear fit is told; all of it public."""

from __future__ import annotations

from dataclasses import dataclass

from dpstats.arrays import Floats
from dpstats.frame import Design, PublicMoments
from dpstats.models.glm.family import Family
from dpstats.numerics.public_rows import PublicRows


@dataclass(frozen=True, kw_only=True)
class GlmTask:
    """What a fit is told; all of it public.

    Attributes
    ----------
    method : {"anchored", "pmt", "ssp"}
    family : Family
    design : Design
    moments : PublicMoments or None
        None without public rows, and for "ssp".
    known : PublicRows or None
        Public rows as numbers, where rows were given.
    columns : (d,) array or None
        Declared sizes of the columns, for "ssp".
    ridge, eta : float
    iterations : int or None
    errors : {"hetero", "iid"}
    persons : {"all"} or None
        Scores are summed up over the rows of persons.
    alone : bool
        There are no public rows, or too few to determine all columns.
    thin : str or None
        A mark of which so few public rows tell that all of them are left out.
    """

    method: str
    family: Family
    design: Design
    moments: PublicMoments | None = None
    known: PublicRows | None = None
    columns: Floats | None = None
    ridge: float
    eta: float
    iterations: int | None = None
    errors: str = "hetero"
    persons: str | None = None
    alone: bool = False
    thin: str | None = None
