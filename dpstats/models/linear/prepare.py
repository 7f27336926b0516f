"""What is released before the rounds of a linear fit: second moments, and the plan that follows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.frame import Design, FarScores, PublicMoments
from dpstats.models.linear.estimate import condition_lines
from dpstats.models.linear.planning import AGAIN, LEAST, LinearPlan, plan_alone, plan_linear
from dpstats.models.linear.view import View
from dpstats.numerics.matrices import Curvature, Whitening, shrink_second_moment
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.cuts import cut_of_moments
from dpstats.score_rounds.first_look import FirstLook
from dpstats.score_rounds.least_budget import suffices
from dpstats.score_rounds.levels import compared_with, first_hidden, shares_of_levels
from dpstats.score_rounds.public_guide import hardly_seen
from dpstats.score_rounds.releases import PersonCounts, ScoreSession
from dpstats.score_rounds.rounds import PERSONS, Coordinates, rows_of_each, window_about
from dpstats.score_rounds.tails import Tail
from dpstats.score_rounds.whitening import (
    RowLengths,
    far_off,
    square_of_others,
    whitened_lengths,
    whitened_moments,
)

_FEW_PUBLIC, _RARE = 16, 0.05
"""Public rows of a level that tell its share well enough, and a share of them that is not rare."""
_NEXT_TO_NOTHING, _ABOUT = 0.01, 0.1
"""Parts of a variance, and of a mean square, that nobody would notice."""
SHORTENED = 0.35
"""Share of the trace of the second moments that a cut takes off, from which rows are whitened once more:
steps are too long by as much, and beyond a half they lead nowhere."""


@dataclass(frozen=True)
class Prepared:
    """What is known before the first round: how rows are seen, their second moments, the plan.

    Attributes
    ----------
    design : Design
    shift : (d,) array
        Coefficients of the linear predictor that rows carry.
    at : Coordinates
    curvature : Curvature
        In coordinates of the whitening.
    plan : LinearPlan
    expected : float or None
        Length of scores at the first anchor.
    longer : Tail
        How many rows are longer than a length, where their mean square is d.
    persons : PersonCounts or None
    conditions, planned_error : tuples of Diagnostic
        Condition before and after whitening, and what the plan expected; by public rows.
    marks : array or None
        Shares of public rows that have ones in a column of zeros and ones, where responses are that too.
    few_differ : bool or None
        Whether few public rows make the mean square of their residuals; None: not known.
    far : FarScores or None
        Where the long scores of public rows point, of which there are ``m``.
    radius : float or None
        Length to which rows were cut for these moments.
    taken : float
        Share of their trace that the cut has taken off.
    look : FirstLook or None
        The first look at private rows; None where the first anchor is a fit, of public rows.
    """

    design: Design
    shift: Floats
    at: Coordinates
    curvature: Curvature
    plan: LinearPlan
    expected: float | None
    longer: Tail
    persons: PersonCounts | None
    conditions: tuple[Diagnostic, ...] = ()
    planned_error: tuple[Diagnostic, ...] = ()
    marks: Floats | None = None
    radius: float | None = None
    few_differ: bool | None = None
    taken: float = 0.0
    far: FarScores | None = None
    m: int | None = None
    look: FirstLook | None = None

    @property
    def arrived(self) -> bool:
        """Whether the first anchor is a fit, of public rows."""
        return self.look is None

    @property
    def turned(self) -> bool:
        """Whether rounds compute where the released second moments are the identity."""
        return not np.array_equal(self.at.turn, np.eye(len(self.at.turn)))

    @property
    def enough(self) -> bool:
        """Whether the first look at private rows found enough of them."""
        return self.look is None or self.look.enough

    @cached_property
    def hidden(self) -> NDArray[np.bool_] | None:
        """Coefficients of which that look saw too little for an error."""
        if self.look is None:
            return None
        hidden, constant = self.look.rows.hidden.copy(), self.design.constant
        if constant is not None:
            hidden[constant] |= first_hidden(self.design, hidden)
        return hidden

    @cached_property
    def hardly_seen(self) -> tuple[str, ...]:
        """Columns of numbers that public rows have far more of than is seen of private ones."""
        if not self.arrived:
            return ()
        return hardly_seen(self.curvature, self.at.whitening.back, self.design)

    @property
    def nothing(self) -> NDArray[np.bool_] | None:
        """Columns in which hardly any row differs."""
        return None if self.look is None else self.look.rows.nothing

    @cached_property
    def without_errors(self) -> NDArray[np.bool_]:
        """Coefficients that have none: those that were not seen, and levels compared with these."""
        unseen = np.zeros(len(self.design.terms), dtype=np.bool_)
        if self.hidden is not None:
            unseen |= self.hidden
        if self.nothing is not None:
            unseen |= compared_with(self.design, self.nothing)
        return unseen

    @property
    def lost(self) -> float:
        """Share of the information that the first look has cut off long rows."""
        return 0.0 if self.look is None else self.look.rows.lost

    @property
    def some_hidden(self) -> bool:
        """Whether there are directions that were not seen; absent columns are none."""
        if self.hidden is None:
            return False
        hidden = self.hidden if self.nothing is None else self.hidden & ~self.nothing
        return bool(hidden.any())


def planned(
    session: ScoreSession, moments: PublicMoments, errors: str, instruments: bool = False
) -> LinearPlan:
    """The plan, from public numbers; refused where the total is too small for its smallest share."""
    n, d, mu = session.n, len(moments.terms), session.total.mu
    known = moments.cross is not None
    session.require(LEAST["anchored"])
    return plan_linear(n, d, mu, moments.m, known, errors, instruments=instruments)


def lengths_by_public(
    session: ScoreSession, plan: LinearPlan, moments: PublicMoments, residual: float
) -> RowLengths | None:
    """How long rows are as public ones have whitened them; None where these are no guide to them.

    Few public rows make others longer by themselves. Scores are counted too, with a public ``residual``,
    where rows may stay as they are seen.
    """
    (share, gram), d, m = plan.stages[0], len(moments.terms), moments.m
    scores = window_about(_public_scale(moments, residual)) if plan.spares else None
    lengths = whitened_lengths(session, share, np.zeros(d), scores)
    n, mu, middle = session.n, session.total.mu, lengths.counts.quantile(0.5)
    away = far_off(middle, square_of_others(d, m), n, mu * math.sqrt(gram))
    return None if away and suffices(n, d, mu) else lengths


def _marks(moments: PublicMoments) -> Floats | None:
    """Shares of ones, where responses are zeros and ones too."""
    if not moments.zeros_and_ones:
        return None
    return np.array([*moments.shares_of_ones().values()])


def prepared(
    session: ScoreSession,
    moments: PublicMoments,
    seen: View,
    plan: LinearPlan,
    first: RowLengths | None = None,
    *,
    again: bool = True,
    stays: bool = False,
) -> Prepared:
    """Release the second moments of the rows, and turn them so that they are the identity.

    ``first``: how long rows are, where that was released; ``again``: whether the moments are released
    once more where a cut took off much of them; ``stays``: whether rows may stay as they are seen, and
    are not read again, where noise would hardly be less (`_even`). Where the moments tell a first stage
    too, their share follows from how long rows are.
    """
    n, d = session.n, len(moments.terms)
    expected = _public_scale(moments, seen.residual)  # as rows are seen, not persons
    persons = None
    if session.by_person:
        persons = session.rows_of_persons(PERSONS)
        seen = seen.for_persons(rows_of_each(persons, n))
        session.whiten(seen.whitening.back, seen.shift)
    taken = 1.0
    for k, (lengths, gram) in enumerate((*plan.stages, AGAIN) if again else plan.stages):
        if k >= max(len(plan.stages), 1) and (k > 1 or taken <= SHORTENED):
            break
        seen_lengths = (
            first if k == 0 and first else whitened_lengths(session, lengths, np.zeros(d))
        )
        if plan.instruments and len(plan.stages) == 1 and k == 0:
            gram = _share_of_moments(session, moments, plan, seen_lengths)
        curvature, radius, taken, longer = _curvature(
            session, seen.whitening.root, moments, seen_lengths, gram
        )
        at = Coordinates.plain(seen.whitening)
        if not (stays and plan.spares and _even(curvature, plan)):
            at = turned(seen.whitening, curvature)
            back, shift = session.whiten(at.back, seen.shift, seen.residual)
            at = at.with_back(back)
            seen = replace(seen, whitening=Whitening.of(back), shift=shift)
    return Prepared(
        design=moments.design,
        shift=seen.shift,
        at=at,
        curvature=curvature,
        plan=plan,
        expected=expected,
        longer=longer,
        persons=persons,
        conditions=condition_lines(moments.gram, curvature.released),
        planned_error=_planned_error(plan, moments),
        marks=None if session.by_person else _marks(moments),
        radius=radius,
        few_differ=moments.few.differ,
        taken=taken,
        far=None if session.by_person else moments.few.far,
        m=moments.m,
    )


def prepared_alone(
    session: ScoreSession,
    design: Design,
    look: FirstLook,
    shift: Floats,
    errors: str,
    *,
    turns: bool = False,
) -> Prepared:
    """The rows as a first look has whitened them, and the plan of rounds from there.

    ``turns``: whether they are turned so that their second moments are the identity.
    """
    d, curvature = len(shift), look.rows.curvature
    at = turned(look.rows.whitening, curvature) if turns else None
    back, shift = session.whiten((at or look.rows.whitening).back, shift, look.scale)
    at = Coordinates.plain(Whitening.of(back)) if at is None else at.with_back(back)
    session.weigh(look.rows.radius)
    return Prepared(
        design=design,
        shift=shift,
        at=at,
        curvature=curvature,
        plan=plan_alone(session.n, d, session.total.mu, curvature.released_sd, errors),
        expected=math.sqrt(d) * look.scale,
        persons=look.persons,
        radius=look.rows.radius,
        look=look,
        longer=look.rows.lengths.standard(curvature, session.n),
    )


def _share_of_moments(
    session: ScoreSession, moments: PublicMoments, plan: LinearPlan, lengths: RowLengths
) -> float:
    """The share of the second moments that suits rows of these lengths, as those of rare levels."""
    n, d, mu, (_, gram) = session.n, len(moments.terms), session.total.mu, plan.stages[0]
    square = cut_of_moments(lengths.tail, n, d, mu * math.sqrt(gram), steps=True) ** 2
    known = moments.cross is not None
    how = plan_linear(n, d, mu, moments.m, known, square=square, instruments=True)
    return how.stages[0][1]


def _curvature(
    session: ScoreSession, root: Floats, moments: PublicMoments, lengths: RowLengths, share: float
) -> tuple[Curvature, float, float, Tail]:
    """Second moments of the rows, as they are whitened now, and where rows are cut for them.

    Those of rare levels are told by the release alone: public rows, of which few have one, know little
    of their share. ``root``: of the whitening.

    The third number is the share of their trace that the cut takes off, the fourth result tells how
    many rows are longer than a length.
    """
    tail, d = lengths.tail, len(root)
    radius = cut_of_moments(tail, session.n, d, session.total.mu * math.sqrt(share), steps=True)
    found = whitened_moments(session, share, d, radius)
    used = shrink_second_moment(found.value, found.noise_sd, known=not moments.ridged)
    taken = float(np.interp(radius, tail.lengths, tail.excess(2)))
    if not session.by_person:  # whose sums are not one row of a level or none
        used = used.held(*_rare_levels(moments, root, radius), taken)
    part = taken / (taken + float(np.trace(used.used)))
    return used, radius, part, lengths.standard(used, session.n)


def _rare_levels(moments: PublicMoments, root: Floats, radius: float) -> tuple[Floats, Floats]:
    """Directions of levels that few public rows have, and how many times squares of rows are cut.

    Rows of a level are 1/l long along it, l the root of its share among public rows, and as long as
    others across.
    """
    levels, shares = shares_of_levels(moments)
    few = np.zeros(len(shares), dtype=np.bool_)
    if moments.m is not None:
        few = (shares * moments.m < _FEW_PUBLIC) & (shares < _RARE)
    along = (root @ levels[:, few]).T
    size = np.maximum(np.linalg.norm(along, axis=1), 1e-300)
    squares = 1 / size**2 + len(root) - 1
    return along / size[:, None], np.maximum(squares / radius**2, 1.0)


def _even(curvature: Curvature, plan: LinearPlan) -> bool:
    """Whether noise of scores would hardly be less where the second moments are the identity.

    The variance of a coefficient along an eigenvector of these, of eigenvalue l, has for every part
    that is sampling one of noise, as planned there, times the mean of all eigenvalues over l. That mean
    is about 1, as cuts of rows and of residuals take it to be.
    """
    values = np.linalg.eigvalsh(curvature.used)
    mean, noise = float(values.mean()), plan.predicted_ratio**2 - 1
    return abs(mean - 1) < _ABOUT and (mean / values[0] - 1) * noise < _NEXT_TO_NOTHING


def turned(whitening: Whitening, curvature: Curvature) -> Coordinates:
    """Coordinates in which the released curvature is the identity."""
    values, vectors = np.linalg.eigh(curvature.used)
    return Coordinates(whitening, (vectors / np.sqrt(values)) @ vectors.T)


def _planned_error(plan: LinearPlan, moments: PublicMoments) -> tuple[Diagnostic, ...]:
    """What the plan expected; without the number of public rows it expects the worst of them."""
    if moments.m is None:
        return ()
    note = "for normal errors, over least squares without privacy; longer tails cost more"
    return (Diagnostic("planned error", plan.predicted_ratio, None, note),)


def _public_scale(moments: PublicMoments, residual: float) -> float | None:
    """Expected length of a score at the public anchor: sqrt(d) public residual sd; None unknown."""
    if moments.yy is None or not moments.yy > 0:
        return None
    d, constant = len(moments.terms), moments.design.constant
    if moments.cross is None:
        return math.sqrt(d * moments.yy)
    about = 0.0 if constant is None else float(moments.cross[constant]) ** 2
    least = max(1e-6 * (moments.yy - about), 1e-13 * moments.yy)  # the digits that floats have
    return math.sqrt(d * max(residual**2, least))
