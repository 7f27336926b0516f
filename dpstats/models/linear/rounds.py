"""The score rounds of a linear fit: where each cuts, what it spends, and when they end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Self

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.linear.first_step import SELDOM, explained, may_be_off
from dpstats.models.linear.losses import KnownLosses
from dpstats.models.linear.planning import COUNTS, EXCESS, FALL, KEPT, NOISELESS, SQUARES
from dpstats.models.linear.prepare import Prepared
from dpstats.models.linear.unforeseen import Look, Unforeseen, unforeseen
from dpstats.numerics.histogram import LogHistogram
from dpstats.numerics.matrices import Curvature, with_inverse
from dpstats.score_rounds.cuts import (
    PRODUCT_QUANTILE,
    WIDENING,
    Cut,
    Seen,
    cut_for_intervals,
    cut_of_squares,
    gaussian_square,
    loss_of_lone_rows,
    lost_of_squares,
)
from dpstats.score_rounds.estimate import Pooled, Step, newton_step, pool_steps, pool_weighed
from dpstats.score_rounds.leaning import (
    SHARE,
    Anchor,
    Leaning,
    LongScores,
    leaning,
    most_information,
    seen_by,
)
from dpstats.score_rounds.levels import indicators
from dpstats.score_rounds.rare_rows import kept_of_levels
from dpstats.score_rounds.releases import Round, ScoreSession, Shares
from dpstats.score_rounds.rounds import (
    RoundPlan,
    ScoreRounds,
    quartered,
    rows_of_each,
    window_about,
)
from dpstats.score_rounds.tails import WHOLE, Tail, tail_of

_CARE, _CARE_ALONE, _FAR_CARE = 0.15, 0.3, 0.1
"""Share of what is cut that is weighed as bias: near the fit, beside public rows and without them, where
nearer cuts gain nothing on real tables and hide more; and far from it."""
_STILL = 1e-4
"""A step that is next to nothing, as a share of an error of sampling."""
_LITTLE = 0.1
"""Of an error of sampling, what cuts move in the first round where it may be the last."""
_PART = 0.5
"""Of an error of sampling, what a second round may leave of the way."""
_SLIGHT = 0.25
"""A step that spoils no fit, as a share of a residual standard deviation."""
_RUNAWAY = 100.0
"""Times as long as residuals were before, those of some rows, from which steps have led away."""
_ALL = 0.95
"""Part of the change of scores that cuts leave, from which on they are taken to leave all."""
_FARTHER = 2.0
"""Times as far out as other rounds, from where the last one is not averaged with them if scores lean."""
_MUCH, _CAREFUL = 10.0, 4.0
"""Errors of sampling by which far rows may lean, from where a step may be far too long; and times its
noise that it is long at most in that case."""
_EXPLAINED = 0.1
"""Share of the information lost to cut rows that may explain a long last step."""


@dataclass(frozen=True)
class LinearStep:
    """A step, and the mean score that it follows from, of rows as if none were cut."""

    step: Step
    score: Floats


@dataclass(kw_only=True)
class LinearRounds(ScoreRounds[LinearStep]):
    """Rounds of a linear fit: its curvature is known before them.

    Attributes
    ----------
    ready : Prepared
    ridge : float
    measured, counts_sd : bool, float
        Whether the last counts of scores showed their scale, and the noise of these counts.
    before : float or None
        Scale of the scores in the round before.
    oblique : (d, d) array or None
        Of instruments: what a score is multiplied by, where the curvature is the identity.
    scores : list of Seen
        Lengths of scores in each round.
    looks : list of Look
        What each score says of second moments.
    unforeseen : Unforeseen or None
        Second moments that scores had told of, and ``since`` which round.
    carefully : bool
        Whether steps are kept short: far rows may lean by more than second moments know.
    """

    ready: Prepared
    ridge: float
    oblique: Floats | None = None
    measured: bool = field(default=True, init=False)
    counts_sd: float = field(default=0.0, init=False)
    before: float | None = field(default=None, init=False)
    scores: list[Seen] = field(default_factory=list, init=False)
    looks: list[Look] = field(default_factory=list, init=False)
    unforeseen: Unforeseen | None = field(default=None, init=False)
    since: int = field(default=0, init=False)
    carefully: bool = field(default=False, init=False)

    @classmethod
    def of(cls, session: ScoreSession, ready: Prepared, ridge: float) -> Self:
        """The rounds, still to be made."""
        at, carried = ready.at, ready.at.root @ ready.shift
        return cls(
            session=session,
            coordinates=at,
            anchor=carried,
            carried=carried,
            ready=ready,
            ridge=ridge,
        )

    @property
    def curvature(self) -> Curvature:
        """The second moments where rounds compute, with what scores tell of them beside."""
        seen, more = self._foreseen, self.unforeseen
        return seen if more is None else replace(seen, used=seen.used + more.matrix)

    @property
    def curvature_of_rows(self) -> Curvature:
        """`curvature`, of rows as they were whitened."""
        seen, more = self.ready.curvature, self.unforeseen
        if more is None:
            return seen
        back = np.linalg.inv(self.ready.at.turn)
        return replace(seen, used=seen.used + back.T @ more.matrix @ back)

    @cached_property
    def _foreseen(self) -> Curvature:
        """The released second moments: the identity, where rows were turned by them."""
        turn, seen = self.ready.at.turn, self.ready.curvature
        if not self.ready.turned:
            return seen
        return Curvature(
            turn.T @ seen.released @ turn,
            seen.released_sd,
            np.eye(len(turn)),
            seen.used_sd * float(np.linalg.norm(turn, 2)) ** 2,
            1.0,
        )

    @cached_property
    def penalty(self) -> Floats:
        """That of a ridge."""
        back = self.ready.at.back
        return np.asarray(self._each * self.ridge * back.T @ back)

    @cached_property
    def _each(self) -> float:
        """Rows behind a term of a sum."""
        return rows_of_each(self.ready.persons, self.session.n)

    def pooled(self) -> Pooled:
        """The average of the rounds that began near the fit.

        Or the last one, if scores lean and it cut them clearly farther out than the others did.
        """
        used, apart = self._near_steps(), self._late_lean() is not None
        if self.unforeseen is not None or (self.ready.arrived and not apart):
            found = pool_steps(used)
        else:
            curvature, *_ = seen_by(self.lean, self.curvature, self.penalty, self.anchor)
            found = pool_weighed(used, curvature.used, self.ready.lost, apart=apart)
        if self.ready.arrived and len(self.steps) == 1:
            left = self._may_be_off(self.plans[-1].cut) * found.move
            found = replace(found, left=(*found.left, left))
        few = self._of_few()
        if few is None:
            return found
        # scores that are raised have more noise, and a step goes as far as they are known to say
        share, ways = few
        noise = found.noise_sd * np.sqrt(1 / share**2 - 1)
        left = (1 - share) * (self.steps[-1].step.move @ ways)
        return replace(found, left=(*found.left, *(np.hypot(noise, left) * ways).T))

    def _of_few(self) -> tuple[Floats, Floats] | None:
        """What the last cut leaves of the change of scores along what few rows have, and these ways."""
        kept = self.plans[-1].kept
        if kept is None:
            return None
        share, ways = np.linalg.eigh(kept)
        few = share < _ALL
        return (share[few], ways[:, few]) if few.any() else None

    def _late_lean(self) -> Leaning | None:
        """Where scores lean, if the last round cut them clearly farther out than the others did."""
        if self.oblique is not None:  # whose steps are not along scores
            return None
        nearest = min(plan.cut.length for plan in self.plans if plan.pooled)
        farther = self.plans[-1].cut.length > _FARTHER * nearest
        return self.lean if self.lean and (self.lean.stretch > 1 or farther) else None

    def _near_steps(self) -> list[Step]:
        """Steps of the rounds that began near the fit, with what the last histogram says of their cuts.

        A cut is chosen where a histogram shows little beyond it; another one, with less noise, tells how
        much there is. Where counts are whole numbers, each histogram knows that of its own round.
        """
        steps = []
        made = zip(self._alike(), self.plans, self.scores, strict=True)
        for step, how, own in islice(made, self.since, None):
            if how.pooled:
                seen = own if own.histogram.noise_sd < WHOLE else self.scores[-1]
                excess, most = seen.lost(how.cut)
                lone = loss_of_lone_rows(seen.tail, seen.n, len(self.anchor))
                for loss in (lone, *self._losses.of_few(own)):
                    lost = float(loss(np.array([how.cut.length]))[0]) / how.cut.slope
                    excess, most = max(excess, lost), max(most, lost)
                steps.append(replace(step, excess=excess, most=most))
        return steps

    def _alike(self) -> list[Step]:
        """All steps, in coefficients of the last one."""
        *others, last = (one.step for one in self.steps)
        if self.lean is not None and self.lean.stretch > 1:
            turn = self.lean.turn
            _, inverse = with_inverse(self.curvature.used + self.penalty)
            others = [step.turned(turn, inverse) for step in others]
        return [*others, last]

    def settled(self) -> bool:
        """Whether the last round began near the fit, and went no farther than noise and rows explain.

        From a public fit any round may have come before it, or none; else one that began near the fit.
        A step that is longer than noise at a chance of one in a thousand, than twice what noise and
        sampling leave, and than a quarter of a residual, was not the last one; unless it counts long
        rows that weighed less before, or goes where scores lean, as far scores count there only in it,
        or where few rows do, of which most scores are cut: `pooled` allows for what is left there. Nor
        has a fit settled where a step has brought some rows far off, as it does where those of a rare
        level were cut for all moments, and steps along it are too long.
        """
        units = [plan.cut.unit for plan in self.plans]
        if units[-1] > _RUNAWAY * min(units):
            return False
        made = islice(zip(self._alike(), self.plans, strict=True), self.since, None)
        used = [step for step, how in made if self.ready.arrived or how.pooled]
        if len(used) < 2:
            return self.ready.arrived or self.unforeseen is not None
        last, d = used[-1], len(used[-1].move)
        noise = last.noise_length**2 + used[-2].noise_length ** 2
        move, lean = last.move, self._late_lean()
        if lean is not None:
            move = move - float(move @ lean.direction) * lean.direction
        if (few := self._of_few()) is not None:
            move = move - few[1] @ (few[1].T @ move)
        square = float(move @ move)
        if self.ready.lost > _EXPLAINED or square < noise * gaussian_square(d, SELDOM) / d:
            return True
        residual = d * self.plans[-1].cut.unit ** 2
        return square - noise < max(4 * (noise + residual / self.session.n), _SLIGHT**2 * residual)

    def foreseen(self) -> float:
        """Share of the scores that the last cut is expected to take, by the counts before it."""
        length, tail = self.plans[-1].cut.length, self.scores[-1].tail
        share, sizes = self._losses.differing(self.scores[-1])
        return float(np.interp(length, tail.lengths, tail.share) + share * np.mean(sizes > length))

    def pooled_score(self, coef: Floats) -> Floats:
        """The mean score at some coefficients, by the rounds that are averaged, with their weights.

        Scores are linear in the coefficients, and fall by as much as these move.
        """
        made = zip(self.steps, self.plans, strict=True)
        used = [one for one, how in made if how.pooled]
        weight = np.array([1 / one.step.variance for one in used])
        at = np.array([one.score + one.step.anchor for one in used])
        return np.asarray(weight @ at / weight.sum() - coef)

    @property
    def square_floor(self) -> float:
        """What the mean squared residual is at least, by the scale of scores.

        Where only a share of the rows has any, these are as much longer than residuals.
        """
        seen = self.scores[-1]
        return 0.1 * self.plans[-1].cut.unit ** 2 * min(seen.tail.rows / seen.n, 1.0)

    def plan(self) -> RoundPlan:
        n, mu = self.session.n, self.session.total.mu
        histogram, scale = self._scale_of_scores()
        near = _near(scale, self.before, self.ready.expected if self.ready.arrived else None)
        near = (near or self._losses.few_differ.root > 0) and not self._at_least_squares
        last = self._is_last(scale)
        self.before = scale
        tail = tail_of(histogram, scale, n)
        long = self._long_scores(tail) if last else None
        seen = Seen(histogram, tail, n)
        self.scores.append(seen)
        known = self._losses.all(seen, weighed=self.session.leverage is not None)
        shares, rest = self._shares(near=near, last=last), None
        cut = self._cut(tail, known, shares, near=near or last)
        far = lean = None
        if near and not (self.steps or last) and self.ready.plan.one_round:
            asked = replace(shares, far=(self.session.left - shares.score) * SHARE)
            more = self._last_shares(self.session.left - asked.score - asked.far)
            farther = self._cut(tail, known, asked + more, near=True)
            if not self._goes_on(farther):
                shares, rest, cut = asked, more, farther
                far = self.far_length(tail, asked.far)
        if long is not None:
            off = self.steps[-1].step.noise_length
            lean = self._leaning(long, seen, cut, mu * math.sqrt(shares.score), off)
            if lean is not None and self._may_overshoot(lean, cut):
                self.carefully, last, lean = True, False, None
                shares = self._shares(near=True, last=False)
                cut = self._cut(tail, known, shares, near=True)
        square, lost, final = 1.0, 0.0, shares if last else rest
        if final is not None:
            square, lost = self._square_cut(tail_of(histogram, scale, n, 2), final)
        return RoundPlan(
            shares,
            cut,
            square=square,
            square_lost=lost,
            last=last,
            pooled=near or last,
            lean=lean,
            kept=self._kept(cut, lean),
            rest=rest,
            far=far,
        )

    def _cut(
        self, tail: Tail, known: Callable[[Floats], Floats], shares: Shares, *, near: bool
    ) -> Cut:
        """Where the round cuts scores; ``known``: see `KnownLosses`.

        Residuals are as long as few of them say, at least.
        """
        care = _CARE if self.ready.arrived else _CARE_ALONE
        care = care if near else _FAR_CARE
        mu = self.session.total.mu * math.sqrt(shares.score)
        cut = cut_for_intervals(tail, self.session.n, len(self.anchor), mu, care, known)
        return replace(cut, unit=max(cut.unit, self._losses.few_differ.root))

    def _scale_of_scores(self) -> tuple[LogHistogram, float]:
        """Counts of lengths of scores at the anchor, and their scale.

        Rows that weighed less, as long ones, do so no more once enough rounds began near the fit.
        """
        limits, first = self.ready.plan, not self.steps
        guess = self.before or self.ready.expected
        window = window_about(guess)
        fine = None if first else quartered(guess, window)
        share = limits.scale if first else limits.later_scale
        if limits.middle and self._middle_made and not self.ready.some_hidden:
            self.session.weigh(None)
            share = limits.last_scale
        at = self.anchor - self.carried
        histogram = self.session.score_lengths(share, at, (None, window), fine)
        quantile = histogram.quantile(0.9)
        self.measured, self.counts_sd = quantile is not None, histogram.noise_sd
        return histogram, quantile or guess or histogram.peak()

    @property
    def _middle_made(self) -> bool:
        """Whether as many rounds began near the fit as the plan has before the last one."""
        return sum(plan.pooled for plan in self.plans) >= self.ready.plan.middle

    def _shares(self, *, near: bool, last: bool) -> Shares:
        """What the round spends; the last one all that is left."""
        limits, left = self.ready.plan, self.session.left
        if last:
            return self._last_shares(left)
        return Shares(score=limits.near if near else limits.far)

    def _last_shares(self, left: float) -> Shares:
        """What the last round spends, of all that is left."""
        limits = self.ready.plan
        return Shares(
            outer=left * limits.outer,
            squares=left * SQUARES,
            counts=left * COUNTS,
            excess=left * EXCESS,
            score=left * (1 - limits.outer - EXCESS - SQUARES - COUNTS),
        )

    def _square_cut(self, squares: Tail, shares: Shares) -> tuple[float, float]:
        """Where residuals are cut for their mean square, and what it takes off that at most."""
        n, d, mu = self.session.n, len(self.anchor), self.session.total.mu
        rows = max(self._each, 1.0)
        square = cut_of_squares(squares, n, d, mu * math.sqrt(shares.squares))
        square = max(square, self._losses.few_differ.longest)
        return square * math.sqrt(rows), rows * lost_of_squares(squares, n, d, square)

    def _kept(self, cut: Cut, lean: Leaning | None) -> Floats | None:
        """What the cut leaves of the change of scores of rare levels; not where long rows weigh less."""
        ready, levels = self.ready, self._levels
        if not (levels.size and self._tells_moments) or self.session.leverage is not None:
            return None
        root = ready.at.whitening.root
        moments = root.T @ self.curvature_of_rows.used @ root
        back = ready.at.back if lean is None else ready.at.back @ lean.turn
        constant = ready.design.constant
        weight = 1.0 if constant is None else float(moments[constant, constant])
        return kept_of_levels(moments, levels, back, cut.length / cut.unit, weight)

    @cached_property
    def _levels(self) -> Floats:
        """Combinations of columns that are one in some rows, and zero in all others."""
        return indicators(self.ready.design)

    def _long_scores(self, tail: Tail) -> LongScores | None:
        """What of the scores at the last anchor is far out.

        Not at the first anchor, where scores lean towards the fit; nor where long rows weigh less, so
        that their scores are short.
        """
        if self.session.leverage is not None or not (self.steps and self.measured):
            return None
        return self._with_public(self.far_scores(tail), tail)

    def _with_public(self, long: LongScores, tail: Tail) -> LongScores:
        """Long scores beside those of public rows, where these tell."""
        far, m = self.ready.far, self.ready.m
        if far is None or m is None or self.oblique is not None:
            return long
        unit = tail.quantile
        mean, square = far.between(long.length / unit)
        public = self.ready.at.back.T @ mean * unit
        return replace(long, public=public, public_square=square * unit**2, m=m)

    def _leaning(
        self, long: LongScores, seen: Seen, cut: Cut, mu: float, off: float
    ) -> Leaning | None:
        """Where scores lean, for a round of cost ``mu`` whose anchor is that far ``off`` by chance.

        With instruments they are cut as others are.
        """
        longer = float(np.interp(long.length, seen.tail.lengths, seen.tail.share))
        most = most_information(self.ready.longer, longer, len(self.anchor))
        began = Anchor(off, cut.unit**2, most=most)
        return leaning(long, seen, cut, mu, began, stretches=self.oblique is None)

    @cached_property
    def _losses(self) -> KnownLosses:
        return KnownLosses(self.ready, len(self.anchor))

    def rests_on_few(self) -> bool:
        """Whether few responses differ, and by amounts that only public rows can tell."""
        return self._losses.rest_on_few(self.scores[-1])

    def _is_last(self, scale: float) -> bool:
        """Whether this round is to be the last: from the plan and released scales only."""
        limits, made = self.ready.plan, len(self.steps)
        cost = limits.near + limits.later_scale
        if made + 1 >= limits.most_rounds or self.session.left - cost < KEPT:
            return True
        if self.before is None or not self._middle_made:
            return False
        if self._losses.few_differ.root > 0:
            return True
        return scale > FALL * self.before and not (self._still_moving() or self._far_to_go())

    def _goes_on(self, cut: Cut) -> bool:
        """Whether the first round is not the last one whatever its score, by what is seen before.

        Its cut takes more than next to nothing, and only a later round tells whether that points one
        way; or no more than noise is seen of it. Or its step, as long as errors of public rows, ends
        farther from the fit, for what `may_be_off` says. With instruments, or of persons, whose rows
        may be alike, public rows do not tell how far off their fit is. Nor do few responses that differ.
        """
        if not self.measured or self._losses.few_differ.root > 0:
            return True
        if self.oblique is not None or self.ready.persons is not None or not self.ready.m:
            return True
        n, allowed = self.session.n, WIDENING * cut.excess / cut.slope
        left = self._may_be_off(cut) * math.sqrt(n / self.ready.m)
        return max(allowed / cut.unit * math.sqrt(n), left) > _LITTLE

    def is_enough(self, made: Round, plan: RoundPlan) -> bool:
        """Whether the first step is no longer than samples and noise explain, and no scores lean."""
        assert made.score is not None
        assert made.far is not None
        assert self.ready.m is not None
        assert plan.far is not None
        assert plan.rest is not None
        value = self._as_uncut(made.score.value, plan)
        where = self.curvature, self.penalty, self.anchor
        step = newton_step(*where, value, made.score.noise_sd, plan.cut.slope)
        if not explained(step, plan.cut, self.ready.m, self.session.n):
            return False
        seen = self.scores[-1]
        long = self._with_public(LongScores(made.far, plan.far), seen.tail)
        mu = self.session.total.mu * math.sqrt((plan.shares + plan.rest).score)
        public = plan.cut.unit * math.sqrt(len(step.move) / self.ready.m)
        return self._leaning(long, seen, plan.cut, mu, public) is None

    def _may_be_off(self, cut: Cut) -> float:
        return may_be_off(self.ready, cut, len(self.anchor))

    @property
    def _at_least_squares(self) -> bool:
        """Whether a fit with instruments stands where residuals are short: at public least squares."""
        return self.oblique is not None and self.ready.arrived and not self.steps

    def _may_overshoot(self, lean: Leaning, cut: Cut) -> bool:
        """Whether a step may be far too long, in the first round that counts far rows like others.

        These lean, and may lean by many errors of sampling: they may be more than second moments know,
        and the next round would tell. It needs a share of the budget, of which enough must be left.
        """
        limits, left = self.ready.plan, self.session.left
        first = self.session.leverage is None and not any(look.all_alike for look in self.looks)
        much = lean.left > _MUCH * cut.unit / math.sqrt(self.session.n)
        affordable = left > 3 * (limits.near + limits.later_scale)
        return self._tells_moments and first and much and affordable

    def _far_to_go(self) -> bool:
        """Whether so much may be left of a long first step that the second one leaves a part of it too.

        As of public responses that are all higher, where rows are long: of what may be left as large a
        share is left again. Not where few rows do, of which cuts leave little: `pooled` allows for that
        part of the last step, and a shorter one says no more of it.
        """
        if len(self.steps) != 1 or not (self.ready.arrived and self._tells_moments):
            return False
        if self._of_few() is not None:
            return False
        cut, first = self.plans[0].cut, self.steps[0].step
        sampling = cut.unit / math.sqrt(self.session.n)
        if first.noise_sd > sampling and explained(first, cut, self.ready.m, self.session.n):
            return False
        moved = float(first.move @ first.move) - first.noise_length**2
        left = self._may_be_off(cut) ** 2 * math.sqrt(max(moved, 0.0))
        return left > _PART * math.hypot(sampling, first.noise_sd)

    def _still_moving(self) -> bool:
        """Whether steps can be seen where noise is next to nothing beside the errors of sampling.

        Another round costs nothing there, and goes on to the fit without privacy.
        """
        step, error = self.steps[-1].step, self.plans[-1].cut.unit / math.sqrt(self.session.n)
        moved = float(np.linalg.norm(step.move)) / math.sqrt(len(step.move))
        return step.noise_sd < NOISELESS * error and moved > _STILL * error

    def newton(self, made: Round, plan: RoundPlan) -> LinearStep:
        assert made.score is not None
        value = self._as_uncut(made.score.value, plan)
        score = value / plan.cut.slope
        if self._tells_moments:
            self._look(score, made.score.noise_sd / plan.cut.slope, plan)
        if made.excess is not None:
            self.scores[-1] = self.scores[-1].with_excess(plan.cut.length, made.excess)
        where = seen_by(plan.lean, self.curvature, self.penalty, self.anchor)
        step = newton_step(*where, value, made.score.noise_sd, plan.cut.slope)
        if self.oblique is not None:
            longer = float(np.linalg.norm(self.oblique))
            step = replace(step, move=self.oblique @ step.move, noise_length=step.noise_sd * longer)
        if self.carefully and not plan.last:
            most = _CAREFUL * step.noise_length
            size = max(float(np.linalg.norm(step.move)), 1e-300)
            step = replace(step, move=step.move * min(1.0, most / size))
        if self.unforeseen is not None:
            step = self.unforeseen.with_noise(step, plan.lean)
        if self.ready.arrived and self._tells_moments:
            step = replace(step, off=self._may_be_off(plan.cut))
        return LinearStep(step, score)

    def _as_uncut(self, score: Floats, plan: RoundPlan) -> Floats:
        """A mean score, but for the slope, as if few rows had been cut like many."""
        return score if plan.kept is None else np.linalg.solve(plan.kept, score)

    @property
    def _tells_moments(self) -> bool:
        """Whether scores change by second moments of rows: not of persons, nor of instruments."""
        return self.oblique is None and self.ready.persons is None

    def _look(self, score: Floats, noise_sd: float, plan: RoundPlan) -> None:
        """What this score and the one before it tell of the second moments."""
        if plan.lean is not None:
            score = np.linalg.solve(plan.lean.turn, score)
            noise_sd *= plan.lean.stretch
        lost = self.scores[-1].expected(plan.cut.length) / plan.cut.slope
        look = Look(self.anchor, score, noise_sd, lost, self.session.leverage is None)
        if self.looks and self.looks[-1].all_alike == look.all_alike:
            found = unforeseen(self.looks[-1], look, self.curvature.used, self.unforeseen)
            if found is not None:
                self.unforeseen, self.since = found, len(self.steps)
        self.looks.append(look)


def _near(scale: float, before: float | None, expected: float | None) -> bool:
    """Whether a round begins near the fit, by the scales of the scores."""
    if before is None:
        return expected is not None and scale <= 1.5 * PRODUCT_QUANTILE * expected
    return scale > 0.6 * before
