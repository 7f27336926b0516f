"""What a step from a public fit says, and what it does not: how much may be left of its way."""

from __future__ import annotations

from dpstats.models.linear.prepare import Prepared
from dpstats.score_rounds.cuts import Cut, gaussian_square, squares_of_cut_rows
from dpstats.score_rounds.estimate import Step

SELDOM = 0.999
"""Chance with which noise, or sampling, is shorter than what is taken to be more than that."""


def may_be_off(ready: Prepared, cut: Cut, d: int) -> float:
    """Share of its way that a step may be off by: a second one would tell.

    It goes too far by what rows have that were cut for second moments, all of it along the step; and
    falls short where scores of long rows are cut, with residuals of the usual size.
    """
    beyond = ready.taken * d
    short = squares_of_cut_rows(ready.longer, cut.unit, cut.length) / d
    return max(beyond / (1 + beyond), short)


def explained(first: Step, cut: Cut, m: int | None, n: int) -> bool:
    """Whether it is no longer than errors of m public and n private rows, and noise, explain."""
    if m is None:
        return False
    d = len(first.move)
    expected = first.noise_length**2 + d * cut.unit**2 * (1 / m + 1 / n)
    return float(first.move @ first.move) < expected * gaussian_square(d, SELDOM) / d
