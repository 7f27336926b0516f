"""Private linear models: formula and data in, estimates with honest errors out.

The way of a call, top to bottom: `dp_lm` turns privacy, formula and public data, if any, into public
numbers (`dpstats.frame`), charges the budget, lets one of three methods spend the total on the private
rows (`fit.fit_rows`) and returns a `LinearModel`, which answers everything else without touching a
row again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import check_numbers, check_size, check_vcov
from dpstats.budget.budget import Budget
from dpstats.call import Call, with_levels
from dpstats.errors import ArgumentError, PublicDataError
from dpstats.frame import Design, PublicMoments, check_written, formula_notes
from dpstats.mechanism.lattice import Grid
from dpstats.mechanism.session import Session
from dpstats.mechanism.threads import one_blas_thread
from dpstats.models.linear.estimate import DeclaredBounds, LinearFit
from dpstats.models.linear.fit import LinearTask, fit_rows
from dpstats.models.linear.page import METHODS
from dpstats.models.linear.papers import require_response
from dpstats.models.linear.planning import LEAST
from dpstats.models.linear.result import LinearModel
from dpstats.public_input import (
    check_terms,
    choose_method,
    declared,
    require_papers_whitening,
    require_written_response,
    resolve_public,
    sums_persons,
    without_person,
)
from dpstats.report.shared_entries import documented
from dpstats.score_rounds.least_budget import check_budget
from dpstats.score_rounds.notes import largest_weight_note, with_clusters
from dpstats.score_rounds.public_guide import undetermined_note
from dpstats.score_rounds.releases import require_share
from dpstats.score_rounds.result import least_squares_of, model_items

_DIGITS = 1e-14
"""Variance of a response, in parts of its mean square, of which floats know nothing."""


@one_blas_thread()
@documented
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
    vcov: str = "hetero",
    ridge: float = 0.0,
    eta: float = 0.05,
    weights: str | None = None,
    offset: str | None = None,
    limits: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
    rows_per_person: int | None = None,
    person: str | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    seed: int | None = None,
) -> LinearModel:
    """Fit a linear model under differential privacy.

    Parameters
    ----------
    formula : str
        A model formula as in R: ``"y ~ x1 + C(g) + poly(x2, 2)"``, ``"log(y) ~ ."``. Operators + - : *
        / ^ %in% and parentheses; inside calls R's arithmetic, comparisons and logic
        (``I(x^2 > 1 & z %in% c(1, 2))``), log, exp, sqrt, abs, round and their like, ifelse, pmin, pmax,
        factor, ordered, relevel, cut (with breaks), C (with contrasts), center, scale, poly, bs, cr, cc
        and offset, computed row by row. What they learn (levels, means, knots)
        they learn from the public rows, or from ``limits``; ``.`` is every other column of the public
        rows, or of the private table where there are none.
    {data}
        Only tables must fit in memory; the result is the same to the last bit. Rows with values that
        are missing or not finite, or a level that is neither public nor declared, count as zero;
        nothing is ever said about an individual row.
    public : table or PublicMoments, optional
        Public rows of the same columns, or what `public_moments` says of them, or a declared matrix
        (`PublicMoments.declare`). Gives levels and transformations, whitens the design, and sets the
        first anchor; a shifted sample costs accuracy, never privacy: errors are 1 to 5 % longer. If
        its responses are all higher or lower than private ones, and private columns have long tails,
        95 % intervals of the constant hold in 92 to 97 %; those of slopes do as ever.
        ``public_moments("~ x1 + x2", sample)`` uses its design alone. Levels, and the first of them,
        with which others are compared, are those of the public rows. None: a part of the budget
        finds where columns lie and how rows are whitened; a call with too few rows for that is
        refused, unread. Public rows that do not determine all columns are used as far as they go.
    mu, rho, epsilon, delta : float
        The total privacy of the call, in exactly one unit: Gaussian DP, zCDP, or (epsilon, delta).
        mu = 1 is about epsilon = 4.4 at delta = 1e-5.
    method : {"anchored", "pmt", "ssp"}, optional
        "anchored" (default): score rounds, from a public anchor where there is one. "pmt": the papers'
        Algorithm 2 (Algorithm 3 of the OLS paper for ridge=0) to the letter, with public rows. "ssp":
        noisy sufficient statistics within declared ``limits``, without public rows.
    vcov : {"hetero", "iid"}
        Which standard errors are printed, beside the noise. "hetero", or "HC1": the sandwich of R's
        ``sandwich::vcovHC`` and of statsmodels' ``cov_type="HC1"``, fixest's ``vcov="hetero"``: whatever
        the variance of the errors. Where the mean is not linear in a column with a long tail, errors
        are large, and a diagnostic, leaning scores, names it: take its logarithm, or a spline.
        Its matrix is released with the last round. "iid": of constant variance, those of R's
        ``summary(lm)`` and of statsmodels' ``cov_type="nonrobust"``, at no cost. Only "anchored" has
        the sandwich; other methods print "iid", and the summary says so.
    ridge : float
        Penalty (ridge/2)|b|^2, the intercept included, on the mean squared loss (1/2n)|y - Xb|^2.
    {eta}
    weights, offset : str, optional
        Names of columns. Weights need a public bound: the largest public weight, or ``limits={"w": (0,
        bound)}`` under their name, or ``"(weights)"``. Private weights above it are cut to it; such
        rows count as truncated, and a note says where they are many. An offset may also stand in the
        formula.
    limits : mapping, optional
        ``{"g": ["a", "b"], "x1": (0, 1)}``: levels of a category, the first of which is the baseline
        (in a list, an array, a range or a CategoricalDtype; two numbers in a tuple or an array are a
        range), and a bound of weights; without public rows also a box, to which values of a column are
        cut (a note names such columns; wide limits cost nothing), of which (0, 1) says that a column, or
        the response, is zero or one, so that it is found where few rows are one. There text columns
        need levels (or, with epsilon and delta, those that many rows have are released, for a tenth of
        delta), and poly, bs, scale and center need a box, over which the knots of bs lie evenly: poly
        does better where few rows are near its ends. Columns that the formula leaves out may be there.
        "ssp" needs an entry for every column, and takes ``"(norm)"``, a bound on the length of a design
        row.
    {budget, persons, executor, progress, seed}

    Returns
    -------
    LinearModel
        Standard errors cover sampling, the privacy noise, and part of the shift that cutting scores
        may cause; the summary says where the shift may exceed what they allow for.

    Raises
    ------
    {raises}
        Also where fewer than two levels of a column are released.

    See Also
    --------
    dp_glm : Logistic regression, counts and other families.
    dp_feols : Persons with several rows, effects, instruments.
    plan_lm : Standard errors to expect, before a private row is read.
    anova : Tests of nested models.

    References
    ----------
    {second_moments_paper}

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> list(fit.coef().index)
    ['Intercept', 'age', 'religious']
    >>> fit.privacy.mu
    1.0

    Without public rows:

    >>> alone = dp_lm("rate_marriage ~ age + religious", private, mu=1, seed=1)
    >>> bool((abs(alone.coef() - fit.coef()) < 3 * alone.se()).all())
    True
    """
    call = Call.gaussian(
        "dp_lm",
        {"mu": mu, "rho": rho, "epsilon": epsilon, "delta": delta},
        rows_per_person=rows_per_person,
        person=person,
        jointly=sums_persons(method),
        budget=budget,
        executor=executor,
        progress=progress,
        seed=seed,
    )
    typed, formula = formula, without_person(formula, person, public)
    check_numbers(ridge, eta)
    vcov = check_vcov(vcov)
    method = choose_method(METHODS, method, public, limits)
    persons = "all" if call.unit.jointly else None
    told = partial(LinearTask, method=method, ridge=ridge, eta=eta, errors=vcov, persons=persons)
    written = formula, weights, offset, limits
    unknown: tuple[str, ...] = ()
    task: LinearTask | None = None
    if method == "anchored" and public is None:
        check_written(formula, weights, offset)
        call, unknown = with_levels(call, formula, data, weights, offset, limits)
    else:
        task = _public_task(told, method, public, *written, partly=persons is None)
    options: dict[str, Any] = {**call.given, "method": method, "ridge": ridge, "vcov": vcov}
    options |= {"weights": weights, "offset": offset, "limits": limits}
    with call.charged(call.text(typed, options), data) as charged:
        if task is None:
            task = told(design=charged.design(*written, unknown), alone=True)
            check_response(task.design)
        charged.check_limits(task.design, public is None, limits)
        rows = charged.rows(task.design)
        check_size(rows.n, rows.d, call.unit.counted)
        if task.alone:
            check_terms(task.design, ridge)
            check_budget(rows.n, rows.d, call.per_row.mu, call.unit, delta, public=task.moments)
            charged.require_rows_for_levels(unknown, rows.n)
        else:
            require_share(Grid.for_rows(rows.n), call.per_row.mu, LEAST[method])
    noise = call.noise()
    levels = charged.levels(unknown, rows.n, noise)
    if unknown:
        task = replace(task, design=charged.released_design(*written, levels))
        check_response(task.design)
        rows = charged.rows(task.design)
    fit, session = fit_rows(task, rows, call.per_row, noise, levels.session)
    notes = charged.notes(rows.n, public, task.moments, lines=fit.diagnostics)
    notes += formula_notes(formula, task.design.ordered)
    notes += levels.notes + largest_weight_note(task.moments)
    notes += undetermined_note(task.moments) if task.alone and task.moments is not None else ()
    model = linear_model(charged.text, task, fit, session, notes, call.unit, delta)
    return charged.released(model)


def _public_task(
    told: Callable[..., LinearTask],
    method: str,
    public: Any,
    formula: str,
    weights: str | None,
    offset: str | None,
    limits: Mapping[str, Any] | None,
    *,
    partly: bool,
) -> LinearTask:
    """What public rows or declared limits make of a formula; ``partly``: as far as such rows go."""
    if method == "ssp":
        design, extent = _extent(formula, weights, offset, limits)
        check_response(design)
        return told(design=design, extent=extent)
    partly = partly and method == "anchored"
    moments = linear_moments(formula, public, weights, offset, limits, partly)
    alone = partly and not moments.determines_columns()
    if method == "pmt":
        require_response(moments)
        require_papers_whitening(moments)
    check_response(moments.design)
    return told(design=moments.design, moments=moments, alone=alone)


def linear_model(
    call: str,
    task: LinearTask,
    fit: LinearFit,
    session: Session[Any],
    qualified: tuple[str, ...],
    unit: PrivacyUnit,
    delta: float | None,
) -> LinearModel:
    """The result of a fit and of the session that it has spent; ``qualified``: notes on privacy."""
    return LinearModel(
        call=call,
        method=task.method,
        eta=task.eta,
        sigma_source=fit.sigma_source,
        notes=with_clusters(fit.notes, unit, fit.estimate.errors) + qualified,
        qualified=qualified,
        **model_items(
            fit,
            task.design,
            None if task.alone else task.moments,
            session,
            unit,
            delta,
            None if task.alone else least_squares_of(task.moments),
        ),
    )


def linear_moments(
    formula: str,
    public: Any,
    weights: str | None,
    offset: str | None,
    limits: Mapping[str, Any] | None,
    partly: bool = False,
) -> PublicMoments:
    """Public moments that can carry a linear fit; ``partly``: or that do not determine all columns."""
    moments = resolve_public(formula, public, weights, offset, limits)
    if not partly:
        moments.require_full_rank()
    alike = _alike(moments)
    if alike:
        raise PublicDataError(
            f"the public response is {alike}. Leave out public=, which finds what it needs in the "
            "private rows; give public_moments of the design alone ('~ x1 + x2'); or rescale the "
            "response."
        )
    return moments


def _alike(moments: PublicMoments) -> str:
    """In which way public responses are all alike; empty where they differ, or there are none."""
    if moments.yy is None:
        return ""
    if not moments.yy > 1e-280:
        return "zero in every row, or too small to square"
    constant, weighted = moments.design.constant, moments.design.weights is not None
    if moments.cross is None or constant is None or weighted:
        return ""
    varies = moments.yy - float(moments.cross[constant]) ** 2
    return "" if varies > _DIGITS * moments.yy else "the same in every row"


def check_response(design: Design) -> None:
    require_written_response(design.response)
    if design.response_kind == "category":
        raise ArgumentError(
            f"the response `{design.response}` is categorical; a linear model needs a number. For a "
            "yes/no response use dp_glm(..., family='binomial'), for classes eptr_bayes."
        )
    if not design.terms:
        raise ArgumentError("the formula has no column on its right side; 'y ~ 1' fits a mean.")


def _extent(
    formula: str, weights: str | None, offset: str | None, limits: Mapping[str, Any] | None
) -> tuple[Design, DeclaredBounds]:
    design, columns, response, norm = declared(formula, weights, offset, limits)
    heaviest = math.sqrt(design.weight_bound or 1.0)  # rows are multiplied by the root of weights
    columns, response = heaviest * columns, heaviest * response
    if norm is None:
        return design, DeclaredBounds(columns, math.sqrt(len(columns)), response)
    return design, DeclaredBounds(np.full(len(columns), heaviest * float(norm)), 1.0, response)
