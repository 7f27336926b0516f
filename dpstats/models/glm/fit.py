"""Private Newton steps from a public anchor: how a generalised linear fit spends its total.

`anchored` takes an open `ScoreSession` over the private rows, makes its releases there, and turns them
into a `GlmFit` by pure functions of arrays. Radii, clips, shares, steps and stopping
depend on public and on released numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dpstats.arrays import Floats
from dpstats.frame import Design
from dpstats.mechanism.release import Release
from dpstats.mechanism.session import clamp_to_safe_range
from dpstats.models.glm.estimate import (
    Expected,
    GlmStep,
    ReleasedInformation,
    StepRange,
    loss_with_unseen,
    near_enough,
    pool_information,
    trusted_step,
)
from dpstats.models.glm.family import Family
from dpstats.models.glm.planning import (
    GlmPlan,
    RoundShares,
    choose_information_radius,
    coarse_enough,
    plan_glm_rounds,
)
from dpstats.models.glm.public import StartingPoint, released_null
from dpstats.numerics.histogram import LogHistogram
from dpstats.numerics.matrices import Curvature
from dpstats.report.diagnostics import row_diagnostics
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.bounds import ReleasedSystem
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
)
from dpstats.score_rounds.estimate import (
    Estimate,
    pool_steps,
    share_left,
    where_given,
    without_columns,
    without_errors,
)
from dpstats.score_rounds.first_look import few_rows_note
from dpstats.score_rounds.leaning import Anchor, leaning, long_from
from dpstats.score_rounds.notes import (
    TOO_LITTLE,
    allowance_line,
    average_condition,
    hidden_note,
    leaning_line,
    matrix_notes,
    outside_note,
    ridge_note,
    unseen_note,
    unused_note,
)
from dpstats.score_rounds.releases import PersonCounts, Round, ScoreSession, Shares
from dpstats.score_rounds.rounds import (
    PERSONS,
    Coordinates,
    RoundPlan,
    ScoreRounds,
    quartered,
    rows_line,
    rows_of_each,
    solution,
    summary_of,
    window_about,
)
from dpstats.score_rounds.tails import Tail, counted_excess, tail_of
from dpstats.score_rounds.whitening import apart, still, whitened_lengths

_CARE = 0.25
"""Share of what is cut that is weighed as bias."""
_WIDENING = 0.3
"""Share of what is cut that standard errors count, but for responses between 0 and 1."""
_STILL = 0.1
"""Of an error of sampling: steps from which a fit may not have settled."""
_LENGTHS = 0.006
"""Share of a histogram of row lengths, where nothing else tells how long rows are."""
_LEAST = 1e-3
"""Of all shares of a total the smallest, of counts in a last round that has little left."""
_FLATTER = 0.75
"""Information at the coefficients over the one that steps used, below which a fit has not settled."""
_IMPOSSIBLE = 0.03
"""Share of rows that are not used from which it is said: responses may be of another family."""
_EXPLAINED = 0.6
"""Share of the entropy of the responses beyond which rows are taken to be separated."""


@dataclass(frozen=True)
class GlmFit:
    """What a method hands over: released and computed numbers, no rows.

    Attributes
    ----------
    dispersion_source : str
        "fixed", "private" or "public rows".
    pearson, pearson_sd : float or None
        Released Pearson dispersion and its noise.
    steps : int
        Private Newton steps.
    """

    estimate: Estimate
    system: ReleasedSystem | None
    dispersion_source: str
    pearson: float | None
    pearson_sd: float | None
    steps: int
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    """Those of the notes that say that cutting may have moved coefficients."""


@dataclass(kw_only=True)
class _Rounds(ScoreRounds[GlmStep]):
    """Rounds of a generalised linear fit: the curvature is released in each of them.

    ``longer`` is the share of information rows that the last histogram has beyond their cut, ``unseen``
    the noise of its counts of scores; ``longest`` how long rows are, where no score is longer;
    ``expected`` are the scores of typical rows at the anchor, under the model, ``beyond`` is what counts
    may have beyond the last cut.
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
    expected: Expected | None = None
    beyond: float = 0.0
    seen: list[ReleasedInformation] = field(default_factory=list)
    curvature: Curvature | None = None
    lines: list[Diagnostic] = field(default_factory=list)
    longer: float = 0.0
    unseen: float = 0.0

    def plan(self) -> RoundPlan:
        session, shares, price = self.session, self.shares, self.price
        n, d, mu = session.n, len(self.anchor), session.total.mu
        last = _is_last(
            shares, session.left, price, self.steps, self.start.reach, n, self.flatter(self.anchor)
        )
        if last:
            session.weigh(None)
        windows = window_about(self.guesses[0]), window_about(self.guesses[1])
        lengths_share = shares.near.lengths if last else price.lengths
        by_tail = last and not self.family.binary  # most of it tells how long scores are
        part = 0.2 if by_tail else 0.5
        fine = quartered(self.guesses[1], windows[1]) if by_tail else None
        at = self.anchor - self.carried
        histograms = (
            session.information_lengths(part * lengths_share, at, windows),
            session.score_lengths((1 - part) * lengths_share, at, windows, fine),
        )
        self.unseen = histograms[1].noise_sd
        lengths = _scale(histograms[0], self.guesses[0]), _scale(histograms[1], self.guesses[1])
        self.guesses = lengths
        tail = tail_of(histograms[1], lengths[1], n) if last else None
        long, length = (None, 0.0) if tail is None else self._long_scores(tail)
        costs = _costs(shares, session.left, price, last)
        seen = self.seen
        level = abs(float(np.trace(seen[-1].matrix))) / d if seen else self.start.level
        coef = self.coordinates.back @ self.anchor
        if last or self.family.binary or self.start.rows is not None:
            self.expected = self.start.expected(self.family, coef)
        plan = _round_plan(
            self.family,
            self.start,
            histograms,
            lengths,
            self.expected,
            level,
            costs,
            mu,
            n,
            tail,
            rows_of_each(self.persons, n),
            self.longest,
        )
        assert plan.radius is not None
        self.longer = float(histograms[0].count_above(np.array([plan.radius]))[0]) / n
        if tail is not None:
            self.beyond = counted_excess(histograms[1], tail, n, plan.cut.length)
        if long is not None and tail is not None:
            scores = Seen(histograms[1], tail, n, self.longest)
            paid = mu * math.sqrt(costs.score)
            share = 0.0 if self.expected is None else self.expected.information_beyond(length)
            began = Anchor(level * self.steps[-1].error, level, share)
            plan = replace(plan, lean=leaning(long, length, scores, plan.cut, paid, began))
        return plan

    def _long_scores(self, tail: Tail) -> tuple[Release | None, float]:
        """What of the scores at the last anchor is far out, beside what the family expects.

        Not at the first anchor, where scores lean towards the fit. Of persons, whose scores are sums, a
        family expects nothing that could be said.
        """
        if not self.steps or self.persons is not None:
            return None, 0.0
        session, share = self.session, self.session.left * self.shares.leaning
        paid = session.total.mu * math.sqrt(share)
        length = long_from(tail, session.n, len(self.anchor), paid)
        return session.long_scores(share, self.anchor - self.carried, length), length

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
        weight = start.rows.working(self.family, self.coordinates.back @ at)[1]
        each = weight * np.sum(z * np.linalg.solve(self.curvature.used, z.T).T, axis=1) / z.shape[1]
        return float(each.mean() + each.std() / math.sqrt(len(each))) < _FLATTER

    def newton(self, made: Round, plan: RoundPlan) -> GlmStep:
        assert made.information is not None
        assert made.score is not None
        n, reach = self.session.n, self.start.reach
        released, nothing = made.information.value, self.start.nothing
        if nothing is not None:
            released = apart(released, nothing)
        self.seen.append(ReleasedInformation(released, made.information.noise_sd))
        curvature = pool_information(self.seen, self.start.level, self.start.known)
        if nothing is not None:
            curvature = still(curvature, nothing)
        score: Floats = made.score.value + self._lost(plan, made)
        if plan.lean is not None:
            score = np.linalg.solve(plan.lean.turn, score)
        step = trusted_step(
            curvature,
            self.penalty,
            self.anchor,
            score,
            made.score.noise_sd,
            plan.cut.slope,
            reach,
            self.scoring,
        )
        self.curvature = curvature
        self.lines.append(_step_line(len(self.steps) + 1, step, curvature, n))
        moved = 0.3 * reach.typical(step.step.move)
        self.seen = [replace(s, drift=math.hypot(s.drift, moved)) for s in self.seen]
        self.price = self.shares.far if step.far else self.shares.near
        return step


