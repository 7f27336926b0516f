"""Private means and covariances with a little public data.

The way of a call: a few public rows give a centre and a whitening (`gaussian_start`); the plan divides
the total, from public numbers; a `CellSession` releases counts, means and second moments of the
whitened private rows; `mean_fit` and `gaussian_fit` turn them into estimates. The privacy is proved in
`dpstats.models.gaussian.releases`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from dpstats.arguments import check_switch, shown
from dpstats.budget.budget import Budget
from dpstats.call import Call, Charged, check_numbers, documented
from dpstats.errors import ArgumentError, PlanWarning, PublicDataError
from dpstats.models.gaussian.fit import GaussianFit, papers_gaussian, plan_call, refined_gaussian
from dpstats.models.gaussian.mean_fit import (
    fit_mean,
    known_covariance,
    papers_mean,
    plan_call_of_mean,
)
from dpstats.models.gaussian.page import MEAN_METHODS, MVNORM_METHODS
from dpstats.models.gaussian.public import PublicPoints, check_gamma, find_points, whiten
from dpstats.models.gaussian.releases import CellSession
from dpstats.models.gaussian.result import GaussianModel
from dpstats.propose_test.call import choose, positive
from dpstats.report.diagnostics import with_person_note


@documented
def dp_mean(
    formula: str | Sequence[str],
    data: Any,
    public: Any = None,
    *,
    mu: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    covariance: Any = None,
    gamma: float = 0.0,
    method: str | None = None,
    limits: Mapping[str, Any] | None = None,
    eta: float = 0.05,
    budget: Budget | None = None,
    rows_per_person: int = 1,
    person: str | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    seed: int | None = None,
) -> GaussianModel:
    """Estimate a mean under differential privacy; one public row is enough.

    Rows are cut about the public mean, at a radius that follows from their covariance, averaged, and
    noise is added; where it pays, a first rough answer becomes the centre of a second, tighter cut.

    Parameters
    ----------
    formula : str or list of str
        ``"~ x1 + log(x2)"``, or a list of columns. Functions and categories as for `dp_lm`.
    {data}
        Rows that are missing or not finite count nowhere.
    public : table
        Public rows of the same columns, one or more.
    mu, rho, epsilon, delta : float
        The total privacy of the call in one unit: Gaussian DP, zCDP, (epsilon, delta), or epsilon alone
        for pure differential privacy.
    covariance : {"identity", "public"}, number, vector, or matrix, optional
        Of a row. "identity": unit variances (Theorem 2.3 of Bie, Kamath and Singhal). A number or a
        vector: standard deviations; a matrix (or DataFrame): the covariance. "public": estimated from
        public rows, two more than columns at least. Default: "public" from 2d + 2 public rows on;
        with three or more their standard deviations; else "identity". A wrong covariance costs
        accuracy, never privacy.
    gamma : float
        Total variation distance that the public population may have from the private one.
    method : {"refined", "paper"}, optional
        "refined" (default), or the paper's one round to the letter.
    {levels}
    {eta, budget, rows_per_person, person, executor, progress, seed}

    Returns
    -------
    GaussianModel
        ``.mean``, ``.se()``, ``.confint()``, ``.summary()``; ``.cov`` is the covariance that was used.

    Raises
    ------
    {raises}

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_mean(["age", "educ"], private, public=public, rho=0.5, seed=1)
    >>> fit.mean.round(1).tolist()
    [29.1, 14.2]
    """
    method = choose("dp_mean", MEAN_METHODS, method, "refined")
    call = Call.gaussian_or_pure(
        "dp_mean",
        {"mu": mu, "rho": rho, "epsilon": epsilon, "delta": delta},
        rows_per_person=rows_per_person,
        person=person,
        budget=budget,
        executor=executor,
        progress=progress,
        seed=seed,
    )
    check_numbers(0.0, eta)
    check_gamma(gamma)
    points = find_points("dp_mean", formula, public, limits)
    known = known_covariance(points, covariance)
    options: dict[str, Any] = {
        **call.given,
        "covariance": known.name,
        "gamma": gamma or None,
        "method": method,
        "limits": limits,
    }
    with call.charged(call.text(points.formula, options), data) as charged:
        rows = charged.rows(points.design)
        plan = plan_call_of_mean(points, known, rows.n, call.per_row, method, gamma, eta)
        _warn(plan.warnings)
    with CellSession(rows, points.origin, known.units, call.per_row, call.noise()) as session:
        fit = (papers_mean if method == "paper" else fit_mean)(session, points, known, plan)
    notes = plan.warnings + fit.notes + charged.notes(rows.n, public)
    return charged.released(_model(charged, points, method, fit, session, notes))


@documented
def dp_mvnorm(
    formula: str | Sequence[str],
    data: Any,
    public: Any = None,
    *,
    mu: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    gamma: float = 0.0,
    cond: float | None = None,
    pool: bool = False,
    method: str | None = None,
    limits: Mapping[str, Any] | None = None,
    eta: float = 0.05,
    budget: Budget | None = None,
    rows_per_person: int = 1,
    person: str | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    seed: int | None = None,
) -> GaussianModel:
    """Estimate a mean and a covariance matrix under differential privacy, from d + 1 public rows on.

    The public rows only give coordinates: they may come from another population, and nothing depends
    on units, location or conditioning. Private rounds correct the coordinates; the last one releases
    mean and second moments together, by one mechanism.

    Parameters
    ----------
    formula : str or list of str
        ``"~ x1 + log(x2)"``, or a list of columns. Functions and categories as for `dp_lm`.
    {data}
        Rows that are missing or not finite count nowhere.
    public : table
        Public rows of the same columns: twice as many as columns are best, one more than columns is
        enough; with fewer (two at least) only their scales are used.
    mu, rho, epsilon, delta : float
        The total privacy of the call in one unit: Gaussian DP, zCDP, (epsilon, delta), or epsilon alone
        for pure differential privacy (noise of the order d^3 / (n epsilon); for ten columns or fewer).
    gamma : float
        Total variation distance that the public population may have from the private one; 0.99 allows
        variances 300 times as large. Decides how many rounds are planned.
    cond : float, optional
        With d public rows or fewer: a guess of the condition number of the correlations (default
        1e4), which decides how many rounds are planned.
    pool : bool
        Average the release with the public moments by inverse variance: for public rows of the same
        population, when the budget is small.
    method : {"refined", "paper"}, optional
        "refined" (default), or the paper's pipeline to the letter: d + 1 public rows, Algorithms 1
        and 2, and for Lemma A.22 private rounds whose radii follow from the ranges U/L of Algorithm 1.
    {levels}
    {eta, budget, rows_per_person, person, executor, progress, seed}

    Returns
    -------
    GaussianModel
        ``.mean``, ``.cov``, ``.corr``, ``.se()``, ``.cov_se``, ``.summary()``, ``.bounds()``,
        ``.plot()``, ``.sample(n)``, ``.to_moments("y ~ x1 + x2")`` for `dp_lm`.

    Warns
    -----
    PlanWarning
        Before any private row is read: when the rows or the budget are too few for the columns.

    Raises
    ------
    {raises}

    Notes
    -----
    The paper's pure-epsilon algorithm scores a cover of all Gaussians: at d = 2, with six public rows,
    more than 10^9 of them, each on all rows. Here pure epsilon has the same rounds as the rest, with
    noise that is spherical in the space of matrices.

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_mvnorm(["age", "educ", "religious"], private, public=public, rho=0.5, seed=1)
    >>> fit.corr.round(1).loc["age", "religious"]
    np.float64(0.1)
    """
    method = choose("dp_mvnorm", MVNORM_METHODS, method, "refined")
    call = Call.gaussian_or_pure(
        "dp_mvnorm",
        {"mu": mu, "rho": rho, "epsilon": epsilon, "delta": delta},
        rows_per_person=rows_per_person,
        person=person,
        budget=budget,
        executor=executor,
        progress=progress,
        seed=seed,
    )
    check_numbers(0.0, eta)
    check_gamma(gamma)
    points = find_points("dp_mvnorm", formula, public, limits)
    _check_points(points, pool, gamma, cond, method)
    whitening = whiten(points)
    options: dict[str, Any] = {
        **call.given,
        "gamma": gamma or None,
        "cond": cond,
        "pool": pool or None,
        "method": method,
        "limits": limits,
    }
    with call.charged(call.text(points.formula, options), data) as charged:
        rows = charged.rows(points.design)
        _check_size(rows.n, len(points.terms))
        plan = plan_call(points, rows.n, call.per_row, method, gamma, cond, pool, eta)
        _warn(plan.warnings)
    with CellSession(rows, points.origin, points.units, call.per_row, call.noise()) as session:
        if method == "paper":
            fit = papers_gaussian(session, points, plan)
        else:
            fit = refined_gaussian(session, points, whitening, plan, pool)
    notes = plan.warnings + fit.notes + charged.notes(rows.n, public)
    return charged.released(_model(charged, points, method, fit, session, notes))


def _check_size(n: int, d: int) -> None:
    if n < d + 1:
        raise ArgumentError(
            f"{n} private rows cannot give the covariance of {d} columns: give at least {d + 1} "
            "rows (for privacy to leave anything, a few hundred per column), or fewer columns."
        )


def _check_points(
    points: PublicPoints, pool: bool, gamma: float, cond: float | None, method: str
) -> None:
    d = len(points.terms)
    if points.m < 2:
        raise PublicDataError(
            "one public row gives no scale: give two or more (better twice as many as columns), "
            "or estimate the mean alone, dp_mean(..., covariance=...), for which one row is "
            "enough."
        )
    if method == "paper" and points.m < d + 1:
        raise PublicDataError(
            f"method='paper' (Algorithm 1) needs {d + 1} public rows for {d} columns; there are "
            f"{points.m}."
        )
    check_switch("pool", pool)
    if pool and gamma > 0:
        raise ArgumentError(
            "pool=True averages with public moments, which gamma > 0 takes for another population."
        )
    if pool and points.m <= d:
        raise ArgumentError(
            f"pool=True needs a public covariance: more public rows than columns ({points.m} for {d})."
        )
    if method == "paper" and pool:
        raise ArgumentError("pool=True belongs to method='refined'.")
    if method == "paper" and gamma > 0:
        raise ArgumentError(
            "gamma= belongs to method='refined'; the paper's ranges are for one law."
        )
    if cond is None:
        return
    if positive("cond", cond) < 1:
        raise ArgumentError(f"cond is a condition number, 1 or more, not {shown(cond)}.")
    if points.m > d:
        raise ArgumentError(
            f"cond= is for {d} public rows or fewer; {points.m} rows give the shape themselves "
            "(gamma= allows for another population)."
        )


def _warn(messages: Sequence[str]) -> None:
    for message in messages:
        warnings.warn(message, PlanWarning, stacklevel=3)


def _model(
    charged: Charged,
    points: PublicPoints,
    method: str,
    fit: GaussianFit,
    session: CellSession,
    notes: tuple[str, ...],
) -> GaussianModel:
    return GaussianModel(
        call=charged.text,
        method=method,
        formula=points.formula,
        design=points.design,
        coefficients=fit.coefficients(points.terms),
        matrix=fit.matrix,
        cov_source=fit.source,
        noise=fit.noise,
        relative_error=fit.relative_error,
        privacy=charged.statement(session.releases, session.seeded),
        n=session.n,
        m=points.m,
        dropped=points.dropped,
        error=fit.bounds,
        details=with_person_note(fit.diagnostics, charged.call.unit),
        notes=notes,
        public_points=points.shown,
    )
