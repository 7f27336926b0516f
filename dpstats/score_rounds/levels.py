"""Levels of factors, and marks, as the columns of a design have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.frame import Design, PublicMoments


@dataclass(frozen=True)
class Levels:
    """Columns of a factor or of a mark by itself, and what they are (levels, columns) for each level."""

    columns: list[int]
    codes: Floats


def levels_of(design: Design) -> list[Levels]:
    """Factors and marks whose own columns the design has, in the order of the formula.

    Without levels that it leaves out, whose rows are not used.
    """
    found: dict[str, tuple[list[int], list[Floats]]] = {}
    for j, column in enumerate(design.program):
        if len(column.parts) != 1:
            continue
        text, part = column.parts[0]
        coding = design.factors[text].fields.coding
        if coding is not None:
            codes = column.scale * np.asarray(coding[part], dtype=np.float64)
        elif text in design.columns and design.columns[text].mark:
            codes = column.scale * np.array([0.0, 1.0])
        else:
            continue
        at, every = found.setdefault(text, ([], []))
        at.append(j)
        every.append(codes)
    groups = [Levels(at, np.column_stack(every)) for at, every in found.values()]
    return [Levels(g.columns, g.codes[np.isfinite(g.codes).all(axis=1)]) for g in groups]


def first_hidden(design: Design, hidden: NDArray[np.bool_]) -> bool:
    """Whether all levels of a factor are ``hidden``: then its first one is, and the constant with it."""
    groups = [group.columns for group in levels_of(design)]
    return any(len(columns) > 1 and bool(hidden[columns].all()) for columns in groups)


def indicators(design: Design) -> Floats:
    """Combinations of columns that are one in rows of a level or a mark, and zero in all others.

    A column each; also of levels that no column of the design stands for, as the first of a factor, and
    of those of products of factors that have a column.

    Examples
    --------
    >>> from dpstats import public_moments
    >>> import pandas as pd
    >>> table = pd.DataFrame({"y": range(6), "g": list("abcabc")})
    >>> indicators(public_moments("y ~ g", table).design).tolist()
    [[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]]
    """
    d, found = len(design.program), []
    for group in levels_of(design):
        at, codes = group.columns, group.codes
        if design.constant is not None:
            at, codes = [design.constant, *at], np.column_stack([np.ones(len(codes)), codes])
        if len(at) == len(codes) == np.linalg.matrix_rank(codes):
            level = np.zeros((d, len(codes)))
            level[at] = np.linalg.inv(codes)
            found.append(level)
        elif np.isin(group.codes, (0.0, 1.0)).all():
            found.append(np.eye(d)[:, group.columns])
    return np.column_stack([np.eye(d)[:, _of_products(design)], *found])


def _of_products(design: Design) -> list[int]:
    """Columns of products of levels and marks, one where all of these are."""
    few = {design.program[j].parts[0][0] for group in levels_of(design) for j in group.columns}
    parts = [[text for text, _ in column.parts] for column in design.program]
    return [j for j, own in enumerate(parts) if len(own) > 1 and few.issuperset(own)]


def shares_of_levels(public: PublicMoments) -> tuple[Floats, Floats]:
    """`indicators`, and which share of the public rows has each; none without a constant."""
    levels, constant = indicators(public.design), public.design.constant
    if constant is None:
        return levels[:, :0], np.empty(0)
    shares = (levels * (public.gram @ levels)).sum(axis=0) / public.gram[constant, constant]
    return levels, np.asarray(shares)


def rarest(public: PublicMoments) -> float:
    """The least share of public rows that has a level or a mark, the first of a factor among them."""
    shares = [*public.shares_of_ones().values(), *shares_of_levels(public)[1]]
    return float(min(shares, default=1.0))


def of_few(design: Design) -> NDArray[np.bool_]:
    """Which columns are those of few rows: of levels, of marks, and of what these multiply.

    A mark is a number that is known to be zero or one.
    """
    few = _levels_and_marks(design)
    found = [any(text in few for text, *_ in c.parts) for c in design.program]
    return np.array(found, dtype=np.bool_)


def effects_of_few(design: Design) -> NDArray[np.bool_]:
    """Which of these multiply nothing else: their coefficients do not depend on the unit of a column."""
    few = _levels_and_marks(design)
    found = [bool(c.parts) and all(text in few for text, *_ in c.parts) for c in design.program]
    return np.array(found, dtype=np.bool_)


def compared_with(design: Design, left_out: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Columns of levels that are compared with others of their factor which are ``left_out``.

    Their coefficients are differences from the reference and from these together, as if there were none.
    """
    coded = _coded(design)
    of = [coded.intersection(text for text, *_ in column.parts) for column in design.program]
    lost = set().union(*(of[j] for j in np.flatnonzero(left_out)))
    return np.array([bool(one & lost) for one in of], dtype=np.bool_) & ~left_out


def _coded(design: Design) -> set[str]:
    """Factors that have levels."""
    return {text for text, factor in design.factors.items() if factor.fields.coding is not None}


def _levels_and_marks(design: Design) -> set[str]:
    return _coded(design) | {name for name, spec in design.columns.items() if spec.mark}