def anchored(
    session: ScoreSession,
    family: Family,
    start: StartingPoint,
    ridge: float,
    iterations: int | None,
    design: Design,
    errors: str,
) -> GlmFit:
    """Private Newton steps from a public anchor.

    Each round measures the lengths of information rows and of scores at the present anchor, releases
    the mean cut score and the mean information there, and takes a Newton step on the information pooled
    over the rounds, damped where the step would leave the region in which a quadratic is believed. A
    round is the last when, by released scales, it leaves next to nothing behind; it takes what is left
    of the total, and shares it with the outer products of the scores, the mean squared Pearson residual
    and the shares of cut and of empty rows.
    """
    terms = design.terms
    n, d, mu = session.n, len(terms), session.total.mu
    session.require(_LEAST)
    coef, spent, persons = start.coef, start.spent, None
    if session.by_person:
        persons = session.rows_of_persons(PERSONS)
        spent += PERSONS
        start = start.for_persons(rows_of_each(persons, n))
        session.whiten(start.whitening.back, start.coef)
    if _needs_level(start, family, terms):
        spent += 0.03
        constant = terms.index("Intercept")
        coef = released_null(session, family, 0.03, d, constant)
        start = replace(start, level=family.information(coef[constant]))
    squares = not family.binary or family.dispersed
    if family.binary and start.rows is None and start.longer is None:
        spent += _LENGTHS
        lengths = whitened_lengths(session, _LENGTHS, d)
        unit = math.sqrt(family.information(0.0))  # they are those of information rows
        start = replace(start, longer=lengths.tail.scaled(1 / unit))
    plan = plan_glm_rounds(iterations, spent, squares, errors == "hetero")
    at = Coordinates.plain(start.whitening)
    session.weigh(start.leverage)
    rounds = _Rounds(
        session=session,
        coordinates=at,
        anchor=at.root @ coef,
        carried=at.root @ start.coef,  # the rows carry its linear predictor
        family=family,
        start=start,
        shares=plan,
        price=plan.far if coarse_enough(n, d, mu, plan.far) else plan.near,
        penalty=rows_of_each(persons, n) * ridge * at.back.T @ at.back,
        guesses=(start.information, start.score),
        scoring=0.0 if family.canonical else 4 * math.sqrt(d / n),
        persons=persons,
        longest=start.longest(family) if persons is None and design.weights is None else None,
        weighs=design.weights is not None or bool(design.offsets and start.rows is None),
    )
    made = rounds.run()
    return _finished(rounds, made, ridge, design)


