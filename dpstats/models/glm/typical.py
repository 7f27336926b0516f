"""Rows in the place of public ones, with the second moments that were released.

They say which scores a family expects, what cuts take off them, and where a step lands. Numbers are
normal, which is much the same as other laws where scores are as long as most. Levels and marks are
what they are: the information of rows of a rare level follows their own outcomes, and not those of all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from dpstats.arrays import Floats
from dpstats.frame import Design
from dpstats.models.glm.family import Family
from dpstats.numerics.matrices import Whitening
from dpstats.numerics.public_rows import PublicRows
from dpstats.score_rounds.first_look import MostlyOne
from dpstats.score_rounds.levels import Levels, levels_of

_MANY, _OF_COUNTS = 600, 150
"""Rows, where responses are ones and zeros, and where they are counts, which take time."""
_WIDEST = 100
"""Columns of which so few rows say something."""
_OF_LEVELS = 2000
"""Rows where there are levels, of which some are rare."""
_FEWEST_OF_LEVEL = 0.002
"""Share of the rows of a level, as far as a few typical ones should have it."""
_ROOTS = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0, 31.0, 37.0])
_ONE_SIDED = 0.5
"""Of the mean that values which few rows have would have, if all lay on one side."""
_FEWEST = 0.01
"""Share of the rows that is there at least."""


@dataclass(frozen=True)
class TypicalRows:
    """Typical rows; ``used`` is the share of all rows that they stand for.

    ``averages``: their responses are taken for averages over as many trials as they weigh. ``levels``:
    whether some have levels or marks.
    """

    rows: PublicRows
    used: float
    averages: bool = False
    levels: bool = False


def typical_of(
    family: Family,
    design: Design,
    moment: Floats,
    whitening: Whitening,
    weight: float,
    uneven: Mapping[int, MostlyOne],
) -> TypicalRows | None:
    """Where a constant tells their mean, and a family their responses; all of this weight.

    Nobody tells whether these are numbers of trials: they are taken to be if they are more than one.
    ``uneven``: columns that have one value in most rows, which no normal law describes.
    """
    constant = design.constant
    if constant is None or len(moment) > _WIDEST or (family.binary and family.dispersed):
        return None
    groups = levels_of(design) if family.binary or family.falls else []
    many = _OF_LEVELS if groups else _MANY if family.binary else _OF_COUNTS
    found = typical_rows(moment, whitening, constant, many)
    rows = found.rows
    if family.binary or family.falls:
        numbers = {j for j, column in enumerate(design.program) if len(column.parts) == 1}
        numbers -= {j for group in groups for j in group.columns}
        groups += [few_values(j, one, rows.x[:, j]) for j, one in uneven.items() if j in numbers]
    if groups:
        rows = replace(rows, x=with_levels(rows.x, design, groups))
    rows = replace(rows, weight=weight * rows.weight)
    return replace(found, rows=rows, averages=weight > 1, levels=bool(groups))


def typical_rows(moment: Floats, whitening: Whitening, constant: int, many: int) -> TypicalRows:
    """Normal rows with the second moments of whitened ones, and 1 in the column of the constant.

    Moments are means over all rows, and those that are missing count as zero: how many are there, the
    constant tells.
    """
    d, one = len(moment), whitening.root[:, constant]
    used = min(max(float(one @ moment @ one), _FEWEST), 1.0)
    moment = moment / used
    mean = moment @ one
    values, vectors = np.linalg.eigh(moment - np.outer(mean, mean))
    rest = _normal_points(max(many // 2, 2 * d), d) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    x = np.concatenate([mean + rest, mean - rest]) @ whitening.root
    x[:, constant] = 1.0
    nothing = np.zeros(len(x))
    return TypicalRows(PublicRows(x, nothing, nothing, np.ones(len(x))), used)


def few_values(column: int, mostly: MostlyOne, x: Floats) -> Levels:
    """The value that most rows have, and one that has the mean square of all others.

    Where these lie on both sides, by their mean, one to each side.
    """
    value, share = mostly
    away = x - value
    size, mean = math.sqrt(float((away**2).mean()) / share), float(away.mean())
    both = abs(mean) < _ONE_SIDED * share * size
    others = [-size, size] if both else [math.copysign(size, mean)]
    return Levels([column], value + np.array([0.0, *others])[:, None])


def with_levels(x: Floats, design: Design, groups: list[Levels]) -> Floats:
    """Normal rows x with a level of each factor in place of the numbers that stand for it.

    Each level is there as often as the means of its columns say, and as its regression on the levels
    of the factors before; other columns follow their regression on all of these, and products are
    those of their parts.
    """
    mean, rows = x.mean(axis=0), len(x)
    away, out = x - mean, x.copy()

    def follow(columns: list[int], before: list[int], what: Floats) -> Floats:
        """What a change of the columns before, of rows, changes in others."""
        slope = np.linalg.lstsq(away[:, before], away[:, columns], rcond=1e-8)[0]
        return np.asarray(what @ slope)

    drawn: list[int] = []
    for i, group in enumerate(groups):
        about = mean[group.columns] + follow(group.columns, drawn, out[:, drawn] - mean[drawn])
        place = ((np.arange(rows) + 0.5) * _ROOTS[i % len(_ROOTS)]) % 1.0
        up_to = np.cumsum(_shares(group, x, about), axis=1)[:, :-1]
        out[:, group.columns] = group.codes[(place[:, None] >= up_to).sum(axis=1)]
        drawn += group.columns
    products = [j for j, column in enumerate(design.program) if len(column.parts) > 1]
    others = [j for j in range(x.shape[1]) if j not in {*drawn, *products, design.constant}]
    out[:, others] += follow(others, drawn, out[:, drawn] - x[:, drawn])
    where = {
        column.parts[0]: j for j, column in enumerate(design.program) if len(column.parts) == 1
    }
    for j in products:
        column = design.program[j]
        if all(part in where for part in column.parts):
            parts = [
                out[:, where[part]] / design.program[where[part]].scale for part in column.parts
            ]
            out[:, j] = column.scale * np.prod(parts, axis=0)
    return out


def _shares(group: Levels, x: Floats, about: Floats) -> Floats:
    """How probable each level is in every row, from what its columns are about there.

    On the whole from their means and second moments, which noise moves apart.
    """
    k, c = group.codes.shape
    own = x[:, group.columns]
    pairs = np.einsum("ka,kb->kab", group.codes, group.codes).reshape(k, c * c)
    told = np.concatenate([[1.0], own.mean(axis=0), (own.T @ own / len(own)).ravel()])
    equations = np.column_stack([np.ones(k), group.codes, pairs]).T
    shares = np.linalg.lstsq(equations, told, rcond=None)[0]
    moved = np.column_stack([np.zeros(len(about)), about - own.mean(axis=0)])
    first = np.column_stack([np.ones(k), group.codes])
    kept = np.maximum(shares + moved @ np.linalg.pinv(first), _FEWEST_OF_LEVEL)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def _normal_points(k: int, d: int) -> Floats:
    """Points (k, d) that fill space as normal ones do, with second moments of 1.

    Each coordinate goes on by the root of another prime, modulo 1: no random numbers are needed.
    """
    primes = [p for p in range(2, 20 * d + 30) if all(p % q for q in range(2, p))][:d]
    points = special.ndtri((np.arange(1, k + 1)[:, None] * np.sqrt(primes) + 0.5) % 1.0)
    return np.asarray(points @ np.linalg.inv(np.linalg.cholesky(points.T @ points / k)).T)
