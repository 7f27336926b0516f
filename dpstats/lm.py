"""Private linear models: formula and data in, estimates with honest errors out.

The way of a call, top to bottom: `dp_lm` turns privacy, public data and formula into public numbers
(`dpstats.frame`), opens a `Session` over the private rows (`dpstats.mechanism`), lets one of three
methods spend the total on releases, turns these into estimates (`dpstats.estimate`) and returns a
`LinearModel`, which answers everything else without touching a row again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpstats.bounds.linear import ReleasedSystem
from dpstats.errors import ArgumentError, PublicDataError
from dpstats.estimate.linear import (
    LinearEstimate,
    Step,
    linear_estimate,
    matrix_noise_covariance,
    newton_step,
    pool_steps,
    residual_variance,
)
from dpstats.estimate.matrices import (
    Floats,
    Whitening,
    equilibrated_whitening,
    floored,
    shrink_second_moment,
    symmetric_whitening,
)
from dpstats.estimate.planning import (
    LinearPlan,
    choose_clip,
    choose_radius,
    choose_square_clip,
    plan_linear,
)
from dpstats.frame import Design, PublicMoments, Rows, public_moments
from dpstats.linear_model import LinearModel, coefficients_of
from dpstats.mechanism.noise import make_noise
from dpstats.mechanism.privacy import resolve_privacy
from dpstats.mechanism.rows import WithResponse
from dpstats.mechanism.session import Session
from dpstats.report.linear import Diagnostic
from dpstats.report.privacy import PrivacyStatement

METHODS = ("anchored", "pmt", "ssp")


@dataclass(frozen=True)
class _Fit:
    """What a method hands over: released and computed numbers, no rows."""

    estimate: LinearEstimate
    system: ReleasedSystem
    sigma_source: str
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...] = ()


def dp_lm(
    formula: str,
    data: Any,
    public: Any = None,
    *,
    mu: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    method: str | None = None,
    ridge: float = 0.0,
    eta: float = 0.05,
    weights: str | None = None,
    offset: str | None = None,
    limits: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> LinearModel:
    """Fit a linear model under differential privacy.

    Parameters
    ----------
    formula : str
        A model formula as in R: ``"y ~ x1 + C(g) + poly(x2, 2)"``, ``"log(y) ~ ."``.
    data : pandas, polars or pyarrow table
        The private rows. Rows that are missing, not finite, or carry a level that the public data
        do not know count as zero; nothing is ever said about an individual row.
    public : table or PublicMoments, optional
        Public rows of the same columns, or what `public_moments` says of them, or a declared
        matrix (`PublicMoments.declare`). Teaches levels and transformations, whitens the design,
        and gives the first anchor.
    mu, rho, epsilon, delta : float
        The total privacy of the call, in exactly one unit: Gaussian DP, zCDP, or (epsilon, delta).
    method : {"anchored", "pmt", "ssp"}, optional
        "anchored" (default with public data): score rounds from a public anchor. "pmt": the papers'
        Algorithm 2 (Algorithm 3 of the OLS paper for ridge=0) to the letter. "ssp" (default
        without public data): noisy sufficient statistics within declared ``limits``.
    ridge : float
        Penalty (ridge/2)|b|^2 on the mean squared loss (1/2n)|y - Xb|^2.
    eta : float
        Failure probability of the bounds.
    weights, offset : str, optional
        Names of columns. Weights need a public bound: the largest public weight, or
        ``limits={"(weights)": (0, bound)}``. An offset may also stand in the formula.
    limits : mapping, optional
        For "ssp": ``{"x1": (0, 1), "g": ["a", "b"], "y": (0, 10)}``, one entry per column; and
        optionally ``"(norm)"``, a bound on the length of a design row.
    seed : int, optional
        Reproducible noise for teaching and tests; the result says that it is not for release.

    Returns
    -------
    LinearModel

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> list(fit.coef().index)
    ['Intercept', 'age', 'religious']
    >>> fit.privacy.mu
    1.0
    """
    total = resolve_privacy(mu, rho, epsilon, delta)
    _check_numbers(ridge, eta, seed)
    method = _choose_method(method, public, limits)
    if method == "ssp":
        design, extent = _declared(formula, limits, weights, offset)
        moments = None
    else:
        moments = _public(formula, public, weights, offset, limits)
        moments.require_full_rank()
        design = moments.design
    _check_response(design)
    rows = design.rows(data)
    _check_size(rows)
    noise = make_noise(seed)
    if moments is None:
        source, width = WithResponse(rows), extent
        scale = np.concatenate([1 / width.columns, [width.radius / width.response]])
        with Session(source, np.diag(scale), 0 * scale, total, noise) as session:
            fit = _ssp(session, width, ridge, eta)
    else:
        papers = method == "pmt"
        whitening = (symmetric_whitening if papers else equilibrated_whitening)(moments.gram)
        shift = np.zeros(rows.d)
        if not papers and moments.cross is not None:
            shift = whitening.back @ (whitening.back.T @ moments.cross)
        with Session(rows, whitening.back, shift, total, noise) as session:
            fit = (_pmt if papers else _anchored)(session, moments, whitening, ridge, eta)
    statement = PrivacyStatement.of(total, session.releases, noise.seeded)
    return LinearModel(
        call=_call(formula, method, mu, rho, epsilon, delta, ridge),
        method=method,
        design=design,
        coefficients=coefficients_of(design.terms, fit.estimate),
        privacy=statement,
        estimate=fit.estimate,
        system=fit.system,
        public=None if moments is None else moments.gram,
        m=None if moments is None else moments.m,
        eta=eta,
        sigma_source=fit.sigma_source,
        details=fit.diagnostics,
        notes=fit.notes,
    )


# -- the three methods ----------------------------------------------------------------------------


def _anchored(
    session: Session, moments: PublicMoments, whitening: Whitening, ridge: float, eta: float
) -> _Fit:
    """Score rounds from a public anchor.

    1. a private histogram of row lengths says where rows are cut;
    2. the second moments of the cut rows are released once;
    3. each round measures the scale of the scores at the present anchor, releases the mean cut
       score there and takes a Newton step. Rounds go on while the scale falls; the last one takes
       what is left of the total and is accompanied by the mean squared residual and the shares of
       cut and empty rows;
    4. the rounds' estimates are averaged by inverse variance.
    """
    n, d, mu = session.n, len(moments.terms), session.total.mu
    back = whitening.back
    plan = plan_linear(n, d, mu, moments.m, moments.cross is not None)
    start = np.zeros(d) if moments.cross is None else back.T @ moments.cross
    anchor = start

    octave = math.floor(math.log2(math.sqrt(d)))
    lengths = session.length_histogram(plan.length, octave - 12, 32)
    quantile = lengths.quantile(0.9) or math.sqrt(d)
    gram_mu = mu * math.sqrt(plan.gram)
    radius = choose_radius(quantile, n, d, gram_mu)
    released = session.gram(plan.gram, radius)
    curvature = shrink_second_moment(released.value, released.noise_sd)
    penalty = ridge * back.T @ back

    guess = _public_scale(moments, back, d)
    steps: list[Step] = []
    last = None
    while True:
        lowest, octaves = _window(guess, sure=bool(steps))
        histogram = session.score_histogram(plan.scale, anchor - start, lowest, octaves)
        scale = histogram.quantile(0.9) or guess or histogram.peak()
        done = _is_last(plan, len(steps), session.left, scale, last)
        part = plan.step if not done else session.left * (1 - plan.squares - plan.counts)
        clip = choose_clip(scale, n, d, mu * math.sqrt(part))
        if done:
            shares = (part, session.left * plan.squares, session.left * plan.counts)
            square = choose_square_clip(clip.unit, n, mu * math.sqrt(shares[1]))
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
    pooled = pool_steps(steps)

    hessian = curvature.used + penalty
    noise_covariance = pooled.noise_sd**2 * np.eye(d) + matrix_noise_covariance(
        pooled.move, curvature.used_sd
    )
    inverse = np.linalg.inv(hessian)
    sigma2 = residual_variance(
        rest.mean_square,
        rest.empty_share,
        curvature.used,
        pooled.coef - anchor,
        inverse @ noise_covariance @ inverse,
        n,
        floor=0.01 * clip.unit**2,
    )
    estimate = linear_estimate(
        pooled.coef,
        hessian,
        curvature.used,
        noise_covariance,
        sigma2,
        clip.efficiency / clip.slope**2,
        whitening,
        curvature.used_sd,
        n,
        ridge,
    )
    system = ReleasedSystem(
        curvature.released,
        curvature.used,
        curvature.released_sd,
        True,
        penalty,
        pooled.move,
        pooled.noise_sd,
        back,
    )
    conditions = _condition_lines(moments.gram, curvature.released, back)
    diagnostics = (
        Diagnostic(
            "truncated rows",
            _share(rest.cut_share),
            rest.share_sd,
            "share whose row or score was cut in the last round",
        ),
        Diagnostic(
            "empty rows",
            _share(rest.empty_share),
            rest.share_sd,
            "share that is missing or has an unknown level",
        ),
        *conditions,
        Diagnostic("rounds", len(steps), None, "score rounds, chosen from releases"),
        Diagnostic(
            "predicted error",
            plan.predicted_ratio,
            None,
            "of least squares without privacy = 1, planned before reading",
        ),
    )
    return _Fit(
        estimate,
        system,
        "private",
        diagnostics,
        _repairs(curvature.positive_definite, curvature.raised),
    )


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


def _is_last(plan: LinearPlan, made: int, left: float, scale: float, before: float | None) -> bool:
    """Whether this round is the last: from the plan and released scales only."""
    if made + 1 >= plan.most_rounds or left - plan.step - plan.scale < plan.keep:
        return True
    if made + 1 < plan.least_rounds:
        return False
    return before is not None and scale > plan.fall * before


def _pmt(
    session: Session, moments: PublicMoments, whitening: Whitening, ridge: float, eta: float
) -> _Fit:
    """Algorithm 2 of the ridge paper (ridge = 0: Algorithm 3 of the OLS paper), to the letter.

    Half of the total's mu^2 goes to each of the two mechanisms. Nothing else is released, so the
    residual variance that the standard errors need is that of the public rows.
    """
    if moments.cross is None or not moments.yy:
        raise PublicDataError(
            "method='pmt' scales the response by its public second moment: give public rows with "
            "the response, or public_moments of the two-sided formula; method='anchored' can do "
            "without."
        )
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
    estimate = linear_estimate(
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
        "releases none.",
    )
    return _Fit(estimate, system, "public rows", diagnostics, notes + _repairs(smallest > 0, 0))


def _ssp(session: Session, width: _Extent, ridge: float, eta: float) -> _Fit:
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
    sigma2 = max(at_fit * n / max(n - d, 1), floor)
    whitening = Whitening(back, np.diag(width.columns))
    positive = shrink_second_moment(gram, sd).used
    estimate = linear_estimate(
        coef, hessian, positive, noise_covariance, sigma2, 1.0, whitening, sd, n, ridge
    )
    system = ReleasedSystem(
        gram, hessian - penalty, sd, True, penalty, coef, sd / math.sqrt(2) / ratio, back
    )
    diagnostics = (
        Diagnostic("ridge added", added, None, "in units of the limits, to outweigh the noise"),
        Diagnostic("smallest eigenvalue", smallest, sd, "of the released moments, in those units"),
    )
    return _Fit(estimate, system, "private", diagnostics, _repairs(smallest > 0, 0))


def _condition_lines(public: Floats, released: Floats, back: Floats) -> tuple[Diagnostic, ...]:
    """Average condition number (1/d) sum lambda_i / lambda_min before and after whitening."""
    before, after = (_average_condition(m) for m in (public, released))
    return (
        Diagnostic("condition before", before, None, "average, public second moments"),
        Diagnostic("condition after", after, None, "average, released whitened moments"),
    )


def _average_condition(matrix: Floats) -> float | None:
    values = np.linalg.eigvalsh(matrix)
    return float(values.mean() / values[0]) if values[0] > 0 else None


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _repairs(positive: bool, raised: int) -> tuple[str, ...]:
    if not positive:
        return (
            "The released second moments are NOT positive definite: the privacy noise is as "
            "large as the information in some direction. Ask for more privacy budget, fewer "
            "columns, or a ridge; trust the standard errors, not the digits.",
        )
    if raised:
        return (
            f"{raised} eigenvalue(s) of the released second moments were raised to the noise "
            "level.",
        )
    return ()


# -- arguments --------------------------------------------------------------------------------------


def _check_numbers(ridge: float, eta: float, seed: int | None) -> None:
    if not (isinstance(ridge, int | float) and math.isfinite(ridge) and ridge >= 0):
        raise ArgumentError(f"ridge must be a finite number >= 0, not {ridge!r}.")
    if not (isinstance(eta, int | float) and 0 < eta < 1):
        raise ArgumentError(f"eta must lie strictly between 0 and 1, not {eta!r}.")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
        raise ArgumentError(f"seed must be an integer or None, not {seed!r}.")


def _choose_method(method: str | None, public: Any, limits: Mapping[str, Any] | None) -> str:
    if method is None:
        method = "ssp" if public is None and limits else "anchored"
    if method not in METHODS:
        raise ArgumentError(f"method must be one of {', '.join(METHODS)}, not {method!r}.")
    if method == "ssp":
        if not limits:
            raise ArgumentError(
                "method='ssp' needs limits for every column, declared without looking at the data: "
                "limits={'x1': (0, 1), 'g': ['a', 'b'], 'y': (0, 10)}."
            )
        if public is not None:
            raise ArgumentError(
                "method='ssp' uses private data alone; drop public=, or use method='anchored', "
                "which makes better use of it."
            )
    elif public is None:
        raise PublicDataError(
            "dp_lm needs to know something public about the columns. Either pass a public sample, "
            "public=frame (or public_moments(formula, frame)); or declare limits without looking at "
            "the data, limits={'x1': (0, 1), 'y': (0, 10)}, which fits from private data alone."
        )
    return method


def _public(
    formula: str,
    public: Any,
    weights: str | None,
    offset: str | None,
    limits: Mapping[str, Any] | None,
) -> PublicMoments:
    """Public moments of the formula: learnt from public rows, or those that were given."""
    if not isinstance(public, PublicMoments):
        return public_moments(formula, public, weights=weights, offset=offset, limits=limits)
    if public.design.response is None:
        return replace(public, design=public.design.with_response(formula))
    public.design.require_formula(formula)
    return public


def _check_response(design: Design) -> None:
    if design.response is None:
        raise ArgumentError("the formula has no response: write 'y ~ x1 + x2'.")
    if design.response_kind == "category":
        raise ArgumentError(
            f"the response `{design.response}` is categorical; dp_lm needs a number. For a yes/no "
            "response use dp_glm(..., family='binomial')."
        )
    if not design.terms:
        raise ArgumentError("the formula has no columns on its right side; 'y ~ 1' fits a mean.")


def _check_size(rows: Rows) -> None:
    if rows.n < rows.d + 1:
        raise ArgumentError(
            f"{rows.n} private rows cannot carry {rows.d} columns: give at least {rows.d + 1} rows "
            "(for privacy to leave anything, a few hundred per column), or drop terms."
        )


@dataclass(frozen=True)
class _Extent:
    """Declared sizes: per column of the design, of a whole row in these units, of the response."""

    columns: Floats
    radius: float
    response: float


def _declared(
    formula: str, limits: Mapping[str, Any] | None, weights: str | None, offset: str | None
) -> tuple[Design, _Extent]:
    schema = dict(limits or {})
    norm = schema.pop("(norm)", None)
    design = Design.declare(formula, schema, weights=weights, offset=offset)
    columns, response = design.extent(schema)
    if norm is not None and not (isinstance(norm, int | float) and norm > 0):
        raise ArgumentError(f"limits['(norm)'] must be a number > 0, not {norm!r}.")
    if norm is None:
        return design, _Extent(columns, math.sqrt(len(columns)), response)
    return design, _Extent(np.full(len(columns), float(norm)), 1.0, response)


def _call(
    formula: str,
    method: str,
    mu: float | None,
    rho: float | None,
    epsilon: float | None,
    delta: float | None,
    ridge: float,
) -> str:
    privacy = {"mu": mu, "rho": rho, "epsilon": epsilon, "delta": delta}
    said = ", ".join(f"{k} = {v:g}" for k, v in privacy.items() if v is not None)
    more = f", ridge = {ridge:g}" if ridge else ""
    return f'dp_lm("{formula}", {said}, method = "{method}"{more})'
