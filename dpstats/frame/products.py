"""Which columns of a design are products of others, and what is known of a column without its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpstats.arrays import Floats
from dpstats.frame.design import Design
from dpstats.frame.formula.grammar import TRUTHS


@dataclass(frozen=True)
class DesignProducts:
    """How the columns of a design are made of each other.

    Attributes
    ----------
    known : dict
        Columns of which the formula says what size they have: of levels and of comparisons.
    factors : tuple
        For each column those that it is a product of; itself alone where it is none, or where one of
        the products of some of them is no column.
    shares : dict
        For a set of columns the column that their product is, and the factor between both.
    """

    known: dict[int, float]
    factors: tuple[tuple[int, ...], ...]
    shares: dict[tuple[int, ...], tuple[int, float]]

    def searched(self) -> tuple[int, ...]:
        """Columns whose location and scale are to be found."""
        return tuple(
            j for j, made in enumerate(self.factors) if made == (j,) and j not in self.known
        )

    def standardised(self, locations: Floats, scales: Floats) -> Floats:
        """The matrix B for which columns x'B are centred and scaled, and products of such columns.

        Locations count where there is a constant to take them up.
        """
        d = len(self.factors)
        back = np.zeros((d, d))
        for j, made in enumerate(self.factors):
            size = float(np.prod([scales[k] for k in made]))
            for kept in range(len(made) + 1):
                for inner in combinations(made, kept):
                    others = [-locations[k] for k in made if k not in inner]
                    if tuple(inner) in self.shares:
                        at, factor = self.shares[tuple(inner)]
                        back[at, j] += float(np.prod(others)) * factor / size
        return back


def design_products(design: Design, *, differences: bool = False) -> DesignProducts:
    """See `DesignProducts`; of ``differences`` of rows, in which columns are no products of others."""
    alone = {c.parts[0]: j for j, c in enumerate(design.program) if len(c.parts) == 1}
    by_parts = {frozenset(c.parts): j for j, c in enumerate(design.program)}
    known = {j: size for part, j in alone.items() if (size := _size(design, *part)) is not None}
    factors: list[tuple[int, ...]] = []
    shares: dict[tuple[int, ...], tuple[int, float]] = {}
    for j, column in enumerate(design.program):
        parts = column.parts
        if not parts:
            factors.append(())
            shares[()] = j, 1.0 / column.scale
            continue
        whole = set(parts) <= set(alone) and not differences
        made = tuple(sorted(alone[part] for part in parts)) if whole else ()
        if len(made) < 2 or len(set(made)) < len(made) or not _complete(parts, by_parts):
            factors.append((j,))
            shares[(j,)] = j, 1.0
            sizes = [1.0 if _mark(design, part[0]) else _size(design, *part) for part in parts]
            if len(parts) > 1 and None not in sizes:  # a level of those with a mark
                known[j] = math.prod(size for size in sizes if size is not None)
            continue
        of_parts = float(np.prod([design.program[k].scale for k in made]))
        factors.append(made)
        shares[made] = j, of_parts / column.scale
    return DesignProducts(known, tuple(factors), shares)


def _size(design: Design, text: str, field: str) -> float | None:
    """What the formula says of the size of a column; None: nothing."""
    factor = design.factors[text]
    if factor.fields.coding is not None:
        return float(np.nanmax(np.abs(factor.fields.coding[field]))) or 1.0
    return 1.0 if factor.expr.op in (*TRUTHS, "cut") else None


def _mark(design: Design, text: str) -> bool:
    """Whether a factor is a column of zeros and ones."""
    expr = design.factors[text].expr
    if expr.op != "column":
        return False
    spec = design.columns[expr.value]
    return spec.mark or spec.kind == "bool"


def _complete(
    parts: Sequence[tuple[str, str]], by_parts: dict[frozenset[tuple[str, str]], int]
) -> bool:
    return all(
        frozenset(inner) in by_parts
        for kept in range(len(parts))
        for inner in combinations(parts, kept)
    )
