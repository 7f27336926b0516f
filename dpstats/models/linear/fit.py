"""Three ways of spending a total on a linear fit: `anchored`, `pmt` and `ssp`.

`fit_rows` opens a `LinearSession` over the rows and hands it to one of them, which makes its releases
there and turns them into a `LinearFit` by pure functions of arrays. Radii, clips, shares
and stopping depend on public and on released numbers only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.arrays import Floats
from dpstats.errors import PublicDataError
from dpstats.frame import Design, PublicMoments
from dpstats.mechanism.lattice import ExactMatrix
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource, coarse_map
from dpstats.mechanism.session import RowSummary
from dpstats.models.linear.releases import LinearSession
from dpstats.models.linear.rows import WithResponse
from dpstats.numerics.matrices import (
    Whitening,
    equilibrated_whitening,
    floored,
    shrink_second_moment,
    symmetric_whitening,
)
from dpstats.report.diagnostics import as_share, row_diagnostics
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.bounds import ReleasedSystem, released_system
from dpstats.score_rounds.cuts import (
    PRODUCT_QUANTILE,
    Clip,
    LinearPlan,
    choose_clip,
    choose_radius,
    choose_square_clip,
    plan_linear,
)
from dpstats.score_rounds.estimate import (
    Estimate,
    Step,
    filled_share,
    in_user_units,
    matrix_noise_covariance,
    newton_step,
    pool_steps,
    residual_variance,
    without_errors,
)
from dpstats.score_rounds.notes import average_condition, matrix_notes, ridge_note

_LONG = 1.4  # residual variance over that of its body, beyond which a tail is said to be long
_SHORT_STEP = 0.25
"""Share of the mean squared residual that a step may take off for its scale to be known after it."""
_LITTLE_NOISE = 0.02
"""Variance of the noise, over that of sampling, to which such knowledge is good enough."""


@dataclass(frozen=True)
class LinearFit:
    """What a method hands over: released and computed numbers, no rows."""

    estimate: Estimate
    system: ReleasedSystem
    sigma_source: str
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeclaredBounds:
    """Declared sizes: per column of the design, of a whole row in these units, of the response."""

    columns: Floats
    radius: float
    response: float


@dataclass(frozen=True)
class Coordinates:
    """Public coordinates of an anchored fit: rows are whitened, and measured from a public anchor.

    ``shift`` are the anchor's coefficients, ``prepared`` both as the rows of large tables see them.
    """

    whitening: Whitening
    shift: Floats
    prepared: ExactMatrix | None = None

    @classmethod
    def of(cls, moments: PublicMoments, rows: RowSource) -> Coordinates:
        """From public moments and the size of the table."""
        whitening = equilibrated_whitening(moments.gram)
        back = whitening.back
        shift: Floats = np.zeros(len(moments.terms))
        if moments.cross is not None:
            shift = back @ (back.T @ moments.cross)
        residual = math.inf  # a shift of zero loses nothing
        if moments.cross is not None:
            residual = math.sqrt(max((moments.yy or 0.0) - _explained(moments, back), 0.0))
        coarse = coarse_map(rows, back, shift, residual)
        if coarse is None:
            return cls(whitening, shift)
        back, shift = coarse.high[:, :-1], coarse.high[:, -1]
        return cls(Whitening(back, np.linalg.inv(back)), shift, coarse)


@dataclass(frozen=True)
class LinearTask:
    """What a linear fit is told before it meets a row; all of it public.

    Attributes
    ----------
    method : {"anchored", "pmt", "ssp"}
    design : Design
    moments : PublicMoments or None
        None for "ssp".
    extent : DeclaredBounds or None
        For "ssp".
    ridge, eta : float
    """

    method: str
    design: Design
    moments: PublicMoments | None
    extent: DeclaredBounds | None
    ridge: float
    eta: float


def fit_rows(
    task: LinearTask, rows: RowSource, total: Privacy, noise: Noise
) -> tuple[LinearFit, LinearSession]:
    """Spend a total on a fit of these rows; the session tells what was released for it."""
    if task.moments is None:
        assert task.extent is not None
        width = task.extent
        scale = np.concatenate([1 / width.columns, [width.radius / width.response]])
        source = WithResponse(rows)
        with LinearSession(source, np.diag(scale), 0 * scale, total, noise) as session:
            return ssp(session, task.design, width, task.ridge, task.eta), session
    if task.method == "pmt":
        root = symmetric_whitening(task.moments.gram)
        with LinearSession(rows, root.back, np.zeros(rows.d), total, noise) as session:
            return pmt(session, task.moments, root, task.ridge, task.eta), session
    at = Coordinates.of(task.moments, rows)
    whitening, shift = at.whitening.back, at.shift
    with LinearSession(rows, whitening, shift, total, noise, at.prepared) as session:
        return anchored(session, task.moments, at, task.ridge, task.eta), session


def anchored(
    session: LinearSession, moments: PublicMoments, at: Coordinates, ridge: float, eta: float
) -> LinearFit:
    """Score rounds from a public anchor.

    1. a private histogram of row lengths says where rows are cut;
    2. the second moments of the cut rows are released once (by the reading of the rows that also counts
       the scores of the first round);
    3. each round measures the scale of the scores at the present anchor, releases the mean cut
       score there and takes a Newton step. Rounds go on while the scale falls; the last one takes
       what is left of the total and is accompanied by the mean squared residual and the shares of
       cut and empty rows. In large tables the scale is not measured again after a step so short that
       it is known;
    4. the rounds' estimates are averaged by inverse variance.
    """
    n, d, mu = session.n, len(moments.terms), session.total.mu
    whitening, back = at.whitening, at.whitening.back
    plan = plan_linear(n, d, mu, moments.m, moments.cross is not None)
    start: Floats = np.zeros(d) if moments.cross is None else back.T @ moments.cross
    if at.prepared is not None:
        start = whitening.root @ at.shift
    anchor = start

    octave = math.floor(math.log2(math.sqrt(d)))
    lengths = session.length_histogram(plan.length, octave - 12, 32)
    gram_mu = mu * math.sqrt(plan.gram)
    radius = choose_radius(lengths.quantile(0.9) or math.sqrt(d), n, d, gram_mu)
    guess = _public_scale(moments, back, d)
    first = (anchor - start, *_window(guess, sure=False))
    released = session.gram(plan.gram, radius, prefetch=first)
    curvature = shrink_second_moment(released.value, released.noise_sd, known=not moments.ridged)
    penalty = ridge * back.T @ back

    steps: list[Step] = []
    last, known = None, None
    while True:
        if known is None:
            asked = (anchor - start, *_window(guess, sure=True)) if steps else first
            histogram = session.score_histogram(plan.scale, *asked)
            quantile = histogram.quantile(0.9)
            measured = quantile is not None
            scale = quantile or guess or histogram.peak()
            done = _is_last(plan, len(steps), session.left, scale, last, guess)
        else:
            scale, done = known, True
        part = plan.step if not done else session.left * (1 - plan.squares - plan.counts)
        clip = choose_clip(scale, histogram.count_above, n, d, mu * math.sqrt(part))
        if done:
            shares = (part, session.left * plan.squares, session.left * plan.counts)
            square = choose_square_clip(clip, n, mu * math.sqrt(shares[1]))
            score, rest = session.final_score(
                shares, anchor - start, clip.score, clip.residual, square
            )
        else:
            score = session.score(part, anchor - start, clip.score, clip.residual)
        step = newton_step(curvature, penalty, anchor, score.value, score.noise_sd, clip.slope)
        steps.append(step)
        if done:
            break
        anchor, guess, last = step.anchor + step.move, scale, scale
        if plan.sparing:
            rest_mu = mu * math.sqrt(session.left * (1 - plan.squares - plan.counts))
            known = _known_scale(step, clip, scale, 2 * clip.score / (n * rest_mu), n)
    pooled = pool_steps(steps)

    hessian = curvature.used + penalty
    noise_covariance = pooled.noise_sd**2 * np.eye(d) + matrix_noise_covariance(
        pooled.move, curvature.used_sd
    )
    inverse = np.linalg.inv(hessian)
    filled = filled_share(rest.empty_share, rest.share_sd)
    assert rest.mean_square is not None
    sigma2 = residual_variance(
        rest.mean_square,
        filled,
        curvature.used,
        pooled.coef - anchor,
        inverse @ noise_covariance @ inverse,
        n,
        floor=0.25 * clip.unit**2,
    )
    estimate = in_user_units(
        pooled.coef,
        hessian,
        curvature.used,
        noise_covariance + pooled.left_sd**2 * np.eye(d),
        sigma2,
        clip.efficiency / clip.slope**2,
        whitening,
        curvature.used_sd,
        n,
        ridge,
        filled,
    )
    if not curvature.resolved:
        estimate = without_errors(estimate)
    system = released_system(curvature, penalty, pooled.move, pooled.noise_sd, back)
    conditions = _condition_lines(moments.gram, curvature.released, back)
    diagnostics = (
        *row_diagnostics(
            (rest.cut_share, rest.share_sd),
            (rest.empty_share, rest.share_sd),
            "share whose row or score was cut in the last round",
        ),
        *conditions,
        Diagnostic("rounds", len(steps), None, "score rounds, chosen from releases"),
        *_planned(plan, moments),
    )
    return LinearFit(
        estimate,
        system,
        "private",
        diagnostics,
        _warnings(curvature.positive_definite, curvature.resolved, ridge)
        + (_tail_note(clip, rest, sigma2, n) if measured else ()),
    )


def _planned(plan: LinearPlan, moments: PublicMoments) -> tuple[Diagnostic, ...]:
    """What the plan expected; without the number of public rows it expects the worst of them."""
    if moments.m is None:
        return ()
    note = "over that of least squares without privacy, from public numbers"
    return (Diagnostic("planned error", plan.predicted_ratio, None, note),)


def _public_scale(moments: PublicMoments, back: Floats, d: int) -> float | None:
    """Expected length of a score at the public anchor: sqrt(d) public residual sd; None unknown."""
    if moments.yy is None or not moments.yy > 0:
        return None
    if moments.cross is None:
        return math.sqrt(d * moments.yy)
    rest = moments.yy - _explained(moments, back)
    return math.sqrt(d * max(rest, 1e-6 * moments.yy))


def _explained(moments: PublicMoments, back: Floats) -> float:
    """Mean square of the public fit, cross' S^-1 cross."""
    assert moments.cross is not None
    return float(((back.T @ moments.cross) ** 2).sum())


