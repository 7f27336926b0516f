"""The score rounds of a generalised linear fit: where each cuts, what it spends, and when they end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.session import clamp_to_safe_range
from dpstats.models.glm.estimate import (
    Expected,
    GlmStep,
    ReleasedInformation,
    half_back,
    loss_with_unseen,
    near_enough,
    pool_information,
    trusted_step,
)
from dpstats.models.glm.family import Family
from dpstats.models.glm.lengths import longer_than_rows, no_more_than_rows, row_lengths
from dpstats.models.glm.model import Model, evened, informed
from dpstats.models.glm.planning import INFORMATION, GlmPlan, RoundShares, choose_information_radius
from dpstats.models.glm.public import StartingPoint
from dpstats.numerics.histogram import LogHistogram
from dpstats.numerics.matrices import Curvature, Whitening, quadratic_forms, with_inverse
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.cuts import (
    BOUNDED,
    ERRORS,
    SKEWED,
    Cut,
    Seen,
    choose_clip,
    choose_square_clip,
    cut_for_intervals,
    cut_of_squares,
    gaussian_square,
    loss_of_few,
    loss_of_lone_rows,
    lost_of_squares,
    most_of,
)
from dpstats.score_rounds.estimate import Pooled, Step, pool_steps, share_left
from dpstats.score_rounds.leaning import Anchor, LongScores, leaning
from dpstats.score_rounds.releases import PersonCounts, Round, Shares
from dpstats.score_rounds.rounds import (
    Coordinates,
    RoundPlan,
    ScoreRounds,
    quartered,
    rows_of_each,
    summary_of,
    window_about,
)
from dpstats.score_rounds.tails import Tail, counted_excess, tail_of
from dpstats.score_rounds.whitening import apart, still

_SHORT = 3e-3
"""Of the root mean square of scores: 90 % are as short as this where one row in 10^5 has the outcome."""
_FAINT = 0.1
"""Of the usual size of information rows, what 90 % of them reach if counts are to be believed."""
_CARE = 0.15
"""Share of what is cut that is weighed as bias."""
_UNSURE = 0.7
"""Expected distance from the fit up to which a model says how information lies there."""
_EVEN, _EVEN_AGAIN = 4.0, 2.0
"""Ratio of the largest to the smallest information up to which rows stay whitened as they are: by their
second moments, and by an information further up the way."""
_LEFT = 0.5
"""Standard errors that a step may leave of its way before the last round."""
_MOST_OF_WAY = 0.9
"""Fall of the logarithm of information along a step, which ends a long way off from 1 on."""
_USUAL_EFFECT = 2.5
"""Standard deviation of effects of levels on a linear predictor, before rows are seen."""
_LANDINGS = 3
"""Times that a step is taken again with the penalty of where it ends."""
_BY_CHANCE = 0.99
"""Probability with which a last score is noise, so that its step may go as far as it does."""
_LEAST_KEPT = 0.02
"""Of the information of public rows, in parts of the mean direction, that a cut leaves in another."""
_FLATTER = 0.75
"""Information at the coefficients over the one that steps used, below which a fit has not settled."""


@dataclass(kw_only=True)
class GlmRounds(ScoreRounds[GlmStep]):
    """Rounds of a generalised linear fit: the curvature is released in each of them.

    Attributes
    ----------
    family : Family
    start : StartingPoint
    shares : GlmPlan
    price : RoundShares
        What the next round spends, if it is not the last.
    penalty : (d, d) array
        That of a ridge.
    guesses : (float or None, float or None)
        90 % quantiles of the lengths of information rows and of scores: expected ones, or the last seen.
    scoring : float
        Relative difference of expected and observed information.
    persons : PersonCounts or None
    longest : Tail or None
        How long rows are, where no score is longer.
    weighs, trials : bool
        Whether rows may have any weight or offset, and whether responses may be averages over as many
        trials as rows weigh.
    bounded : bool
        Whether no score is much longer than its row.
    few : (d,) array of bool
        The effects of levels and marks.
    expected : Expected or None
        Scores of typical rows at the anchor, under the model.
    counts_sd, stray, beyond : float
        Noise of the counts of scores there; how many are longer than rows are known to be; and what they
        may have beyond the last cut.
    seen : list of ReleasedInformation
    curvature : Curvature or None
        Pooled over these.
    lines : list of Diagnostic
        One for each step.
    turned_at : int
        Steps from here on are in the coordinates of the last.
    """

    family: Family
    start: StartingPoint
    shares: GlmPlan
    price: RoundShares
    penalty: Floats
    guesses: tuple[float | None, float | None]
    scoring: float
    persons: PersonCounts | None
    longest: Tail | None
    weighs: bool
    trials: bool
    bounded: bool
    few: NDArray[np.bool_]
    expected: Expected | None = field(default=None, init=False)
    beyond: float = field(default=0.0, init=False)
    seen: list[ReleasedInformation] = field(default_factory=list, init=False)
    curvature: Curvature | None = field(default=None, init=False)
    lines: list[Diagnostic] = field(default_factory=list, init=False)
    counts_sd: float = field(default=0.0, init=False)
    stray: float = field(default=0.0, init=False)
    turned_at: int = field(default=0, init=False)

    def plan(self) -> RoundPlan:
        session, shares, price = self.session, self.shares, self.price
        n, d, mu = session.n, len(self.anchor), session.total.mu
        last = self._is_last()
        if last:
            session.weigh(None)
        windows = window_about(self.guesses[0]), window_about(self.guesses[1])
        lengths_share = shares.near.lengths if last else price.lengths
        by_tail = last and not self.bounded  # most of it tells how long scores are
        part = 0.2 if by_tail else 0.5
        fine = quartered(self.guesses[1], windows[1]) if by_tail else None
        at = self.anchor - self.carried
        histograms = (
            session.information_lengths(part * lengths_share, at, windows),
            session.score_lengths((1 - part) * lengths_share, at, windows, fine),
        )
        self.counts_sd = histograms[1].noise_sd
        seen = self.seen
        level = abs(float(np.trace(seen[-1].matrix))) / d if seen else self.start.level
        lengths, square = self._scales(histograms, d * level)
        self.guesses = lengths
        rows = n if square > 0 else None
        tail = tail_of(histograms[1], lengths[1], n, rows=rows) if last else None
        long = None if tail is None else self._long_scores(tail)
        costs = shares.last_round(session.left) if last else price.before_last()
        coef = self.coordinates.back @ self.anchor
        if last or self.family.binary or self.start.rows is not None:
            self.expected = self.start.expected(self.family, coef)
        plan = self._cuts(histograms, lengths, level, costs, tail, square)
        assert plan.radius is not None
        if tail is None:
            return plan
        self.stray = longer_than_rows(histograms[1], self._shown(), n)
        self.beyond = counted_excess(histograms[1], tail, n, plan.cut.length)
        if long is not None:
            scores = Seen(histograms[1], tail, n)
            paid = mu * math.sqrt(costs.score)
            share = 0.0 if self.expected is None else self.expected.information_beyond(long.length)
            began = Anchor(level * self.steps[-1].error, level, share)
            plan = replace(plan, lean=leaning(long, scores, plan.cut, paid, began))
        return plan

    def _cuts(
        self,
        histograms: tuple[LogHistogram, LogHistogram],
        lengths: tuple[float, float],
        level: float,
        costs: Shares,
        tail: Tail | None,
        elsewhere: float,
    ) -> RoundPlan:
        """Cuts of a round from the scales just released and from the scores that are expected.

        ``elsewhere``: the mean square of scores that the few longest of them must have.
        ``level`` is the mean eigenvalue of the information, by which scores are longer than Pearson
        residuals; ``tail`` that of scores, in the last round.
        """
        family, start, n, mu = self.family, self.start, self.session.n, self.session.total.mu
        d, last = len(start.coef), tail is not None
        rows = histograms[0]
        longer = rows.surely_above if start.rows is not None else rows.shown_above
        radius = choose_information_radius(
            lengths[0], longer, n, d, mu * math.sqrt(costs.information)
        )
        score_mu = mu * math.sqrt(costs.score)
        square_mu = mu * math.sqrt(max(costs.squares, costs.counts))
        per_person = math.sqrt(max(rows_of_each(self.persons, n), 1.0))
        # of scores, over root d, in those of Pearson residuals
        unit = math.sqrt(max(level, 1e-300))
        squares = tail_of(histograms[1], lengths[1], n, 2) if last else None
        loss = None if self.expected is None else self.expected.loss()
        if elsewhere > 0:
            loss = most_of(*([] if loss is None else [loss]), loss_of_few(elsewhere))
        rare = family.rarer(level, start.mean(family, self.coordinates.back @ self.anchor))
        if rare is not None and not start.shares(family):
            loss = loss_with_unseen(
                loss, start.reach, histograms[1].noise_sd / n, rare, start.longer
            )
        if tail is not None and squares is not None and not self.bounded:
            lone = loss_of_lone_rows(tail, n, d)
            loss = lone if loss is None else most_of(loss, lone)
            cut = cut_for_intervals(tail, n, d, score_mu, _CARE, loss)
            length = cut_of_squares(squares, n, d, square_mu)  # of scores, over root d
            lost = lost_of_squares(squares, n, d, length)
            square, lost = per_person * length / unit, per_person**2 * lost / unit**2
            return RoundPlan(costs, cut, radius, square, lost, last=True)
        tails = BOUNDED if self.bounded else SKEWED if family.skewed or family.binary else ERRORS
        if start.rows is None:  # what is cut may all belong to one coefficient, say of a rare level
            tails = replace(tails, skew=max(tails.skew, math.sqrt(d) / 2))
        above = no_more_than_rows(histograms[1].count_above, self.longest, n)
        seen = no_more_than_rows(histograms[1].seen_above, self.longest, n)
        clip = choose_clip(lengths[1], above, n, d, score_mu, tails, seen, loss)
        residual = replace(clip, unit=clip.unit / unit)
        cut = Cut(
            clip.score, clip.slope, clip.lost * clip.unit * math.sqrt(d), clip.unit, clip.efficiency
        )
        if squares is None:
            return RoundPlan(costs, cut, radius)
        square = choose_square_clip(residual, n, square_mu)
        lost = lost_of_squares(squares, n, d, square * unit) / unit**2
        return RoundPlan(costs, cut, radius, per_person * square, per_person**2 * lost, last=True)

    def _scales(
        self, histograms: tuple[LogHistogram, LogHistogram], square: float
    ) -> tuple[tuple[float, float], float]:
        """90 % quantiles of information rows and of scores; and the mean square that longer scores have.

        Far from the answer nearly all rows of a probit may tell nothing, with scores of 10^-6, and those
        that do are too few to be seen among noisy counts. A cut by the others would take them off, and
        all that they tell. So information rows are taken to be of the usual size where counts show next
        to none; and where the variance is known, so that the mean ``square`` of scores is that of the
        information, all of it is taken to be elsewhere if next to nothing of it is in 90 % of them. Else
        the last number is 0.
        """
        rows, scores = (_scale(h, g) for h, g in zip(histograms, self.guesses, strict=True))
        if self.curvature is not None:
            middle = float(np.median(np.linalg.eigvalsh(self.curvature.used)))
            usual = math.sqrt(len(self.anchor) * max(middle, 0.0))
            rows = usual if rows < _FAINT * usual else rows
        least = _SHORT * math.sqrt(square)
        if self.family.dispersed or self.persons is not None or scores >= least:
            return (rows, scores), 0.0
        return (rows, least), square

    def _is_last(self) -> bool:
        """Whether this round is the last: from the plan and from released numbers only."""
        plan, left, made = self.shares, self.session.left, len(self.steps) + 1
        if made >= plan.most_rounds or left - self.price.total - plan.near.lengths < plan.keep:
            return True
        if made < plan.least_rounds or self.flatter(self.anchor):
            return False
        assert self.curvature is not None
        share = (left - plan.near.lengths) * (1 - INFORMATION)
        less = math.sqrt(self.price.score / share)
        if self._left_by_bend(less) > _LEFT:
            return False
        level = len(self.anchor) / float(np.trace(np.linalg.inv(self.curvature.used)))
        usual = 1.0 if self.start.rows is not None else self.family.information(0.0)
        return near_enough(self.steps[-1], self.start.reach, less, self.session.n, level, usual)

    def _left_by_bend(self, less: float) -> float:
        """What the last step leaves of its way because information falls along it, in standard errors.

        As that of rows of a rare level does on the way to a rare outcome. How fast it falls is told by
        the last two releases: at the rate r the step m = (1 - exp(-r w))/r goes a part of the way w. Not
        more than noise of ``less`` times that of the step: 0.
        """
        if len(self.seen) < 2:
            return 0.0
        (was, now), (before, last) = self.seen[-2:], self.steps[-2:]
        size = float(np.linalg.norm(last.step.move))
        along = last.step.move / max(size, 1e-300)
        noise = math.hypot(was.sd, now.sd)
        there = max(float(along @ now.matrix @ along), 0.0) + noise
        fallen = max(float(along @ was.matrix @ along) - noise, 1e-300) / there
        moved = abs(float(along @ before.step.move))
        part = min(float(np.log(fallen)) / max(moved, 1e-300) * size, _MOST_OF_WAY)
        if not part > 0:  # nor where noise has made no number of it
            return 0.0
        left = _left(part) * size
        unit = math.sqrt(self.session.n * there)
        return left * unit if left > less * last.noise / math.sqrt(len(along)) else 0.0

    def _left_by_public(self, last: Step) -> float:
        """Share of the last step that is left of its way, where public rows tell less at its end.

        As in `_left_by_bend`; of the step, what noise does not explain.
        """
        rows = self.start.rows
        if rows is None or self.persons is not None or self.start.hidden is not None:
            return 0.0
        along = (rows.x @ (self.coordinates.back @ last.move)) ** 2
        before, after = (
            float(self._weights(at) @ along) for at in (last.anchor, last.anchor + last.move)
        )
        part = min(float(np.log(before / max(after, 1e-300))), _MOST_OF_WAY) if before > 0 else 0.0
        if not part > 0:
            return 0.0
        seen = 1 - last.noise_length**2 / max(float(last.move @ last.move), 1e-300)
        return math.sqrt(max(seen, 0.0)) * _left(part)

    def _long_scores(self, tail: Tail) -> LongScores | None:
        """What of the scores at the last anchor is far out, beside what the family expects.

        Not at the first anchor, where scores lean towards the fit. Of persons, whose scores are sums, a
        family expects nothing that could be said. Where responses may be averages over as many trials as
        rows weigh, which no public response tells, nothing is taken off: rare outcomes lean by nature,
        and are cut farther out.
        """
        if not self.steps or self.persons is not None:
            return None
        return self._with_public(self.far_scores(tail, expected=not self.trials))

    def _with_public(self, long: LongScores) -> LongScores:
        """Long scores, with what public rows have of them at the same anchor, where there are some.

        Less what the family expects, as of private rows: rare outcomes have long scores by nature.
        """
        rows, length = self.start.rows, long.length
        if rows is None:
            return long
        coef, z = self.coordinates.back @ self.anchor, rows.x @ self.coordinates.back
        residual, norm = rows.working(self.family, coef)[0], np.linalg.norm(z, axis=1)
        past = np.sign(residual) * np.clip(norm * np.abs(residual) - length, 0.0, length)
        predictor, unit = rows.x @ coef + rows.offset, norm * rows.weight
        expected = self.family.expected_beyond(predictor, unit, length)
        past = past if expected is None else past - expected
        mean, square = past / np.maximum(norm, 1e-300) @ z / len(z), float((past**2).mean())
        if not math.isfinite(square):
            return long
        return replace(long, public=mean, public_square=square, m=len(z))

    def _lost(self, plan: RoundPlan, made: Round) -> Floats:
        """What the cut of the last round is expected to take off the mean score, to be put back.

        Under the model a mean score is zero at the coefficients, and that of cut ones is not: long
        scores of rare outcomes have one sign. No more is put back than counts may have beyond the cut.
        Of persons, or where rows may weigh or vary by anything, nothing is known.
        """
        nothing, expected = np.zeros(len(self.anchor)), self.expected
        unknown = self.persons is not None or self.weighs or self.family.dispersed
        if expected is None or not plan.last or unknown:
            return nothing
        turned = expected if plan.lean is None else expected.turned(plan.lean.turn)
        lost = turned.lost(plan.cut.length)
        if self.start.rows is not None:  # of which all are there
            lost = lost * min(max(1 - summary_of(made).empty_share, 0.0), 1.0)
        size = float(np.linalg.norm(lost))
        if not 0 < size < math.inf:  # what a fit of noise expects may be no number
            return nothing
        return lost * min(max(self.beyond, 0.0) / size, 1.0)

    def flatter(self, at: Floats) -> bool:
        """Whether public rows have clearly less information at these coefficients than steps used.

        Where an outcome is rarer than the public rows say, the information falls on the way to the
        answer: one that was read further up makes steps too short, and errors too small. The mean of
        the eigenvalues is a mean over the public rows, and clear is one standard error of it.
        """
        start = self.start
        if self.curvature is None or start.rows is None:
            return False
        if start.hidden is not None or self.persons is not None:
            return False
        z = start.rows.x @ self.coordinates.back
        size = np.sum(z * np.linalg.solve(self.curvature.used, z.T).T, axis=1) / z.shape[1]
        # public rows that are shorter than private ones have less at every anchor
        before = [self._weights(one.step.anchor) @ size for one in self.steps]
        usual = min(max(before) / len(size), 1.0) if before else 1.0
        each = self._weights(at) * size
        return float(each.mean() + each.std() / math.sqrt(len(each))) < _FLATTER * usual

    def like_cut_public_rows(self) -> Floats:
        """Symmetric T for which public rows T z, cut as private ones were last, are alike everywhere.

        Rows that alone have information in some direction are long in it, and are cut.
        """
        start, plan = self.start, self.plans[-1]
        if start.rows is None or plan.radius is None:
            return np.eye(len(self.anchor))
        z, h = start.rows.x @ self.coordinates.back, self._weights(self.steps[-1].step.anchor)
        square = np.maximum(h * (z**2).sum(axis=1), 1e-300)
        kept = h * np.minimum(1.0, plan.radius**2 / square)
        values, vectors = np.linalg.eigh((z * kept[:, None]).T @ z / len(z))
        values = np.maximum(values / values.mean(), _LEAST_KEPT)
        return np.asarray((vectors / np.sqrt(values)) @ vectors.T)

    def _weights(self, at: Floats) -> Floats:
        """Curvature of each public row at coefficients."""
        assert self.start.rows is not None
        return self.start.rows.working(self.family, self.coordinates.back @ at)[1]

    def _shown(self) -> Tail | None:
        """How long public rows are, or else private ones, where no score is longer than its row."""
        start = self.start
        return self.longest if self.longest is None or start.rows is None else start.shown()

    def pooled(self) -> tuple[Pooled, Step]:
        """The last round averaged, by inverse variance, with those of the others that had arrived.

        And the last step, both in coordinates of the last scores.
        """
        comparable, cut, last = self.steps[self.turned_at :], self.plans[-1].cut, self.steps[-1]
        assert self.curvature is not None
        share = max(last.remainder, min(share_left([one.step for one in self.steps]), 1.0))
        share = max(share, self._left_by_public(last.step))
        hessian, inverse = with_inverse(self.curvature.used + self.penalty)
        lost = cut.excess / cut.slope
        way = share * hessian @ last.step.move
        used = [one.step for one in comparable[:-1] if one.arrived] + [last.step]
        lean = self.lean
        if lean is not None:
            used = [one.turned(lean.turn, inverse) for one in used]
            used, way = used[-1:] if lean.stretch > 1 else used, lean.turn @ way
        pooled = replace(pool_steps(used), left=(way,), excess=lost, most=lost)
        return pooled, used[-1]

    def newton(self, made: Round, plan: RoundPlan) -> GlmStep:
        assert made.information is not None
        assert made.score is not None
        released, nothing = made.information.value, self.start.nothing
        if nothing is not None:
            released = apart(released, nothing)
        model = self._model()
        here = None if model is None else self._expected_at(model, self.anchor)
        self.seen.append(ReleasedInformation(released, made.information.noise_sd, expected=here))
        if here is None:
            curvature = pool_information(self.seen, self.start.level, self.start.known)
        else:
            curvature = informed(self.seen, here, self.start.known)
        if nothing is not None:
            curvature = still(curvature, nothing, foreseen=model is not None)
        score: Floats = made.score.value + self._lost(plan, made)
        if plan.lean is not None:
            score = np.linalg.solve(plan.lean.turn, score)
        step = self._step(curvature, score, made.score.noise_sd, plan.cut.slope, model, plan.last)
        self.curvature = curvature
        self.lines.append(_step_line(len(self.steps) + 1, step, curvature, self.session.n))
        moved = 0.3 * self.start.reach.typical(step.step.move)
        self.seen = [replace(s, drift=math.hypot(s.drift, moved)) for s in self.seen]
        self.price = self.shares.far if step.far else self.shares.near
        return step

    def _step(
        self,
        curvature: Curvature,
        score: Floats,
        noise_sd: float,
        slope: float,
        model: Model | None,
        last: bool,
    ) -> GlmStep:
        """A step, and again with the penalty of where it ends: there rows may tell far less."""
        back, sd = self.coordinates.back[self.few], noise_sd / slope
        by_chance = self._by_chance(sd) if last else 0.0
        how = self.anchor, score, noise_sd, slope, self.start.reach, self.scoring, model, by_chance
        size = self._prior(curvature.used, sd)
        penalty = self.penalty + (back.T * size) @ back
        step = trusted_step(curvature, penalty, *how)
        if model is not None and self.few.any():
            for _ in range(_LANDINGS):
                there = self._expected_at(model, self.anchor + step.step.move)
                size = np.maximum(size, self._prior(there, sd))
                penalty = self.penalty + (back.T * size) @ back
                step = trusted_step(curvature, penalty, *how)
        if not (self.steps and step.damped):
            return step
        hessian = curvature.used + penalty
        return half_back(step, self.steps[-1].step, hessian, self.coordinates.back)

    def _by_chance(self, noise_sd: float) -> float:
        """How long a score is at most, if it is noise of this ``noise_sd`` and of the step before it."""
        before = self.steps[-1].step.noise_sd if self.steps else 0.0
        return math.hypot(noise_sd, before) * math.sqrt(
            gaussian_square(len(self.anchor), _BY_CHANCE)
        )

    def _prior(self, information: Floats, noise_sd: float) -> Floats:
        """Penalties on effects of which hardly more than noise is seen: those of levels and marks.

        A log odds ratio is N(0, 2.5^2) before rows are seen (Gelman et al. 2008). Beside noise of
        variance v and information a, the mean of what it is then that of a penalty a v/2.5^2; up to a
        standard deviation of 1 there is none. Without it such an effect walks off to where its rows
        have no information, and from there on it is noise, which others follow.
        """
        back, inverse = self.coordinates.back[self.few], with_inverse(information)[1]
        variance = (noise_sd * np.linalg.norm(back @ inverse, axis=1)) ** 2
        told = 1 / quadratic_forms(back, inverse)
        return np.asarray(told * np.maximum(variance - 1, 0.0) / _USUAL_EFFECT**2)

    def _model(self) -> Model | None:
        """What typical rows say where nothing else is known of rows: of zeros and ones, and of levels.

        The rate of a level that nearly never has an event falls by one unit of its logarithm in a Newton
        step, and takes the information of its rows along: the model foresees both. Else the
        information of counts follows from the longest rows, of which moments say little.
        """
        typical, binary = self.start.typical, self.family.binary
        if typical is None or not (binary or typical.levels):
            return None
        if self.persons is not None or self.weighs:
            return None
        rows = typical.rows
        return Model(self.family, rows.x @ self.coordinates.back, rows.weight, typical.used)

    def _expected_at(self, model: Model, at: Floats) -> Floats:
        expected, nothing = model.information(at), self.start.nothing
        return expected if nothing is None else apart(expected, nothing)

    def next_anchor(self, step: GlmStep) -> Floats:
        """Where the next round computes its scores, perhaps in coordinates of the information there.

        Rows were whitened by their second moments: where the information is uneven, noise that is
        alike in all directions hides those with little. The steeper a slope becomes on the way, the
        less information is left along it, and the coordinates change again.
        """
        at, model = super().next_anchor(step), self._model()
        if model is None or step.error > _UNSURE:
            return at
        even, nothing = _EVEN_AGAIN if self.turned_at else _EVEN, self.start.nothing
        there = slice(None) if nothing is None else ~nothing
        turn = evened(self._expected_at(model, at), self.start.reach.metric, even, there)
        if turn is None:
            return at
        self._turn(turn)
        return np.asarray(turn.root @ at)

    def _turn(self, turn: Whitening) -> None:
        """Go on in coordinates ``turn.root`` t."""
        assert self.curvature is not None
        session, back, root = self.session, turn.back, turn.root
        start = self.start.turned(turn)
        session.whiten(start.whitening.back, start.coef)
        session.weigh(start.leverage)
        if self.start.longer is not None:
            start = start.measured(row_lengths(session, self.family, np.zeros(len(root))))
        self.start, self.coordinates = start, Coordinates.plain(start.whitening)
        self.longest = None if self.longest is None else start.longest(self.family)
        self.guesses = None, None
        self.carried, self.penalty = root @ self.carried, back @ self.penalty @ back
        self.seen = [one.turned(back) for one in self.seen]
        self.curvature = self.curvature.turned(back)
        self.steps = [one.turned(root) for one in self.steps]
        self.turned_at = len(self.steps)


def _left(part: float) -> float:
    """What a step leaves of its way, over its length, if along it information falls by exp(-part)."""
    return (-math.log1p(-part) - part) / part


def _step_line(k: int, step: GlmStep, curvature: Curvature, n: int) -> Diagnostic:
    move = step.step.move
    d = len(move)
    inverse = np.linalg.inv(curvature.used)
    return Diagnostic(
        f"step {k}",
        math.sqrt(float(move @ curvature.used @ move) * n / d),
        step.step.noise_sd * math.sqrt(n * float(np.trace(inverse)) / d),
        "length and noise of the Newton step, in standard errors per coefficient"
        + (" (damped)" if step.damped else ""),
    )


def _scale(histogram: LogHistogram, guess: float | None) -> float:
    return clamp_to_safe_range(histogram.quantile(0.9) or guess or histogram.peak())
