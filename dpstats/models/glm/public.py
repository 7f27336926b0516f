"""Where a generalised linear fit begins: the public fit, the null model, or a released whitening."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.frame import Design, PublicMoments
from dpstats.mechanism.session import clamp_to_safe_range
from dpstats.models.glm.estimate import (
    Expected,
    StepRange,
    expected_scores,
    information_whitening,
    moments_fit,
    public_fit,
)
from dpstats.models.glm.family import Family
from dpstats.models.glm.lengths import RowsSeen, long_tailed
from dpstats.models.glm.typical import TypicalRows, typical_of
from dpstats.numerics.histogram import LogHistogram
from dpstats.numerics.matrices import Whitening, equilibrated_whitening, floored
from dpstats.numerics.public_rows import PublicRows
from dpstats.score_rounds.first_look import FirstLook
from dpstats.score_rounds.releases import PersonCounts, ScoreSession
from dpstats.score_rounds.rounds import rows_of_each
from dpstats.score_rounds.tails import Tail, tail_of

_FEW = 8.0
"""Rows, up to which there may be far fewer like them among private ones by chance."""
NULL_SHARE = 0.03
"""Share of the histogram of responses that tells the null model."""
_NOTHING = 1e-6
"""Second moment of a column in which no row differs."""


@dataclass(frozen=True)
class StartingPoint:
    """Where a fit begins, and what is known of the rows there; everything public or released.

    Attributes
    ----------
    whitening : Whitening
    coef : (d,) array
        First anchor, in the user's coordinates.
    reach : StepRange
    level : float
        Expected mean eigenvalue of the whitened information.
    rows : PublicRows or None
    information, score : float or None
        Expected 90 % quantile of the lengths of information rows and of scores.
    spent : float
        Share of the total spent on the start.
    known : bool
        Whether the public geometry tells the size of every direction; see `Curvature`.
    leverage : float or None
        Length from which rows weigh less in all rounds but the last.
    longer : Tail or None
        How many private rows are longer than a length, where responses are ones and zeros and no
        public row tells, or public ones do not reach as far.
    lengths : Tail or None
        The same for all that is known of rows, from public and from private ones together.
    hidden : (d,) array or None
        Coefficients of which the first look at private rows saw too little for an error.
    nothing : (d,) array or None
        Columns that no row differs in.
    enough : bool
        Whether a first look at private rows found enough of them.
    typical : TypicalRows or None
        Where there are no public ones, normal rows with the released second moments, for what is
        expected.
    persons : PersonCounts or None
        How many rows persons have, where the first look at private rows has told it.
    """

    whitening: Whitening
    coef: Floats
    reach: StepRange
    level: float
    rows: PublicRows | None = None
    information: float | None = None
    score: float | None = None
    spent: float = 0.0
    known: bool = True
    leverage: float | None = None
    longer: Tail | None = None
    lengths: Tail | None = None
    hidden: NDArray[np.bool_] | None = None
    nothing: NDArray[np.bool_] | None = None
    enough: bool = True
    typical: TypicalRows | None = None
    persons: PersonCounts | None = None

    def expected(self, family: Family, coef: Floats) -> Expected | None:
        """Scores that rows have under the model at some coefficients."""
        if self.shares(family):
            return None
        if self.rows is not None:
            trials = self.rows.weight if self.rows.averages() else None
            return expected_scores(family, self.rows, self.whitening, coef, trials)
        if self.typical is None:
            return None
        typical = self.typical
        trials = typical.rows.weight if typical.averages else None
        return expected_scores(family, typical.rows, self.whitening, coef, trials, typical.used)

    def shares(self, family: Family) -> bool:
        """Whether public responses are shares, which vary less than ones and zeros do."""
        return family.binary and self.rows is not None and self.rows.shares()

    def mean(self, family: Family, coef: Floats) -> float:
        """Mean response of the rows that are known, under the model; a half where none are."""
        rows = self.rows if self.typical is None else self.typical.rows
        if rows is None:
            return 0.5
        return float(family.mean(rows.x @ coef + rows.offset).mean())

    def turned(self, turn: Whitening) -> StartingPoint:
        """In coordinates of z in which the information is 1; how long rows are is not known there."""
        back, stretch = turn.back, float(np.linalg.norm(turn.back, 2))
        moved = Whitening(self.whitening.back @ back, turn.root @ self.whitening.root)
        return replace(
            self,
            whitening=moved,
            reach=replace(self.reach, metric=back @ self.reach.metric @ back),
            level=1.0,
            information=None,
            score=None,
            leverage=None if self.leverage is None else stretch * self.leverage,
            longer=None,
        )

    def information_lengths(self, family: Family) -> Floats | None:
        """How long public information rows are at coefficients of zero; None if no number tells."""
        if self.rows is None:
            level = family.information(0.0)
            lengths = math.sqrt(max(level, 0.0)) * self.reach.lengths()
        else:
            h = self.rows.working(family, np.zeros(self.rows.x.shape[1]))[1]
            lengths = np.linalg.norm(self.rows.x @ self.whitening.back, axis=1) * np.sqrt(h)
        return lengths if np.isfinite(lengths).all() and lengths.any() else None

    def few_along(self, direction: Floats) -> bool:
        """Whether few of the public rows are most of what these vary by along a direction of z."""
        if self.rows is None:
            return False
        squares = (self.rows.x @ self.whitening.back @ direction) ** 2 * self.rows.weight
        return bool(squares.sum() ** 2 < _FEW * (squares**2).sum())

    @property
    def m(self) -> int | None:
        """Number of public rows; None where they were not given as rows."""
        return None if self.rows is None else len(self.rows.y)

    def design_moments(self) -> Floats:
        """Second moments of the rows in the units of the user."""
        return np.asarray(self.whitening.root.T @ self.reach.metric @ self.whitening.root)

    def longest(self, family: Family) -> Tail | None:
        """How long rows are, where no score is longer than its row: those of logits without weights."""
        if not (family.canonical and family.binary):
            return None
        if self.rows is None:
            return self.longer
        return self.shown() if self.lengths is None else self.lengths

    def measured(self, seen: RowsSeen) -> StartingPoint:
        """This starting point once lengths of private rows were released.

        Public rows tell which long scores balance, unless they have a long tail, of which few show
        little, or private ones are surely beyond it: then what is cut may all point one way.
        """
        if self.rows is None:
            return replace(self, longer=seen.tail)
        lengths = self.reach.lengths()
        whole = long_tailed(lengths) or seen.beyond(float(lengths.max()))
        longest = seen.longest(self.shown(), whole)
        return replace(self, longer=longest if whole else None, lengths=longest)

    def shown(self) -> Tail:
        """How long public rows are."""
        lengths = self.reach.lengths()
        quantile = float(np.quantile(lengths, 0.9))
        octave = math.frexp(quantile)[1]
        nothing = LogHistogram(np.zeros(120), 0.0, octave - 15, 30)
        counts = np.histogram(lengths, nothing.edges())[0].astype(np.float64)
        return tail_of(replace(nothing, counts=counts), quantile, len(lengths))

    def for_persons(self, rows: float) -> StartingPoint:
        """Where sums run over persons with so many rows as one was expected."""
        root = math.sqrt(rows)
        whitening = Whitening(self.whitening.back / root, self.whitening.root * root)
        whitened = None if self.reach.rows is None else self.reach.rows / root
        reach = replace(self.reach, metric=self.reach.metric / rows, rows=whitened)
        return replace(self, whitening=whitening, reach=reach)


def _times(weight: Floats, averages: bool) -> Floats:
    """How many times as long as rows scores may be: of averages over so many trials a root as many."""
    return np.minimum(weight, np.sqrt(weight)) if averages else weight


def _reach(
    family: Family, whitening: Whitening, moment: Floats, rows: PublicRows | None
) -> StepRange:
    if rows is not None:  # whatever they weigh: a step changes predictors of rows
        moment = rows.x.T @ rows.x / len(rows.x)
    metric = whitening.back.T @ moment @ whitening.back
    whitened = None if rows is None else rows.x @ whitening.back
    weight = 1.0 if rows is None else _times(rows.weight, rows.averages())
    return StepRange(metric, whitened, family.linear, 1.0 if family.skewed else 0.5, weight)


def public_start(family: Family, moments: PublicMoments, rows: PublicRows | None) -> StartingPoint:
    """The public fit where public rows have responses; else a step from the null model, or zero."""
    plain = equilibrated_whitening(moments.gram)
    null = _null_model(family, moments)
    coef = np.zeros(len(moments.terms)) if null is None else null[0]
    if rows is not None:
        coef = public_fit(family, rows, plain, coef)
        information = rows.information(family, coef)
        whitening = information_whitening(information, moments.gram, rows.unseen())
        r, h, _ = rows.working(family, coef)
        norm = np.linalg.norm(rows.x @ whitening.back, axis=1)
        score = float(np.quantile(norm * np.abs(r), 0.9)) or None
        lengths = float(np.quantile(norm * np.sqrt(h), 0.9)) or None
        reach = _reach(family, whitening, moments.gram, rows)
        known = not moments.ridged
        return StartingPoint(whitening, coef, reach, 1.0, rows, lengths, score, known=known)
    if null is not None and moments.cross is not None:
        step = moments_fit(moments.gram, moments.cross, _constant(moments), *null)
        coef = coef + _shortened(step - coef, moments.gram, family.linear)
    reach = _reach(family, plain, moments.gram, None)
    level = family.information(0.0)
    return StartingPoint(plain, coef, reach, level, known=not moments.ridged)


def _constant(moments: PublicMoments) -> int | None:
    return moments.design.constant if moments.design.weights is None else None


def _null_model(family: Family, moments: PublicMoments) -> tuple[Floats, float] | None:
    """The model with a constant alone and the slope of its mean, if public moments tell the mean."""
    k = _constant(moments)
    if k is None or moments.cross is None or moments.design.offsets:
        return None
    mean = float(moments.cross[k])
    m = moments.m or 100
    if family.binary:
        mean = (mean * m + 0.5) / (m + 1)
    elif family.link == "log":
        mean = max(mean, 0.5 / m)
    coef = np.zeros(len(moments.terms))
    coef[k] = family.predictor(mean)
    step = 1.0 if abs(mean) < 1e12 else abs(mean)  # one that floats can tell
    r, h, _ = family.working(coef[[k]], np.array([mean + step]))
    return coef, float(h[0] / r[0]) * step


def _shortened(move: Floats, moment: Floats, linear: bool) -> Floats:
    """A step that changes linear predictors by 2 at most, in root mean square."""
    size = math.sqrt(max(float(move @ moment @ move), 0.0))
    return move if linear or size <= 2 else move * (2 / size)


def released_null(session: ScoreSession, family: Family, d: int, k: int) -> Floats:
    """The null model of a log link from a private histogram of the responses, over their exposure."""
    histogram = session.response_histogram(NULL_SHARE, -40, 80)
    coef = np.zeros(d)
    mean = histogram.mean(session.n)
    if mean is not None:
        coef[k] = family.predictor(mean)
    return coef


def private_start(family: Family, design: Design, look: FirstLook, n: int) -> StartingPoint:
    """Zero, and the whitening of n private rows, or persons, by themselves.

    Of weighted rows the constant tells the mean weight: without it a step would seem to move
    predictors of rows by the root of that weight too much, as moments are those of weighted rows.
    """
    seen, each = look.rows, rows_of_each(look.persons, n)
    d, level = len(seen.whitening.back), family.information(0.0)
    constant, weighted = design.constant, design.weights is not None
    moment = seen.curvature.used / each  # that of rows
    if seen.nothing is not None:  # no step goes far there, and no row reaches far
        moment[seen.nothing, seen.nothing] = _NOTHING
    weight = 1.0
    if weighted and constant is not None:
        one = seen.whitening.root[:, constant]
        weight = clamp_to_safe_range(float(one @ moment @ one))
        weight = min(weight, design.weight_bound or weight)
    # as it is: products with a whitening and its inverse would lose all digits of odd ones
    reach = _reach(family, Whitening(np.eye(d), np.eye(d)), moment / weight, None)
    root, times = math.sqrt(weight), float(_times(np.array(weight), True))  # nobody tells of trials
    reach = replace(reach, weight=times)
    # the lengths that were seen are those of rows times a root of weights
    longer = seen.lengths.tail.without_laws().scaled(times / root)
    information = math.sqrt(level) * seen.lengths.quantile
    zero = np.zeros(d)
    return StartingPoint(
        seen.whitening,
        zero,
        reach,
        level,
        typical=typical_of(family, design, moment / weight, seen.whitening, weight, look.uneven),
        information=information,
        known=False,
        leverage=seen.radius,
        longer=longer if family.binary else None,
        hidden=seen.hidden,
        nothing=seen.nothing,
        enough=look.enough,
        persons=look.persons,
    )


def declared_start(session: ScoreSession, family: Family, columns: Floats) -> StartingPoint:
    """A whitening released from private rows within declared limits, and zero to begin with.

    ``columns`` are the largest absolute values of the design's columns; rows beyond are cut.
    """
    share, d = 0.15, len(columns)
    released = session.moments(share, math.sqrt(d))
    floor = released.noise_sd * math.sqrt(2 * d)
    moment = floored(released.value, floor) * np.outer(columns, columns)
    whitening = equilibrated_whitening(moment)
    session.whiten(whitening.back, np.zeros(d))
    reach = _reach(family, whitening, moment, None)
    return StartingPoint(whitening, np.zeros(d), reach, family.information(0.0), spent=share)