def _round_plan(
    family: Family,
    start: StartingPoint,
    histograms: tuple[LogHistogram, LogHistogram],
    lengths: tuple[float, float],
    expected: Expected | None,
    level: float,
    costs: Shares,
    mu: float,
    n: int,
    tail: Tail | None,
    rows: float,
    longest: Tail | None,
) -> RoundPlan:
    """Cuts of a round from the scales just released and from the scores that are ``expected``.

    ``level`` is the mean eigenvalue of the information, by which scores are longer than Pearson
    residuals; ``tail`` that of scores, in the last round; ``rows`` is how many rows a person has, where
    scores are summed up over these; ``longest`` how long rows are, where no score is longer.
    """
    d, last = len(start.coef), tail is not None
    radius = choose_information_radius(
        lengths[0], histograms[0].count_above, n, d, mu * math.sqrt(costs.information)
    )
    score_mu = mu * math.sqrt(costs.score)
    square_mu = mu * math.sqrt(max(costs.squares, costs.counts))
    per_person = math.sqrt(max(rows, 1.0))
    loss = None if expected is None else expected.loss()
    rare = family.rarer(level)
    if rare is not None:
        loss = loss_with_unseen(loss, start.reach, histograms[1].noise_sd / n, rare, start.longer)
    if tail is not None and not family.binary:
        cut = cut_for_intervals(tail, n, d, score_mu, _CARE, loss)
        squares = tail_of(histograms[1], lengths[1], n, 2)
        square = cut_of_squares(squares, d, n, square_mu) / math.sqrt(max(level, 1e-300))
        return RoundPlan(costs, cut, radius, per_person * square, last=True)
    tails = BOUNDED if family.binary else SKEWED if family.skewed else ERRORS
    if start.rows is None:  # what is cut may all belong to one coefficient, say of a rare level
        tails = replace(tails, skew=max(tails.skew, math.sqrt(d) / 2))
    above = _no_more_than(histograms[1].count_above, longest, n)
    seen = _no_more_than(histograms[1].seen_above, longest, n)
    clip = choose_clip(lengths[1], above, n, d, score_mu, tails, seen, loss)
    residual = replace(clip, unit=clip.unit / math.sqrt(max(level, 1e-300)))
    square = per_person * choose_square_clip(residual, n, square_mu) if last else 1.0
    cut = Cut(
        clip.score, clip.slope, clip.lost * clip.unit * math.sqrt(d), clip.unit, clip.efficiency
    )
    return RoundPlan(costs, cut, radius, square, last=last)


