"""Whether public rows guide a fit: if they are like private ones, and tell enough of each column."""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg

from dpstats.arguments import listed
from dpstats.arrays import Floats
from dpstats.column_search.search import ColumnScale
from dpstats.frame import Design, PublicMoments
from dpstats.numerics.matrices import Curvature, quadratic_forms
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.estimate import lie_in
from dpstats.score_rounds.least_budget import least_budget, suffices
from dpstats.score_rounds.levels import indicators, of_few

_TELLING, _SAME = 8, 1e-10
"""Public rows that tell a scale, and the relative variance from which a column differs in them."""
_AMPLE = 2.5
"""Times `least_budget`, from which a fit without public rows is about as good as one with others."""
_PLENTY = 4.0
"""Times `least_budget`, from which few public rows of a level are worth less than none."""
_FEW = 8
"""Public rows for a column, fewer than which hardly tell its coordinates."""
_SURELY, _HALF = 3.0, 0.5
_SEEN, _SEEN_BY_INFORMATION, _LITTLE = 4.0, 2.5, 0.4
"""Of what public rows have of a column: noise standard deviations and a share, below which these are no
guide; and the same below which nothing can be made of the column."""
_BY_CHANCE = 2.5
"""Noise standard deviations below what public rows have, which are no chance."""


def elsewhere(
    curvature: Curvature,
    back: Floats,
    design: Design,
    n: int,
    mu: float,
    m: int | None,
    *,
    few: bool,
) -> bool:
    """Whether private rows hardly vary in a direction in which m public ones do: these are no guide.

    Levels and marks, or what ``few`` public rows decide, may be rarer by chance, and where the total
    hardly suffices for a fit without public rows these are kept: then no doubt may be left. ``back``
    whitens the rows.
    """
    narrowest = curvature.narrowest
    basis = linalg.orth(np.linalg.inv(back) @ indicators(design))
    levels = float(((basis.T @ narrowest) ** 2).sum()) > _HALF
    levels |= bool(lie_in(back, narrowest[:, None], of_few(design))[0])
    scarce = n * mu < _AMPLE * least_budget(len(design.terms))
    if not few:
        share, sd = shares_of_numbers(curvature, back, design)
        if bool((share + _SURELY * sd < _HALF).any()):
            return True
    return curvature.narrow(m, surely=levels or few or scarce)


def shares_of_numbers(curvature: Curvature, back: Floats, design: Design) -> tuple[Floats, Floats]:
    """What private rows have of each column of numbers, beside a constant, and its noise.

    Over what rows have that ``back`` whitens, as much of them as of private ones: about 1, but where
    private rows have other units or are of another population. NaN for levels and marks, which may be
    rarer by chance, and for the constant.
    """
    root, few = np.linalg.inv(back), of_few(design)
    level = float(np.median(np.linalg.eigvalsh(curvature.used)))  # one direction may be far out
    own, usual = root, (root**2).sum(axis=0)
    if design.constant is not None:  # less the regression on it
        few[design.constant] = True
        one = root[:, design.constant]
        seen = curvature.released @ one
        own = root - np.outer(one, seen @ root / max(float(one @ seen), 1e-300))
        usual = usual - (one @ root) ** 2 / float(one @ one)
    usual = np.where(few, math.nan, level * np.maximum(usual, 1e-300))
    share = quadratic_forms(own.T, curvature.released) / usual
    return share, curvature.released_sd * (own**2).sum(axis=0) / usual


