"""Private generalised linear models: formula, family and data in, estimates with honest errors out.

The way of a call is that of `dp_lm`: `dp_glm` turns privacy, public data, formula and family into
public numbers, opens a `FamilySession` over the private rows, lets one of three methods spend the total
on releases, turns these into estimates and returns a `GlmModel`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np

from dpstats.budget import Budget
from dpstats.call import (
    call_text,
    check_limits,
    check_numbers,
    check_size,
    choose_method,
    declared,
    delta_note,
    private_rows,
    public_rows,
    resolve_public,
    same_table,
    spent_note,
)
from dpstats.charge import charged, label_of
from dpstats.errors import ArgumentError, PublicDataError, shown, whole
from dpstats.estimate.glm import PublicRows
from dpstats.estimate.matrices import symmetric_whitening
from dpstats.family import Family, resolve_family
from dpstats.frame import Design, PublicMoments
from dpstats.glm_fit import anchored
from dpstats.glm_model import GlmModel
from dpstats.glm_papers import Constrained, Limits, papers_limits, pmt
from dpstats.glm_start import declared_start, public_start
from dpstats.mechanism.family_session import FamilySession
from dpstats.mechanism.noise import make_noise
from dpstats.mechanism.privacy import resolve_privacy
from dpstats.mechanism.unit import Unit
from dpstats.model import model_items
from dpstats.report.glm import GLM_METHODS

_PAPERS_STEPS = 5
_MOST_STEPS = 50


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
    ridge: float = 0.0,
    eta: float = 0.05,
    weights: str | None = None,
    offset: str | None = None,
    limits: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
    rows_per_person: int = 1,
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
        second is the success (levels come from the public data, or from ``limits``).
    data : table, path, blocks of rows, or Dask DataFrame
        The private rows, as for `dp_lm`. Rows that are missing, carry a level that the public
        data do not know, or a response that the family does not know (a negative count), count
        as zero.
    public : table or PublicMoments, optional
        Public rows of the same columns, or what `public_moments` says of them. Public responses give the
        first anchor; a public sample that differs costs accuracy, never privacy.
    family : str or statsmodels family
        "binomial" (logit), "binomial(probit)", "binomial(cloglog)", "poisson", "gamma" (log link),
        "gaussian", "quasibinomial", "quasipoisson", or a family object such as
        ``sm.families.NegativeBinomial(alpha=0.5)``.
    mu, rho, epsilon, delta : float
        The total privacy of the call, in exactly one unit.
    method : {"anchored", "pmt", "ssp"}, optional
        "anchored" (default with public data): private Newton steps from a public anchor. "pmt": the
        papers' Algorithms 3 and 4 to the letter. "ssp" (default without public data): the second
        moments are released within declared ``limits`` and take the place of the public ones.
    iterations : int, optional
        Private Newton steps. None: as many as the released scales ask for ("pmt": 5).
    ridge : float
        Penalty (ridge/2)|b|^2, the intercept included, on the mean negative log-likelihood.
    eta : float
        Failure probability of the bounds.
    weights, offset : str, optional
        Names of columns. Prior weights multiply the log-likelihood of a row; they need a public bound,
        as for `dp_lm`.
    limits : mapping, optional
        As for `dp_lm`.
    budget, rows_per_person, person
        What the call is charged to, and who is protected; see `dp_lm`.
    executor, progress
        Where the rows are read, and a bar; see `dp_lm`.
    seed : int, optional
        Reproducible noise for teaching and tests; the result says that it is not for release.

    Returns
    -------
    GlmModel

    Raises
    ------
    DPStatsError
        Before any private value is read; never because of one.

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, private = (t.assign(affair=t.affairs > 0) for t in fair())
    >>> fit = dp_glm("affair ~ age + religious", private, public=public, mu=1, seed=1)
    >>> list(fit.coef().index)
    ['Intercept', 'age', 'religious']
    >>> fit.family.name, fit.family.link
    ('binomial', 'logit')
    """
    asked = resolve_privacy(mu, rho, epsilon, delta)
    unit = Unit.of(rows_per_person, person)
    total = asked.per_row(unit.rows)
    model = resolve_family(family)
    check_numbers(ridge, eta, seed)
    _check_iterations(iterations)
    method = choose_method("dp_glm", GLM_METHODS, method, public, limits)
    moments, columns = None, None
    if method == "ssp":
        design, columns, _, norm = declared(formula, limits, weights, offset)
        columns = columns if norm is None else np.minimum(columns, norm)
    else:
        moments = resolve_public(formula, public, weights, offset, limits)
        moments.require_full_rank()
        design = moments.design
    _check_response(design, model)
    check_limits(design, method == "ssp", limits)
    known = _public_rows(moments, public, model)
    given = {"mu": mu, "rho": rho, "epsilon": epsilon, "delta": delta}
    options = {"family": _shown(model), **given, "method": method, "iterations": iterations}
    call = call_text("dp_glm", formula, options | {"ridge": ridge or None}, unit)
    charge = charged(budget, asked, unit, call, label_of(data), (epsilon, delta))
    c_limits: Limits | None = Limits(1.0, 0.25) if model.canonical and model.binary else None
    with charge:
        rows = private_rows(design, data, "dp_glm", unit, executor, progress)
        check_size(rows)
        log_factor = 1 + math.log(2 * rows.n / eta)
        if method == "pmt":
            c_limits = _require_limits(papers_limits(model, known, log_factor), model)
        elif moments is not None:
            start = public_start(model, moments, known)
    noise = make_noise(seed)
    if columns is not None:
        zero = np.zeros(rows.d)
        scale = np.diag(1 / columns)
        with FamilySession(rows, model, scale, zero, None, total, noise) as session:
            start = declared_start(session, model, columns)
            fit = anchored(session, model, start, ridge, iterations, design.terms)
    elif method == "pmt":
        assert moments is not None
        assert c_limits is not None
        radius = math.sqrt(rows.d * log_factor)
        whitening = symmetric_whitening(moments.gram)
        bounded = Constrained(model, c_limits)
        zero = np.zeros(rows.d)
        with FamilySession(rows, bounded, whitening.back, zero, radius, total, noise) as session:
            steps = iterations or _PAPERS_STEPS
            fit = pmt(session, model, moments, known, whitening, c_limits, radius, ridge, steps)
    else:
        back, coef = start.whitening.back, start.coef
        with FamilySession(rows, model, back, coef, None, total, noise) as session:
            fit = anchored(session, model, start, ridge, iterations, design.terms)
    result = GlmModel(
        call=call,
        method=method,
        eta=eta,
        notes=fit.notes
        + delta_note(delta, rows.n)
        + spent_note(moments, asked)
        + same_table(public, data),
        family=model,
        dispersion_source=fit.dispersion_source,
        pearson=fit.pearson,
        pearson_sd=fit.pearson_sd,
        iterations=fit.steps,
        limits=None if c_limits is None else (c_limits.c1, c_limits.c2),
        **model_items(fit, design, moments, rows.n, session, unit, delta),
    )
    return charge.released(result)


