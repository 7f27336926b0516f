"""Private generalised linear models: formula, family and data in, estimates with honest errors out.

The way of a call is that of `dp_lm`: `dp_glm` turns privacy, formula, family and public data, if any,
into public numbers (a `GlmTask`), charges the budget, lets one of three methods spend the total on the
private rows and returns a `GlmModel`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import as_int, check_numbers, check_size, check_vcov, in_prose, shown
from dpstats.budget.budget import Budget
from dpstats.call import Call, with_levels
from dpstats.errors import ArgumentError, PublicDataError, UnknownArgument
from dpstats.frame import Design, PublicMoments, check_written, formula_notes
from dpstats.mechanism.lattice import Grid
from dpstats.mechanism.threads import one_blas_thread
from dpstats.models.glm.family import Family, is_family, resolve_family
from dpstats.models.glm.fit import GlmFit, check_room
from dpstats.models.glm.methods import GlmTaskForN, least_share
from dpstats.models.glm.page import GLM_METHODS
from dpstats.models.glm.result import GlmModel
from dpstats.models.glm.task import GlmTask
from dpstats.numerics.public_rows import PublicRows
from dpstats.public_input import (
    check_terms,
    choose_method,
    declared,
    public_rows,
    require_papers_whitening,
    require_written_response,
    resolve_public,
    sums_persons,
    without_person,
)
from dpstats.report.shared_entries import documented
from dpstats.score_rounds.least_budget import check_budget
from dpstats.score_rounds.notes import largest_weight_note, with_clusters
from dpstats.score_rounds.public_guide import (
    better_alone,
    few_public_line,
    too_thin,
    undetermined_note,
)
from dpstats.score_rounds.releases import ScoreSession, require_share
from dpstats.score_rounds.result import model_items

_MOST_STEPS = 50


@one_blas_thread()
@documented
def dp_glm(
    formula: str,
    data: Any,
    public: Any = None,
    *,
    family: Any = "binomial",
    mu: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    method: str | None = None,
    iterations: int | None = None,
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
) -> GlmModel:
    """Fit a generalised linear model under differential privacy.

    Parameters
    ----------
    formula : str
        As for `dp_lm`. ``offset(log(time))`` on the right side is an exposure. The response of a
        binomial model is a number between 0 and 1, a bool, or a category with two levels, of which the
        second is the success (levels come from the public data or from ``limits``, or are released).
    data : table, path, blocks of rows, or Dask DataFrame
        The private rows, as for `dp_lm`. Rows with missing values, a level that is neither public
        nor declared, or a response that the family does not allow (a negative count), count as
        zero.
    public : table or PublicMoments, optional
        Public rows of the same columns, or what `public_moments` says of them. Public responses give the
        first anchor; a public sample that differs costs accuracy, never privacy. None, or fewer than
        four rows for a column: a part of the budget finds what public rows would tell.
    family : str or statsmodels family
        "binomial" (logit), "binomial(probit)", "binomial(cloglog)", "poisson", "gamma" (log link),
        "gaussian", "quasibinomial", "quasipoisson", or a family object such as
        ``sm.families.NegativeBinomial(alpha=0.5)``.
    mu, rho, epsilon, delta : float
        The total privacy of the call, in exactly one unit.
    method : {"anchored", "pmt", "ssp"}, optional
        "anchored" (default): private Newton steps, from a public anchor where there is one. "pmt": the
        papers' Algorithms 3 and 4 to the letter, with public rows. "ssp": without them; the second
        moments are released within declared ``limits`` and take the place of the public ones.
    iterations : int, optional
        Private Newton steps. None: as many as the released scales ask for ("pmt": 5).
    vcov : {"hetero", "iid"}
        Which standard errors are printed, beside the noise. "hetero", or "HC1": the sandwich of R's
        ``sandwich::vcovHC``, which holds where the variance is another function of the mean than the
        family's. With a logit, and the log link of counts, it is that of statsmodels'
        ``cov_type="HC1"``. With other links that takes the observed information, which also holds
        where the mean is another function; this one takes the expected, and may be a third too short
        where the mean bends and the formula does not. Where the predictor is not linear in a column
        with a long tail, errors are large, and a diagnostic, leaning scores, names it: take its
        logarithm, or a spline. "iid": of the family's variance, times the
        dispersion where it has one: those of R's ``summary(glm)`` and of statsmodels'
        ``cov_type="nonrobust"``. Only "anchored" has the sandwich.
    ridge : float
        Penalty (ridge/2)|b|^2, the intercept included, on the mean negative log-likelihood.
    {eta}
    weights, offset : str, optional
        Names of columns. Prior weights multiply the log-likelihood of a row; they need a public bound,
        as for `dp_lm`. Of shares of successes they are the trials, of rates the exposure.
    limits : mapping, optional
        As for `dp_lm`.
    {budget, persons, executor, progress, seed}

    Returns
    -------
    GlmModel

    Raises
    ------
    {raises}
        Also where fewer than two levels of a column are released.

    See Also
    --------
    dp_lm : Linear models.
    plan_glm : Standard errors to expect, before a private row is read.
    anova : Tests of nested models.

    References
    ----------
    {second_moments_paper}

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, private = (t.assign(affair=t.affairs > 0) for t in fair())
    >>> fit = dp_glm("affair ~ age + religious", private, public=public, mu=1, seed=1)
    >>> list(fit.coef().index)
    ['Intercept', 'age', 'religious']
    >>> fit.family.name, fit.family.link
    ('binomial', 'logit')

    Without public rows:

    >>> alone = dp_glm("affair ~ age + religious", private, mu=1, seed=1)
    >>> bool((abs(alone.coef() - fit.coef()) < 3 * alone.se()).all())
    True
    """
    call = Call.gaussian(
        "dp_glm",
        {"mu": mu, "rho": rho, "epsilon": epsilon, "delta": delta},
        rows_per_person=rows_per_person,
        person=person,
        jointly=sums_persons(method),
        budget=budget,
        executor=executor,
        progress=progress,
        seed=seed,
    )
    _require_no_family(data, public)
    model = resolve_family(family)
    typed, formula = formula, without_person(formula, person, public)
    check_numbers(ridge, eta)
    vcov = check_vcov(vcov)
    check_iterations(iterations)
    method = choose_method(GLM_METHODS, method, public, limits)
    told = partial(
        GlmTask,
        method=method,
        family=model,
        ridge=ridge,
        eta=eta,
        iterations=iterations,
        errors=vcov,
        persons="all" if call.unit.jointly else None,
    )
    written = formula, weights, offset, limits
    unknown: tuple[str, ...] = ()
    task: GlmTask | None = None
    if method == "anchored" and public is None:
        check_written(formula, weights, offset)
        call, unknown = with_levels(call, formula, data, weights, offset, limits)
    else:
        task = _public_task(told, method, model, public, *written, partly=not call.unit.jointly)
    options: dict[str, Any] = {"family": family_shown(model), **call.given, "method": method}
    options |= {"iterations": iterations, "ridge": ridge, "vcov": vcov}
    options |= {"weights": weights, "offset": offset, "limits": limits}
    with call.charged(call.text(typed, options), data) as charged:
        if task is None:
            task = told(design=charged.design(*written, unknown), alone=True)
            check_response(task.design, model)
        charged.check_limits(task.design, public is None, limits)
        rows = charged.rows(task.design)
        check_size(rows.n, rows.d, call.unit.counted)
        if task.alone:
            check_terms(task.design, ridge)
            check_budget(rows.n, rows.d, call.per_row.mu, call.unit, delta, public=task.moments)
            charged.require_rows_for_levels(unknown, rows.n)
            check_room(rows.n, call.per_row.mu)
        else:
            task = _beside_private_rows(task, rows.n, call.per_row.mu)
        require_share(Grid.for_rows(rows.n), call.per_row.mu, least_share(task))
        ready = GlmTaskForN.of(task, rows.n)
    noise = call.noise()
    levels = charged.levels(unknown, rows.n, noise)
    if unknown:
        task = replace(task, design=charged.released_design(*written, levels))
        check_response(task.design, model)
        rows = charged.rows(task.design)
        ready = GlmTaskForN.of(task, rows.n)
    fit, session = ready.fit_rows(rows, call.per_row, noise, levels.session)
    moments = task.moments
    notes = charged.notes(rows.n, public, moments, lines=fit.diagnostics)
    notes += formula_notes(formula, task.design.ordered)
    notes += levels.notes + largest_weight_note(moments)
    if task.alone and moments is not None:
        if moments.determines_columns():
            fit = replace(fit, diagnostics=(*fit.diagnostics, few_public_line(moments)))
        else:
            notes += undetermined_note(moments)
    result = glm_model(charged.text, ready, fit, session, notes, call.unit, delta)
    return charged.released(result)


def _public_task(
    told: Callable[..., GlmTask],
    method: str,
    family: Family,
    public: Any,
    formula: str,
    weights: str | None,
    offset: str | None,
    limits: Mapping[str, Any] | None,
    *,
    partly: bool,
) -> GlmTask:
    """What public rows or declared limits make of a formula; ``partly``: as far as such rows go."""
    if method == "ssp":
        design, columns, _, norm = declared(formula, weights, offset, limits)
        check_response(design, family)
        return told(design=design, columns=columns if norm is None else np.minimum(columns, norm))
    partly = partly and method == "anchored"
    moments, known = family_moments(formula, public, family, weights, offset, limits, partly)
    if method == "pmt":
        require_papers_whitening(moments)
    alone = partly and not moments.determines_columns()
    return told(design=moments.design, moments=moments, known=known, alone=alone)


def _beside_private_rows(task: GlmTask, n: int, mu: float) -> GlmTask:
    """The task, without public rows where n private ones tell more; persons keep theirs."""
    if task.method != "anchored" or task.moments is None or task.persons is not None:
        return task
    alone = better_alone(task.moments, n, mu)
    return replace(task, alone=alone, thin=None if alone else too_thin(task.moments, n, mu))


def glm_model(
    call: str,
    ready: GlmTaskForN,
    fit: GlmFit,
    session: ScoreSession,
    qualified: tuple[str, ...],
    unit: PrivacyUnit,
    delta: float | None,
) -> GlmModel:
    """The result of a fit and of the session that it has spent; ``qualified``: notes on privacy."""
    task = ready.task
    return GlmModel(
        call=call,
        method=task.method,
        eta=task.eta,
        notes=with_clusters(fit.notes, unit, fit.estimate.errors) + qualified,
        qualified=qualified,
        family=task.family,
        dispersion_source=fit.dispersion_source,
        pearson=fit.pearson,
        pearson_sd=fit.pearson_sd,
        iterations=fit.steps,
        limits=None if ready.limits is None else (ready.limits.c1, ready.limits.c2),
        design_moments=fit.design_moments,
        **model_items(
            fit,
            task.design,
            None if task.alone else task.moments,
            session,
            unit,
            delta,
            ready.public_fit(),
        ),
    )


def family_moments(
    formula: str,
    public: Any,
    family: Family,
    weights: str | None,
    offset: str | None,
    limits: Mapping[str, Any] | None,
    partly: bool = False,
) -> tuple[PublicMoments, PublicRows | None]:
    """Public moments that can carry a fit, and the public rows as numbers where rows were given.

    ``partly``: or moments that do not determine all columns.
    """
    moments = resolve_public(formula, public, weights, offset, limits)
    if not partly:
        moments.require_full_rank()
    check_response(moments.design, family)
    return moments, _public_rows(moments, public, family)


def family_shown(family: Family) -> str:
    default = resolve_family(family.name).link if family.alpha is None else "log"
    return str(family) if family.link == default else f"{family}({family.link})"


def check_iterations(iterations: int | None) -> None:
    if iterations is None:
        return
    if as_int(iterations, 1) is None or iterations > _MOST_STEPS:
        raise ArgumentError(
            f"iterations must be a number of Newton steps from 1 to {_MOST_STEPS}, or None, not "
            f"{shown(iterations)}. Steps share the budget: 2 to 8 are usual."
        )


def check_response(design: Design, family: Family) -> None:
    require_written_response(design.response)
    if not design.terms:
        raise ArgumentError("the formula has no column on its right side; 'y ~ 1' fits a constant.")
    if design.response_kind == "category" and not family.binary:
        raise ArgumentError(
            f"the response `{design.response}` is categorical; the {family} family needs "
            f"{family.domain}. Write I({design.response} == 'a') for one level, or choose "
            "another family=."
        )


def _require_no_family(*tables: Any) -> None:
    """Refuse the name of a family where a table stands, unless a file has that name."""
    for table in tables:
        if isinstance(table, str) and is_family(table) and not os.path.exists(table):
            raise UnknownArgument(
                f"{shown(table)} stands where a table does; a family is named: family={table!r}."
            )


def _public_rows(moments: PublicMoments, public: Any, family: Family) -> PublicRows | None:
    """Public rows as numbers, where rows were given: all that is public may be looked at."""
    if isinstance(public, PublicMoments):
        _check_public_mean(moments, family)
        return None
    found = public_rows(moments.design, public)
    _check_size_of(float(np.abs(found.y).max(initial=0.0)))
    wrong = ~family.possible(found.y)
    if wrong.any():
        raise PublicDataError(
            f"the {family} family needs responses that are {family.domain}; {int(wrong.sum())} of the "
            f"{len(wrong)} public rows have another, such as "
            f"{in_prose(found.y[wrong][0], 6)}. "
            + (
                "Code the response as 0 and 1, or make it a bool or a category."
                if family.binary
                else "Leave these rows out, or use another family."
            )
        )
    return found


def _check_size_of(largest: float) -> None:
    if largest > 1e40 or 0 < largest < 1e-40:
        raise PublicDataError(
            f"public responses are as large as {largest:.1g}: rescale the response to a common "
            "unit."
        )


def _check_public_mean(moments: PublicMoments, family: Family) -> None:
    """A public mean response that the family does not know is found before a budget is spent."""
    constant = moments.design.constant
    if moments.cross is None or constant is None:
        return
    if moments.design.weights is not None or moments.design.offsets:
        return
    mean = float(moments.cross[constant])
    _check_size_of(abs(mean))
    if not family.possible(np.array([mean]))[0]:
        raise PublicDataError(
            f"the {family} family needs responses that are {family.domain}; their public mean is "
            f"{in_prose(mean, 6)}."
        )