def _window(guess: float | None, sure: bool) -> tuple[int, int]:
    """Octaves that a histogram of score lengths looks at."""
    if guess is None:
        return -64, 160
    middle = math.frexp(guess)[1]
    return (middle - 24, 30) if sure else (middle - 24, 48)


def _known_scale(step: Step, clip: Clip, scale: float, noise_sd: float, n: int) -> float | None:
    """The scale of the scores after a short step; None where it must be measured.

    Rows are whitened: moving the anchor by m takes |m|^2 off the mean squared residual. A cut that is
    somewhat too wide for it costs noise, so that what the last score will have (``noise_sd``) must be
    small beside its sampling error.
    """
    taken = float(step.move @ step.move) / clip.unit**2
    if taken > _SHORT_STEP or n * (noise_sd / clip.unit) ** 2 > _LITTLE_NOISE:
        return None
    return scale * math.sqrt(1 - taken)


def _is_last(
    plan: LinearPlan,
    made: int,
    left: float,
    scale: float,
    before: float | None,
    guess: float | None,
) -> bool:
    """Whether this round is the last: from the plan and released scales only.

    The first may be it when the plan allows and the residuals are as small as the public ones, so that
    the public anchor is as good as it looked.
    """
    if made + 1 >= plan.most_rounds or left - plan.step - plan.scale < plan.keep:
        return True
    if made + 1 < plan.least_rounds:
        return False
    if before is None:
        return guess is not None and scale <= 1.5 * PRODUCT_QUANTILE * guess
    return scale > plan.fall * before