def _require_limits(limits: Limits | None, family: Family) -> Limits:
    if limits is None:
        raise PublicDataError(
            f"method='pmt' for the {family} family takes the range of responses and of linear "
            "predictors from public rows: give public=frame with the response, or use "
            "method='anchored', which can do without."
        )
    return limits


def _shown(family: Family) -> str:
    default = resolve_family(family.name).link if family.alpha is None else "log"
    return str(family) if family.link == default else f"{family}({family.link})"


def _check_iterations(iterations: int | None) -> None:
    if iterations is None:
        return
    if whole(iterations, 1) is None or iterations > _MOST_STEPS:
        raise ArgumentError(
            f"iterations must be a number of Newton steps from 1 to {_MOST_STEPS}, or None, not "
            f"{shown(iterations)}. Steps share the budget: 2 to 8 are usual."
        )


def _check_response(design: Design, family: Family) -> None:
    if design.response is None:
        raise ArgumentError("the formula has no response: write 'y ~ x1 + x2'.")
    if not design.terms:
        raise ArgumentError("the formula has no column on its right side; 'y ~ 1' fits a constant.")
    if design.response_kind == "category" and not family.binary:
        raise ArgumentError(
            f"the response `{design.response}` is categorical; the {family} family needs "
            f"{family.domain}."
        )


def _public_rows(moments: PublicMoments | None, public: Any, family: Family) -> PublicRows | None:
    """Public rows as numbers, where rows were given: all that is public may be looked at."""
    if moments is None or isinstance(public, PublicMoments):
        _check_public_mean(moments, family)
        return None
    found = public_rows(moments.design, public)
    _check_size_of(float(np.abs(found.y).max(initial=0.0)))
    wrong = ~family.possible(found.y)
    if wrong.any():
        raise PublicDataError(
            f"the {family} family needs responses that are {family.domain}; {int(wrong.sum())} of the "
            f"{len(wrong)} public rows have another, such as {found.y[wrong][0]:g}. "
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
            f"public responses are of the size {largest:.1g}: rescale the response to a common unit."
        )


def _check_public_mean(moments: PublicMoments | None, family: Family) -> None:
    """A public mean response that the family does not know is found before a budget is spent."""
    if moments is None or moments.cross is None or "Intercept" not in moments.terms:
        return
    if moments.design.weights is not None or moments.design.offsets:
        return
    mean = float(moments.cross[moments.terms.index("Intercept")])
    _check_size_of(abs(mean))
    if not family.possible(np.array([mean]))[0]:
        raise PublicDataError(
            f"the {family} family needs responses that are {family.domain}; their public mean is "
            f"{mean:g}."
        )