def hardly_seen(
    curvature: Curvature, back: Floats, design: Design, *, uneven: bool = False
) -> tuple[str, ...]:
    """Columns of numbers of which noise hides all that private rows have, while public rows have more.

    The public rows then say how much there is, and what they say is wrong: a column in other units is
    taken to vary by thousands of times as much as it does, and its coefficient to be known as well.
    ``uneven``: information may be uneven by itself, as that of rare outcomes is.
    """
    level = float(np.median(np.linalg.eigvalsh(curvature.used)))
    if _SURELY * curvature.released_sd > level:
        return ()  # noise hides all alike
    share, sd = shares_of_numbers(curvature, back, design)
    hidden = share < np.minimum((_SEEN_BY_INFORMATION if uneven else _SEEN) * sd, _LITTLE)
    # the noise where both are alike
    hidden &= share < 1 - _BY_CHANCE * curvature.released_sd / level
    for columns in _of_one_function(design):  # few rows are where one of a spline's is not zero
        hidden[columns] = hidden[columns].all()
    return tuple(term for term, one in zip(design.terms, hidden, strict=True) if one)


def _of_one_function(design: Design) -> list[list[int]]:
    """Columns of the design that are those of one spline, or of its products with one other factor."""
    found: dict[tuple[str, ...], list[int]] = {}
    for j, column in enumerate(design.program):
        found.setdefault(tuple(text for text, *_ in column.parts), []).append(j)
    return [columns for columns in found.values() if len(columns) > 1]


def better_alone(public: PublicMoments, n: int, mu: float) -> bool:
    """Whether so few public rows tell less of generalised linear fits than private rows do.

    With fewer than eight for a column a first step from their coordinates may go astray. Private
    rows tell them well with a budget for which `check_budget` would not refuse them.
    """
    d = len(public.terms)
    return public.m is not None and public.m < _FEW * d and suffices(n, d, mu)


def too_thin(public: PublicMoments, n: int, mu: float) -> str | None:
    """A mark for which a generalised linear fit does without its public rows; None: there is none.

    Private rows must tell far more than all public ones, and have a budget that is ample without these.
    """
    plenty = n * mu > max(_PLENTY * least_budget(len(public.terms)), _FEW * (public.m or 0))
    return thin(public) if plenty else None


def thin(public: PublicMoments) -> str | None:
    """A mark with columns of its own, as a slope, of which fewer public rows than eight for each tell.

    Along these the few rows may hardly differ, so that the private rows of the mark are far out.
    """
    for mark, own, rows in public.columns_of_marks():
        if len(own) > 1 and rows < _FEW * len(own):
            return public.terms[mark]
    return None


def public_scales(public: PublicMoments) -> dict[int, ColumnScale]:
    """Locations and scales of the columns that differ in enough public rows.

    Of a mark with columns of its own, as a slope, as many for each: few may hardly differ there.
    """
    constant, square = public.design.constant, np.diag(public.gram)
    if public.m is None or public.m < _TELLING:
        return {}
    mean = np.zeros(len(square)) if constant is None else public.gram[constant]
    rows, least = np.full(len(square), float(public.m)), np.zeros(len(square))
    for _, own, seen in public.columns_of_marks():
        rows[own] = np.minimum(rows[own], seen)
        least[own] = np.maximum(least[own], _TELLING * len(own) if len(own) > 1 else 0)
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    return {
        j: ColumnScale(float(mean[j]), float(spread[j]))
        for j in range(len(square))
        if spread[j] ** 2 > _SAME * square[j] and j != constant and rows[j] >= least[j]
    }


def few_public_line(public: PublicMoments) -> Diagnostic:
    """A line which says that public rows are few, and coordinates were found in private ones."""
    d = len(public.terms)
    few = f"few for {d} columns: what {_FEW * d} would tell was found in private rows"
    return Diagnostic("public rows", public.m, None, few)


def undetermined_note(public: PublicMoments) -> tuple[str, ...]:
    """A note that public rows do not determine all columns, with those whose size they do not show."""
    told = public_scales(public)
    lacking = [name for j, name in enumerate(public.terms) if j not in told and name != "Intercept"]
    sizes = f" They do not show the size of {listed(lacking)}." if lacking else ""
    return (
        f"The {public.m} public rows do not determine all {len(public.terms)} columns.{sizes} "
        "What they leave open was looked for in the private rows, as without public rows.",
    )