def require_response(moments: PublicMoments) -> None:
    """Raise unless the papers' algorithm has the public response that it needs."""
    if moments.cross is None or not moments.yy:
        raise PublicDataError(
            "method='pmt' scales the response by its public second moment: give public rows with "
            "the response, or public_moments of the two-sided formula; method='anchored' can do "
            "without."
        )


def pmt(
    session: LinearSession, moments: PublicMoments, whitening: Whitening, ridge: float, eta: float
) -> LinearFit:
    """Algorithm 2 of the ridge paper (ridge = 0: Algorithm 3 of the OLS paper), to the letter.

    Half of the total's mu^2 goes to each of the two mechanisms. Nothing else is released, so the
    residual variance that the standard errors need is that of the public rows.
    """
    require_response(moments)
    assert moments.cross is not None
    assert moments.yy is not None
    n, d = session.n, len(moments.terms)
    log_factor = 1 + math.log(2 * n / eta)
    unit = math.sqrt(moments.yy)
    released = session.gram(0.5, math.sqrt(d * log_factor), papers=True)
    cross = session.cross(session.left, unit * math.sqrt(log_factor))
    back = whitening.back
    penalty = ridge * back.T @ back
    hessian = released.value + penalty
    coef = np.linalg.solve(hessian, cross.value)
    noise_covariance = cross.noise_sd**2 * np.eye(d) + matrix_noise_covariance(
        coef, released.noise_sd, isometric=False
    )
    rest = moments.yy - _explained(moments, back)
    known = moments.m is not None and moments.m > d
    sigma2 = max(rest, 0.0) * moments.m / (moments.m - d) if known else None  # type: ignore[operator]
    usable = floored(released.value, released.noise_sd / 2)  # for what follows; coef is theirs
    filled = _filled_by_constant(usable, whitening, released.noise_sd, moments.design)
    estimate = in_user_units(
        coef,
        usable + penalty,
        usable,
        noise_covariance,
        sigma2,
        1.0,
        whitening,
        released.noise_sd * math.sqrt(2),
        n,
        ridge,
        filled,
    )
    system = ReleasedSystem(
        released.value,
        released.value,
        released.noise_sd,
        False,
        penalty,
        coef,
        cross.noise_sd,
        back,
    )
    smallest = float(np.linalg.eigvalsh(released.value)[0])
    diagnostics = _condition_lines(moments.gram, released.value, back)
    notes = (
        "Standard errors take the residual variance from the public rows: the papers' algorithm "
        "releases none. It truncates rows and responses without saying how many.",
    )
    resolved = smallest > 1.5 * released.noise_sd
    if not resolved:
        estimate = without_errors(estimate)
    return LinearFit(
        estimate,
        system,
        "public rows",
        diagnostics,
        notes + _warnings(smallest > 0, resolved, ridge),
    )


