"""Plans: the standard errors that a budget would buy, from public data alone, or from nothing.

`plan_lm` and `plan_glm` take the arguments of `dp_lm` and `dp_glm`, with a number of rows in the place
of the data. At every budget the fit is rehearsed on simulated rows (`dpstats.plans.rehearsal`). Its
standard errors, corrected for the size of the public sample, are the prediction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import check_numbers, check_size, check_vcov
from dpstats.arrays import Floats
from dpstats.errors import PublicDataError
from dpstats.frame import PublicMoments
from dpstats.mechanism.noise import make_noise
from dpstats.models.glm.dp_glm import check_iterations, family_moments, family_shown, glm_model
from dpstats.models.glm.family import resolve_family
from dpstats.models.glm.methods import GlmTaskForN
from dpstats.models.glm.task import GlmTask
from dpstats.models.linear.dp_lm import check_response, linear_model, linear_moments
from dpstats.models.linear.fit import LinearTask, fit_rows
from dpstats.plans.asked import (
    check_alone,
    check_arguments,
    check_public_given,
    check_rows,
    checked_sigma,
    listed_budgets,
)
from dpstats.plans.expected import (
    drawn_rows,
    expected_coef,
    family_population,
    linear_population,
    rarer_outcomes,
    residual_sd,
    robust_at_ridge,
    variances_without_privacy,
)
from dpstats.plans.ordinary import Ordinary, ordinary_rows
from dpstats.plans.population import (
    DrawnRows,
    Population,
    public_fit,
    relative_error,
    relative_error_of_family,
    relative_error_of_normal,
    undone,
)
from dpstats.plans.rehearsal import ExpectedRows, Rehearsal
from dpstats.plans.result import AlonePlan, Plan, TargetPlan
from dpstats.plans.search import (
    Curve,
    Target,
    falling,
    rows_by_budget,
    rows_without_privacy,
    smallest_mu,
    target_of,
)
from dpstats.report.call_line import call_text
from dpstats.report.shared_entries import documented
from dpstats.score_rounds.least_budget import least_budget
from dpstats.score_rounds.result import Model

_PUBLIC_ROWS = 30, 300
_REPEATS_ALONE, _REPEATS_BOUGHT = 3, 7
"""Rehearsals of a fit without public rows, which takes twice as long; and of what these would buy."""


@documented
def plan_lm(
    formula: str,
    public: Any = None,
    n: int | None = None,
    mu: float | Sequence[float] | None = None,
    *,
    rho: float | Sequence[float] | None = None,
    epsilon: float | Sequence[float] | None = None,
    delta: float | None = None,
    target_se: float | Mapping[str, float] | None = None,
    method: str = "anchored",
    vcov: str = "hetero",
    ridge: float = 0.0,
    eta: float = 0.05,
    sigma: float | None = None,
    weights: str | None = None,
    offset: str | None = None,
    limits: Mapping[str, Any] | None = None,
    rows_per_person: int = 1,
    d: int | None = None,
) -> Plan:
    """Expected standard errors of `dp_lm` on n private rows at several budgets; spends nothing.

    Parameters
    ----------
    formula, public, method, vcov, ridge, eta, weights, offset, limits, rows_per_person
        As for `dp_lm`. ``public`` are rows, or `public_moments` of them. Without, the plan rests on
        simulated rows with ordinary columns (the page says what they are), with levels from
        ``limits``, and says what 30 or 300 public rows would buy. The sandwich is a release and is
        paid for; what it will be is read off the residuals of public rows, where there are any.
    n : int
        Number of private rows.
    mu, rho, epsilon : float or list of float
        The budgets, in one unit (epsilon with ``delta``). Default: mu of 1/4, 1/2, 1 and 2.
    target_se : float or mapping, optional
        A standard error that every coefficient but the constant should reach, or
        ``{"x1": 0.02}``. The plan then has the smallest mu for n rows, and for every budget the
        smallest number of rows.
    sigma : float, optional
        Residual standard deviation, where the public data have no response, or too few rows. Without
        public rows it is 1, and errors are in standard deviations of the residual.
    d : int, optional
        Without public rows: the number of columns, constant included, whatever the formula has.

    Returns
    -------
    Plan
        Prints as a table; ``.tidy()``, ``.bounds()``, ``.plot()``, ``.to_markdown()``, ``.to_latex()``.

    Raises
    ------
    PublicDataError, ArgumentError, PrivacyError
        If the public rows do not suffice for the model, or an argument is out of range.

    See Also
    --------
    plan_glm, plan_feols : Of other models.
    dp_lm : The fit.

    References
    ----------
    {second_moments_paper}

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, _ = fair()
    >>> plan = plan_lm("rate_marriage ~ age + religious", public, n=6048, mu=[0.25, 1])
    >>> plan.tidy().columns.tolist()
    ['term', 'mu', 'std_error', 'std_error_nonprivate']

    Nothing but a formula and a number of rows:

    >>> plan = plan_lm("y ~ x1 + x2", n=5000, mu=1)
    >>> round(plan.alone.least_mu, 2)
    0.04
    """
    unit, rows = PrivacyUnit.of(rows_per_person, None), check_rows(n)
    totals, given = listed_budgets(mu, rho, epsilon, delta)
    check_numbers(ridge, eta)
    vcov = check_vcov(vcov)
    check_arguments("plan_lm", method, formula, public)
    told = partial(LinearTask, method=method, ridge=ridge, eta=eta, errors=vcov)

    def made(task: LinearTask, text: str, rows: ExpectedRows, total: Privacy, seed: int) -> Model:
        fit, session = fit_rows(task, rows, total.per_row(unit.times), make_noise(seed))
        return linear_model(text, task, fit, session, (), unit, delta)

    if public is None:
        check_alone(method, weights, offset)
        ordinary = ordinary_rows(formula, resolve_family("gaussian"), limits, d, sigma, None)
        options: dict[str, Any] = {"sigma": sigma, "d": d, "limits": limits, "ridge": ridge}
        options |= {"delta": delta, **given, "vcov": vcov}
        text = call_text("plan_lm", formula, {"n": rows, **options}, unit)
        alone = told(design=ordinary.design, alone=True)

        @cache
        def with_sample(m: int, seed: int) -> LinearTask:
            if not m:
                return alone
            sample = ordinary.sample(m, seed)
            known = linear_moments(ordinary.formula, sample, None, None, ordinary.levels)
            return replace(alone, design=known.design, moments=known, alone=False)

        def linear(m: int, expected: ExpectedRows, total: Privacy, seed: int) -> Model:
            return made(with_sample(m, seed), text, expected, total, seed)

        size = 1.0 if sigma is None else checked_sigma(sigma)
        least = variances_without_privacy(ordinary.moments.gram, ridge, size**2)
        return _plan_alone(ordinary, linear, least, rows, totals, target_se, unit, text, delta)
    check_public_given(d, "d")
    moments = linear_moments(formula, public, weights, offset, limits)
    check_response(moments.design)
    aim = target_of(target_se, moments.terms)
    coef, residual = public_fit(moments.gram, moments.cross, moments.yy, moments.m)
    size = residual_sd(sigma, residual, moments)
    # where far scores of so few rows point, simulated rows do not follow
    moments = replace(moments, few=replace(moments.few, far=None))
    task = told(design=moments.design, moments=moments)
    options = {**given, "delta": delta, "method": method, "ridge": ridge, "sigma": sigma}
    options |= {"vcov": vcov, "weights": weights, "offset": offset, "limits": limits}
    call = call_text("plan_lm", formula, {"n": rows, **options}, unit)
    population = linear_population(moments, public, coef, size, residual is not None)
    least = variances_without_privacy(moments.gram, ridge, size**2)
    robust: Floats | float = 1.0
    sure = None
    if isinstance(population, DrawnRows):
        known = population.known
        rest = known.y - known.x @ coef - known.offset
        if vcov == "hetero" and method == "anchored" and residual is not None:
            scores = known.weight * rest
            robust = robust_at_ridge(known, scores, known.weight, moments.gram, ridge)
        estimated = sigma is None and residual is not None
        squares = known.weight * rest**2 if estimated else None
        sure = relative_error(known, np.sqrt(known.weight), squares)
    fitting = partial(made, task, call)
    rehearsal = _rehearsal(population, fitting, moments, method, least, robust=robust)
    return finished_plan(method, call, rehearsal, rows, totals, sure, moments, aim, delta)


@documented
def plan_glm(
    formula: str,
    public: Any = None,
    n: int | None = None,
    mu: float | Sequence[float] | None = None,
    *,
    family: Any = "binomial",
    rho: float | Sequence[float] | None = None,
    epsilon: float | Sequence[float] | None = None,
    delta: float | None = None,
    target_se: float | Mapping[str, float] | None = None,
    method: str = "anchored",
    vcov: str = "hetero",
    ridge: float = 0.0,
    iterations: int | None = None,
    eta: float = 0.05,
    weights: str | None = None,
    offset: str | None = None,
    limits: Mapping[str, Any] | None = None,
    rows_per_person: int = 1,
    d: int | None = None,
    mean: float | None = None,
) -> Plan:
    """Expected standard errors of `dp_glm` on n private rows at several budgets; spends nothing.

    Parameters
    ----------
    formula, public, family, method, vcov, ridge, iterations, eta
    weights, offset, limits, rows_per_person
        As for `dp_glm`. ``public`` are rows with the response; for binomial and Poisson models
        `public_moments` of a formula with its response will do.
    n, mu, rho, epsilon, delta, target_se, d
        As for `plan_lm`.
    mean : float, optional
        Without public rows: the expected mean of the response; one half for binomial models, else one.

    Returns
    -------
    Plan

    Raises
    ------
    PublicDataError, ArgumentError, PrivacyError
        If the public rows do not suffice for the model, or an argument is out of range.

    See Also
    --------
    plan_lm, plan_feols : Of other models.
    dp_glm : The fit.

    References
    ----------
    {second_moments_paper}

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public = fair()[0].assign(affair=lambda t: t.affairs > 0)
    >>> plan = plan_glm("affair ~ age + religious", public, n=6048, mu=1, target_se=0.05)
    >>> plan.std_error().loc["religious", "mu = 1"].round(2)
    np.float64(0.03)
    """
    unit, rows = PrivacyUnit.of(rows_per_person, None), check_rows(n)
    totals, given = listed_budgets(mu, rho, epsilon, delta)
    model = resolve_family(family)
    check_numbers(ridge, eta)
    check_iterations(iterations)
    vcov = check_vcov(vcov)
    check_arguments("plan_glm", method, formula, public)
    told = partial(
        GlmTask,
        method=method,
        family=model,
        ridge=ridge,
        eta=eta,
        iterations=iterations,
        errors=vcov,
    )

    def made(task: GlmTaskForN, text: str, rows: ExpectedRows, total: Privacy, seed: int) -> Model:
        fit, session = task.fit_rows(rows, total.per_row(unit.times), make_noise(seed))
        return glm_model(text, task, fit, session, (), unit, delta)

    if public is None:
        check_alone(method, weights, offset)
        ordinary = ordinary_rows(formula, model, limits, d, None, mean)
        options: dict[str, Any] = {"family": family_shown(model), "mean": mean, "d": d}
        options |= {"limits": limits, **given, "ridge": ridge, "delta": delta, "vcov": vcov}
        options |= {"iterations": iterations}
        text = call_text("plan_glm", formula, {"n": rows, **options}, unit)
        bare = told(design=ordinary.design, alone=True)

        @cache
        def with_sample(m: int, seed: int, rows: int) -> GlmTaskForN:
            task = bare
            if m:
                sample = ordinary.sample(m, seed)
                found = family_moments(ordinary.formula, sample, model, None, None, ordinary.levels)
                moments, known = found
                task = replace(
                    bare, design=moments.design, moments=moments, known=known, alone=False
                )
            return GlmTaskForN.of(task, rows)

        def general(m: int, expected: ExpectedRows, total: Privacy, seed: int) -> Model:
            return made(with_sample(m, seed, expected.n), text, expected, total, seed)

        drawn = ordinary.population
        least = variances_without_privacy(drawn.known.information(model, drawn.coef), ridge, 1.0)
        return _plan_alone(ordinary, general, least, rows, totals, target_se, unit, text, delta)
    check_public_given(d, "d")
    check_public_given(mean, "mean")
    moments, known = family_moments(formula, public, model, weights, offset, limits)
    aim = target_of(target_se, moments.terms)
    task = told(design=moments.design, moments=moments, known=known)
    options = {"family": family_shown(model), **given, "delta": delta, "method": method}
    options |= {"iterations": iterations, "ridge": ridge, "weights": weights, "offset": offset}
    options |= {"limits": limits, "vcov": vcov}
    call = call_text("plan_glm", formula, {"n": rows, **options}, unit)

    for_rows = cache(partial(GlmTaskForN.of, task))  # most rehearsals have as many rows

    def fitting(expected: ExpectedRows, total: Privacy, seed: int) -> Model:
        return made(for_rows(expected.n), call, expected, total, seed)

    coef = expected_coef(model, moments, known)
    squares = None if known is None else known.working(model, coef)[2] ** 2
    if model.dispersed and squares is not None and not squares.any():
        raise PublicDataError(
            "the public rows leave no residuals: the size of errors is not known."
        )
    # residuals of their own fit are too small
    free = 1.0 if squares is None else len(squares) / max(len(squares) - len(coef), 1)
    pearson = 1.0 if squares is None else free * float(squares.mean())
    population = family_population(model, moments, known, coef, pearson)
    expected = known or drawn_rows(population)
    size, free = (pearson, free) if model.dispersed else (1.0, 1.0)
    least = variances_without_privacy(expected.information(model, coef), ridge, size)
    robust: Floats | float = 1.0
    if vcov == "hetero" and method == "anchored" and known is not None and not model.binary:
        scores, curvature, _ = known.working(model, coef)
        moment = known.information(model, coef)
        robust = robust_at_ridge(known, scores, curvature, moment, ridge, model.dispersed)
    rehearsal = _rehearsal(population, fitting, moments, method, least, free, robust)
    sure = None if known is None else relative_error_of_family(known, model, coef)
    plan = finished_plan(task.method, call, rehearsal, rows, totals, sure, moments, aim, delta)
    return replace(plan, events=rarer_outcomes(model, known))


def _plan_alone(
    ordinary: Ordinary,
    fitting: Callable[[int, ExpectedRows, Privacy, int], Model],
    least: Floats,
    n: int,
    totals: Sequence[tuple[str, Privacy]],
    target_se: Any,
    unit: PrivacyUnit,
    call: str,
    delta: float | None,
) -> Plan:
    """A plan on ordinary rows, and what public rows would buy; ``fitting`` takes their number first."""
    moments, population = ordinary.moments, ordinary.population
    budget = least_budget(len(moments.terms)) * unit.times
    alone = Rehearsal(
        population,
        partial(fitting, 0),
        1.0,
        1.0,
        1.0,
        least,
        least_budget=budget,
        repeats=_REPEATS_ALONE,
        size=0.5,
    )
    aim = target_of(target_se, moments.terms)
    plan = finished_plan("anchored", call, alone, n, totals, None, moments, aim, delta)
    expectations = AlonePlan(
        least_mu=budget / n,
        least_rows=tuple(math.ceil(budget / total.mu) for _, total in totals),
        bought={m: _with_public(alone, partial(fitting, m), n, totals) for m in _PUBLIC_ROWS},
        note=ordinary.note,
    )
    return replace(plan, alone=expectations)


def _with_public(
    alone: Rehearsal, fitting: Any, n: int, totals: Sequence[tuple[str, Privacy]]
) -> tuple[float, ...]:
    """Errors over those without privacy, of fits that have a public sample."""
    rehearsal = replace(alone, fitting=fitting, least_budget=0.0, repeats=_REPEATS_BOUGHT)
    try:
        errors = [rehearsal.at(n, total, bounds=False).std_error for _, total in totals]
    except PublicDataError:  # a sample that cannot carry so many columns
        return (math.nan,) * len(totals)
    return tuple(float(np.median(e / rehearsal.nonprivate(n))) for e in errors)


def finished_plan(
    method: str,
    call: str,
    rehearsal: Rehearsal,
    n: int,
    totals: Sequence[tuple[str, Privacy]],
    sure: Floats | None,
    moments: PublicMoments,
    aim: Target | None,
    delta: float | None,
) -> Plan:
    """Rehearse every budget, and search for the target."""
    d, m = len(moments.terms), moments.m
    check_size(n, d)
    if sure is None:
        sure = np.full(d, math.nan if m is None else relative_error_of_normal(m, d))
    rehearsed = tuple(rehearsal.at(n, total) for _, total in totals)
    budgets = [total for _, total in totals]
    errors = falling([p.std_error for p in rehearsed], budgets)
    nonprivate = rehearsal.nonprivate(n)
    reached = None
    if aim is not None:
        enough = [t.mu for t, e in zip(budgets, errors, strict=True) if aim.met(e)]
        curve = Curve(rehearsal, n, budgets, rehearsed)
        reaching = (smallest_mu(curve, n, aim), *enough)
        reached = TargetPlan(
            target=dict(zip(aim.terms, aim.values.tolist(), strict=True)),
            mu=min((mu for mu in reaching if mu is not None), default=None),
            rows=rows_by_budget(curve, n, budgets, aim),
            rows_nonprivate=rows_without_privacy(nonprivate, n, aim),
        )
    return Plan(
        call=call,
        method=method,
        terms=moments.terms,
        n=n,
        m=moments.m,
        labels=tuple(label for label, _ in totals),
        totals=tuple(budgets),
        std_errors=errors,
        silent=tuple(p.silent for p in rehearsed),
        cautioned=tuple(p.cautioned for p in rehearsed),
        spread=tuple(p.spread for p in rehearsed),
        nonprivate=nonprivate,
        relative_error=sure,
        bound_sets=tuple(p.bounds for p in rehearsed),
        reached=reached,
        shown_delta=1e-5 if delta is None else float(delta),
        share=rehearsal.share,
    )


def _rehearsal(
    population: Population,
    fitting: Any,
    moments: PublicMoments,
    method: str,
    least: Floats,
    free: float = 1.0,
    robust: Floats | float = 1.0,
) -> Rehearsal:
    """``free``: what residuals of their own fit are too small by, in squares."""
    m, d = moments.m, len(moments.terms)
    share = 1.0 if m is None else m / (m + moments.dropped)
    inverse = undone(m, d)
    noise = inverse if method == "pmt" else 1.0
    return Rehearsal(
        population, fitting, share, inverse * free, noise, inverse * robust * least, robust
    )