def _no_more_than(
    above: Callable[[Floats], Floats], longest: Tail | None, n: int
) -> Callable[[Floats], Floats]:
    """Counts of scores above a length, where no score is longer than its row: noise may say so."""
    if longest is None:
        return above
    return lambda length: np.minimum(
        above(length), n * np.interp(length, longest.lengths, longest.share)
    )


def _needs_level(start: StartingPoint, family: Family, terms: Sequence[str]) -> bool:
    """Nothing is known of the size of responses whose mean is the exponential of the predictor."""
    return family.link == "log" and not start.coef.any() and "Intercept" in terms


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


def _is_last(
    plan: GlmPlan,
    left: float,
    price: RoundShares,
    made: list[GlmStep],
    reach: StepRange,
    n: int,
    flatter: bool,
) -> bool:
    """Whether this round is the last: from the plan and from released numbers only."""
    if len(made) + 1 >= plan.most_rounds or left - price.total - plan.near.lengths < plan.keep:
        return True
    if len(made) + 1 < plan.least_rounds or flatter:
        return False
    share = (left - plan.near.lengths) * (1 - plan.last_information)
    noise_sd = made[-1].step.noise_sd * math.sqrt(price.score / share)
    return near_enough(made[-1], reach, noise_sd, n)


def _costs(plan: GlmPlan, left: float, price: RoundShares, last: bool) -> Shares:
    """Shares of a round."""
    if not last:
        return Shares(information=price.information, score=price.score)
    rest = plan.last_information + plan.outer + plan.squares + plan.counts
    return Shares(
        information=left * plan.last_information,
        score=left * (1 - rest),
        outer=left * plan.outer,
        squares=left * plan.squares,
        counts=left * plan.counts,
    )


def _finished(rounds: _Rounds, made: Round, ridge: float, design: Design) -> GlmFit:
    """Coefficients, covariances and diagnostics from what was released.

    The last round is averaged, by inverse variance, with those of the others that had arrived.
    """
    family, start, steps, n = rounds.family, rounds.start, rounds.steps, rounds.session.n
    curvature, cut, last = rounds.curvature, rounds.plans[-1].cut, steps[-1]
    assert curvature is not None
    summary, terms = summary_of(made), design.terms
    share = max(last.remainder, min(share_left([one.step for one in steps]), 1.0))
    hessian = curvature.used + rounds.penalty
    lost = cut.excess / cut.slope
    way = share * hessian @ last.step.move
    used = [one.step for one in steps[:-1] if one.arrived] + [last.step]
    lean = rounds.plans[-1].lean
    if lean is not None:
        inverse = np.linalg.inv(hessian)
        used = [one.turned(lean.turn, inverse) for one in used]
        used, way = used[-1:] if lean.stretch > 1 else used, lean.turn @ way
    pooled = replace(pool_steps(used), left=(way,), left_sd=0.0, excess=lost, most=lost)
    widening = 0.0 if family.binary else _WIDENING
    solved = solution(
        rounds.coordinates,
        curvature,
        pooled,
        used[-1],
        made,
        cut,
        dispersion=None if family.dispersed else 1.0,
        widening=widening,
        n=n,
        ridge=ridge,
        square_floor=1e-3 * summary.mean_square_sd,
        square_lost=0.0,
        rows=None if rounds.persons is None else max(rounds.persons.rows, len(terms) + 1.0),
        lean=lean,
    )
    estimate, pearson = solved.estimate, solved.square
    spread = (estimate.dispersion or 1.0) / n
    sampling2 = spread * float(np.trace(np.linalg.inv(hessian)))
    unsettled = rounds.flatter(rounds.coordinates.root @ estimate.coef) or _unsettled(
        curvature, last, sampling2
    )
    per_row = rows_of_each(rounds.persons, n)
    unit = math.sqrt(estimate.dispersion or 1.0)  # lines so far are at unit dispersion
    lines = [
        replace(line, value=line.value / unit, noise_sd=line.noise_sd / unit)
        for line in rounds.lines
        if line.value is not None and line.noise_sd is not None
    ]
    separated = (
        family.binary
        and start.rows is not None
        and _separated(family.mean(start.rows.x @ estimate.coef + start.rows.offset))
    )
    hidden = start.hidden
    if not start.enough:
        estimate = without_columns(estimate)
    elif separated or not curvature.resolved or unsettled:
        estimate = without_errors(estimate)
    elif hidden is not None:
        estimate = without_columns(without_errors(estimate, hidden), start.nothing)
    diagnostics = (
        *row_diagnostics(
            (summary.cut_share, summary.share_sd),
            (summary.empty_share, summary.share_sd),
            "share whose score or information was cut in the last round"
            + (
                ""
                if design.weight_bound is None
                else ", or whose weight was above the public bound"
            ),
            "share that is missing, or has an unknown level or an impossible response",
            rounds.session.persons,
        ),
        *rows_line(rounds.persons),
        condition_line(curvature.released),
        *lines,
        *allowance_line(terms, where_given(solved.moved.expected, estimate), widening),
        *leaning_line(terms, solved.leaning, estimate),
    )
    pearson_sd = None if pearson is None else summary.mean_square_sd / per_row
    alone, persons = start.leverage is not None, rounds.session.persons
    tail: tuple[str, ...] = ()
    if curvature.resolved and not family.binary and hidden is not None:
        tail = unseen_note(rounds.unseen, n)
    return GlmFit(
        estimate,
        None if last.damped else solved.system,  # the bounds are of full Newton steps
        "private" if family.dispersed else "fixed",
        pearson,
        pearson_sd,
        len(steps),
        diagnostics,
        (() if start.enough else TOO_LITTLE)
        + (() if alone else few_rows_note(n, len(terms), rounds.session.total.mu, persons))
        + unused_note(
            summary,
            design,
            persons,
            alone,
            _IMPOSSIBLE,
            None if family.linear else family.domain,
        )
        + (() if hidden is None else hidden_note(terms, hidden, start.nothing))
        + _warnings(curvature, unsettled, ridge)
        + (_SEPARATED if separated else ())
        + outside_note(design, summary, 1 - cut.slope + rounds.longer)
        + tail
        + (_overdispersed(family, pearson, pearson_sd) if made.outer is None else ()),
        tail,
    )