def ssp(
    session: LinearSession, design: Design, width: DeclaredBounds, ridge: float, eta: float
) -> LinearFit:
    """Noisy sufficient statistics of rows cut to declared limits, with AdaSSP's adaptive ridge.

    One symmetric Gaussian mechanism releases the joint second moments of (z, y R/B): z = x/width
    cut with y to length sqrt(2) R. The ridge is raised until the noise's spectral norm is covered
    (Wang 2018), with the eigenvalues read off the release itself.
    """
    n, d, radius = session.n, len(width.columns), width.radius
    released = session.gram(1.0, math.sqrt(2) * radius, what="joint moments of design and response")
    ratio = radius / width.response
    gram, cross = released.value[:d, :d], released.value[:d, d] / ratio
    square = float(released.value[d, d]) / ratio**2
    back = np.diag(1 / width.columns)
    smallest = float(np.linalg.eigvalsh(gram)[0])
    sd = released.noise_sd
    noise_norm = sd * (math.sqrt(2 * d) + math.sqrt(2 * math.log(4 / eta)))
    sure = max(smallest - sd * math.sqrt(2 * math.log(1 / eta)), 0.0)
    added = max(0.0, noise_norm - sure)
    penalty = ridge * back.T @ back + added * np.eye(d)
    hessian: Floats = gram + penalty
    hessian = floored(hessian, noise_norm / 4)
    coef = np.linalg.solve(hessian, cross)
    noise_covariance = (sd / math.sqrt(2) / ratio) ** 2 * np.eye(d)
    noise_covariance = noise_covariance + matrix_noise_covariance(coef, sd)
    at_fit = square - 2 * float(coef @ cross) + float(coef @ gram @ coef)
    floor = 1e-6 * width.response**2
    whitening = Whitening(back, np.diag(width.columns))
    positive = floored(gram, sd / 2)
    filled = _filled_by_constant(gram, whitening, sd, design)
    sigma2 = max(at_fit * n / max(filled * n - d, 1), floor)
    estimate = in_user_units(
        coef, hessian, positive, noise_covariance, sigma2, 1.0, whitening, sd, n, ridge, filled
    )
    system = ReleasedSystem(
        gram, hessian - penalty, sd, True, penalty, coef, sd / math.sqrt(2) / ratio, back
    )
    diagnostics = (
        Diagnostic("ridge added", added, None, "in units of the limits, to outweigh the noise"),
        Diagnostic("smallest eigenvalue", smallest, sd, "of the released moments, in those units"),
    )
    notes: tuple[str, ...] = ()
    if added > 0:  # the bias of the shrinkage is of the order of the coefficients: no honest error
        estimate = without_errors(estimate)
        notes = (
            f"A ridge of {added:.3g} (in units of the limits) was needed against the noise: estimates "
            "are shrunk towards zero and standard errors are not given. More rows, a larger budget, "
            "narrower limits, columns and a response measured from the middle of their limits, such as "
            "I(x - 5) for (0, 10), or a public sample help.",
        )
    return LinearFit(
        estimate, system, "private", diagnostics, notes + _warnings(smallest > 0, True, ridge)
    )