_SEPARATED = (
    "Standard errors are not given: at these coefficients the public rows are predicted nearly "
    "without error, as when a column separates the responses. Steps are still long there, and no "
    "budget shows how long. A ridge, or fewer columns, help.",
)


def _separated(probability: Floats) -> bool:
    """Whether a fit explains more than `_EXPLAINED` of the entropy of the responses."""

    def entropy(p: Floats) -> Floats:
        p = np.clip(p, 1e-12, 1 - 1e-12)
        return np.asarray(-p * np.log(p) - (1 - p) * np.log(1 - p))

    total = float(entropy(np.atleast_1d(probability.mean()))[0])
    return float(entropy(probability).mean()) < (1 - _EXPLAINED) * total


def condition_line(released: Floats) -> Diagnostic:
    """Average condition number of the information."""
    found = average_condition(released)
    return Diagnostic("condition", found, None, "average, of the released information")


def _unsettled(curvature: Curvature, last: GlmStep, sampling2: float) -> bool:
    """Whether the last step was long beside its noise, so that what is left of the way is not known.

    Less than `_STILL` of the error of sampling, ``sampling2`` squared, is no matter.
    """
    least = max(2 * last.noise, _STILL * math.sqrt(max(sampling2, 0.0)))
    return last.damped or (curvature.resolved and last.bend > least)


def _warnings(curvature: Curvature, unsettled: bool, ridge: float) -> tuple[str, ...]:
    resolved = curvature.resolved
    notes = matrix_notes("information", "is", curvature.positive_definite, resolved)
    if unsettled:
        notes += (
            "The fit has not settled, and no standard errors are given: the last Newton step was "
            "long, as when a column separates the responses, an outcome or a level is very rare, "
            "or public columns are in other units than the private ones. A ridge, public rows "
            "with responses, or a larger budget helps.",
        )
    return notes + ridge_note(ridge)


def _overdispersed(family: Family, pearson: float | None, sd: float | None) -> tuple[str, ...]:
    if family.dispersed or pearson is None or sd is None or pearson - 3 * sd < 1.2:
        return ()
    other = (
        "family='quasipoisson'" if family.name == "poisson" else "a quasi family or another alpha"
    )
    return (
        f"The Pearson dispersion is about {pearson:.2g}, but standard errors assume 1 and are too "
        f"small: use {other}, or vcov='hetero'.",
    )