def _filled_by_constant(moments: Floats, whitening: Whitening, sd: float, design: Design) -> float:
    """Share of rows that are not empty, read off the mean square of the constant where there is one."""
    if design.constant is None or design.weights is not None:
        return 1.0
    constant = whitening.root[:, design.constant]
    share = float(constant @ moments @ constant)
    return filled_share(1.0 - share, sd * float(constant @ constant))


def _condition_lines(public: Floats, released: Floats, back: Floats) -> tuple[Diagnostic, ...]:
    """Average condition number (1/d) sum lambda_i / lambda_min before and after whitening."""
    before, after = (average_condition(m) for m in (public, released))
    return (
        Diagnostic("condition before", before, None, "average, public second moments"),
        Diagnostic("condition after", after, None, "average, released whitened moments"),
    )


def _warnings(positive: bool, resolved: bool, ridge: float) -> tuple[str, ...]:
    """What a reader must know before the digits."""
    return matrix_notes("second moments", "are", positive, resolved) + ridge_note(ridge)


def _tail_note(clip: Clip, rest: RowSummary, sigma2: float, n: int) -> tuple[str, ...]:
    """Said where scores were seen beyond the cut that could move a coordinate by its standard error.

    Or where residuals are surely larger than their body lets expect: counts of scores miss a tail of few
    rows.
    """
    long = sigma2 - 3 * rest.mean_square_sd > _LONG * clip.unit**2
    if clip.lost < 1 / math.sqrt(n) and not long:
        return ()
    share = 100 * as_share(rest.cut_share)
    many = f"about {share:.2g}%" if share else "a few"
    return (
        f"Residuals or rows have a long tail: {many} of the rows were truncated, which moves the "
        "estimates if the errors are skewed. Transform the response, or use a family for such data.",
    )
