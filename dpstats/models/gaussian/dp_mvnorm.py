"""Private means and covariances, with a little public data or without.

The way of a call: a few public rows give a centre and a whitening (`public`); the plan divides the
total, from public numbers; a `CellSession` releases counts, means and second moments of the whitened
private rows; `mean_fit` and `fit` turn them into estimates. Without public rows a `ColumnSession`
releases first where the columns lie and how far they spread (`alone`). The privacy is proved in
`dpstats.models.gaussian.releases` and `dpstats.column_search.releases`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

from dpstats.accounting.privacy import Privacy
from dpstats.arguments import check_eta, check_switch, choose, positive, shown
from dpstats.arrays import Floats
from dpstats.budget.budget import Budget
from dpstats.call import Call, Charged
from dpstats.column_search.releases import ColumnSession
from dpstats.errors import ArgumentError, PublicDataError, warn_of_plan
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.session import Session
from dpstats.mechanism.threads import one_blas_thread
from dpstats.models.gaussian.alone import (
    LEAST_SHARE,
    ColumnsToFind,
    FoundColumns,
    columns_to_find,
    find_columns,
    least_for_covariance,
    least_for_mean,
    mean_alone,
    mvnorm_alone,
    planned_start,
    refuse_public_options,
    require_gaussian,
    with_all_columns,
    written,
)
from dpstats.models.gaussian.fit import GaussianFit, papers_gaussian, plan_call, refined_gaussian
from dpstats.models.gaussian.known_covariance import (
    covariance_name,
    known_covariance,
    no_scales,
    stated_covariance,
)
from dpstats.models.gaussian.mean_fit import fit_mean, papers_mean, plan_call_of_mean
from dpstats.models.gaussian.page import MEAN_METHODS, MVNORM_METHODS
from dpstats.models.gaussian.public import PublicPoints, check_gamma, find_points, whiten
from dpstats.models.gaussian.releases import CellSession, require_room
from dpstats.models.gaussian.result import GaussianModel
from dpstats.public_input import without_person
from dpstats.report.diagnostics import with_person_note
from dpstats.report.shared_entries import documented
from dpstats.score_rounds.least_budget import check_budget
from dpstats.score_rounds.notes import with_clusters


@one_blas_thread()
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
    """Estimate a mean under differential privacy, with one public row or more, or with none.

    Rows are cut about the public mean, at a radius that follows from their covariance, averaged, and
    noise is added; where it pays, a first rough answer becomes the centre of a second, tighter cut.
    Unless the covariance is stated, noisy counts of lengths decide how far out rows are cut, so
    that little of long tails is lost, and standard errors follow from second moments of private
    rows. Where long rows lie on one side, as those of a skewed column do, they are cut farther out
    there, and errors allow for what may lie beyond. Without public rows a part of the total goes
    first into noisy counts that tell where each column lies and how far it spreads, and into the
    covariance by which rows are whitened.

    Parameters
    ----------
    formula : str or list of str
        ``"~ x1 + log(x2)"``, or a list of columns. Functions and categories as for `dp_lm`: of a
        category all levels but the first are columns, with their shares as means, and with or without
        ``- 1``; the share of the first is what they leave. Means by group are those of
        ``dp_lm("x1 ~ 0 + g")``.
    {data}
        Rows with missing or infinite values are not used.
    public : table, optional
        Public rows of the same columns, one or more. Without them, levels of categories are declared,
        ``limits={'g': ['a', 'b']}``; ranges of numbers may be, ``limits={'x': (0, 10)}``, and values
        beyond are cut to them.
    mu, rho, epsilon, delta : float
        The total privacy of the call in one unit: Gaussian DP, zCDP, (epsilon, delta), or epsilon alone
        for pure differential privacy, which needs public rows.
    covariance : {"identity", "public"}, number, vector, or matrix, optional
        Of a row. "identity": unit variances (Theorem 2.3 of Bie, Kamath and Singhal). A number or a
        vector: standard deviations; a matrix (or DataFrame): the covariance. "public": estimated
        from public rows, at least two more than columns. Default: "public" from 2d + 2 public rows
        on; with three or more their standard deviations; else "identity", with a warning, and without
        standard errors where rows turn out to vary by more. Without public rows it is released before
        the mean, unless it is stated. What is stated is taken as true: standard errors, intervals
        and bounds are those of rows that vary so, and hold for no others. Privacy holds in any case.
    gamma : float
        Total variation distance that the public population may have from the private one.
    method : {"refined", "paper"}, optional
        "refined" (default), or the paper's one round to the letter.
    {levels}
    {eta, budget, rows_per_person, person, executor, progress, seed}

    Returns
    -------
    GaussianModel
        ``.mean``, ``.se()``, ``.confint()``, ``.summary()``; ``.cov`` is the covariance that was used, a
        rough one: `dp_mvnorm` releases one to quote.

    Raises
    ------
    {raises}

    See Also
    --------
    dp_mvnorm : Mean and covariance matrix.
    dp_mixture : Several groups.

    References
    ----------
    Bie, Kamath and Singhal (2022), "Private Estimation with Public Data", NeurIPS.

    Biswas, Dong, Kamath and Ullman (2020), "CoinPress", NeurIPS.

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_mean(["age", "educ"], private, public=public, rho=0.5, seed=1)
    >>> fit.mean.round(1).tolist()
    [29.1, 14.2]
    >>> dp_mean(["age", "educ"], private, rho=0.5, seed=1).mean.round(1).tolist()
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
    formula = without_person(formula, person, public)
    check_eta(eta)
    check_gamma(gamma)
    if public is None:
        refuse_public_options("dp_mean", method, gamma, covariance)
        total = require_gaussian("dp_mean", call.per_row)
        return _mean_of_private_rows(call, total, formula, data, limits, covariance, method)
    points = find_points("dp_mean", formula, public, limits)
    known = known_covariance(points, covariance)
    scales = no_scales(known, points.m)
    warn_of_plan(scales)
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
        warn_of_plan(plan.warnings)
    with CellSession(rows, points.origin, known.units, call.per_row, call.noise()) as session:
        fit = (papers_mean if method == "paper" else fit_mean)(session, points, known, plan)
    return _released(charged, points, public, method, fit, session, scales + plan.warnings)


@one_blas_thread()
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
    """Estimate a mean and a covariance matrix under differential privacy, with public rows or without.

    The public rows only give coordinates: they may come from another population, and nothing depends
    on units, location or conditioning. Without them, noisy counts tell where each column lies and how
    far it spreads. Private rounds correct the coordinates; the last one releases mean and second moments
    together, by one mechanism. Where noisy counts of lengths show long tails, rows are cut farther out,
    and the mean is released separately, with a cut of its own. Errors of means allow for what cutting
    is expected to take off, by tails that are seen or that noise may hide.

    Parameters
    ----------
    formula : str or list of str
        ``"~ x1 + log(x2)"``, or a list of columns. Functions as for `dp_lm`; levels of
        text without public rows are declared, ``limits={"g": ["a", "b"]}``, and not released.
    {data}
        Rows with missing or infinite values are not used.
    public : table, optional
        Public rows of the same columns: twice as many as columns are best, one more than columns is
        enough; with fewer (two at least) only their scales are used. Without them, levels of
        categories are declared, ``limits={'g': ['a', 'b']}``; ranges of numbers may be,
        ``limits={'x': (0, 10)}``, and values beyond are cut to them.
    mu, rho, epsilon, delta : float
        The total privacy of the call in one unit: Gaussian DP, zCDP, (epsilon, delta), or epsilon alone
        for pure differential privacy (noise of the order d^3 / (n epsilon); for ten columns or fewer,
        and with public rows).
    gamma : float
        Total variation distance that the public population may have from the private one; 0.99 allows
        variances 300 times as large. Decides how many rounds are planned.
    cond : float, optional
        With d public rows or fewer, or none: a guess of the condition number of the correlations
        (default 1e4), which decides how many rounds are planned.
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

    See Also
    --------
    dp_mean : The mean alone.
    dp_mixture : Several groups.

    Notes
    -----
    The paper's pure-epsilon algorithm scores a cover of all Gaussians: at d = 2, with six public rows,
    more than 10^9 of them, each on all rows. Here pure epsilon has the same rounds as the rest, with
    noise that is spherical in the space of matrices.

    References
    ----------
    Bie, Kamath and Singhal (2022), "Private Estimation with Public Data", NeurIPS.

    Hardt and Talwar (2010), "On the Geometry of Differential Privacy", STOC.

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_mvnorm(["age", "educ", "religious"], private, public=public, rho=0.5, seed=1)
    >>> fit.corr.round(1).loc["age", "religious"]
    np.float64(0.1)
    >>> fit = dp_mvnorm(["age", "educ", "religious"], private, rho=0.5, seed=1)
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
    formula = without_person(formula, person, public)
    check_eta(eta)
    check_gamma(gamma)
    if public is None:
        refuse_public_options("dp_mvnorm", method, gamma, pool=pool)
        _check_cond(cond)
        total = require_gaussian("dp_mvnorm", call.per_row)
        return _gaussian_of_private_rows(call, total, formula, data, limits, cond, method, eta)
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
        warn_of_plan(plan.warnings)
    with CellSession(rows, points.origin, points.units, call.per_row, call.noise()) as session:
        if method == "paper":
            fit = papers_gaussian(session, points, plan)
        else:
            public_points = points.measured if pool else None
            fit = refined_gaussian(session, points, whitening, plan, public_points)
    return _released(charged, points, public, method, fit, session, plan.warnings)


def _mean_of_private_rows(
    call: Call[Any],
    total: Privacy,
    formula: str | Sequence[str],
    data: Any,
    limits: Mapping[str, Any] | None,
    covariance: Any,
    method: str,
) -> GaussianModel:
    """`dp_mean` without public rows."""
    options: dict[str, Any] = {
        **call.given,
        "covariance": covariance_name(covariance),
        "method": method,
        "limits": limits,
    }
    with call.charged(call.text(written(formula, limits), options), data) as charged:
        wanted = columns_to_find(charged, formula, limits)
        d = len(wanted.terms)
        known = None if covariance is None else stated_covariance(wanted.terms, covariance)
        rows = charged.rows(wanted.design)
        delta = call.given.get("delta")
        check_budget(rows.n, d, total.mu, call.unit, delta, least_for_mean(d))
        require_room(total, rows.n, d, 1, [LEAST_SHARE])
    units = None if known is None else known.units
    return _alone(charged, wanted, rows, method, partial(mean_alone, known=known), units)


def _gaussian_of_private_rows(
    call: Call[Any],
    total: Privacy,
    formula: str | Sequence[str],
    data: Any,
    limits: Mapping[str, Any] | None,
    cond: float | None,
    method: str,
    eta: float,
) -> GaussianModel:
    """`dp_mvnorm` without public rows."""
    options: dict[str, Any] = {**call.given, "cond": cond, "method": method, "limits": limits}
    with call.charged(call.text(written(formula, limits), options), data) as charged:
        wanted = columns_to_find(charged, formula, limits)
        d = len(wanted.terms)
        rows = charged.rows(wanted.design)
        _check_size(rows.n, d)
        delta = call.given.get("delta")
        check_budget(rows.n, d, total.mu, call.unit, delta, least_for_covariance(d))
        start = planned_start(wanted)
        plan = plan_call(start, rows.n, total, method, 0.0, cond, False, eta)
        warn_of_plan(plan.warnings)
    fitting = partial(mvnorm_alone, cond=cond, eta=eta)
    return _alone(charged, wanted, rows, method, fitting, warned=plan.warnings)


def _alone(
    charged: Charged,
    wanted: ColumnsToFind,
    rows: RowSource,
    method: str,
    fitting: Callable[[CellSession, FoundColumns], GaussianFit],
    units: Floats | None = None,
    warned: tuple[str, ...] = (),
) -> GaussianModel:
    """The model of private rows alone: columns are found, and fitted; NaN for those that noise hides."""
    total, noise = charged.call.per_row, charged.call.noise()
    with ColumnSession(rows, wanted.searched, False, total, noise) as columns:
        found = find_columns(columns, wanted, units)
    with CellSession(
        rows,
        found.origin,
        found.units,
        total,
        noise,
        columns=found.columns,
        after=columns,
        limited=wanted.design.limited,
    ) as session:
        fit = fitting(session, found)
    fit = with_all_columns(fit, found)
    return _released(charged, wanted, None, method, fit, session, warned)


def _check_size(n: int, d: int) -> None:
    if n < d + 1:
        raise ArgumentError(
            f"{n} private rows cannot give the covariance of {d} columns: give at least {d + 1} "
            "rows (with privacy, a few hundred per column), or fewer columns."
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
            "pool=True averages with public moments, which gamma > 0 treats as another population."
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
    _check_cond(cond)
    if cond is not None and points.m > d:
        raise ArgumentError(
            f"cond= is for {d} public rows or fewer; {points.m} rows give the shape themselves "
            "(gamma= allows for another population)."
        )


def _check_cond(cond: float | None) -> None:
    if cond is not None and positive("cond", cond) < 1:
        raise ArgumentError(
            f"cond is a condition number, 1 or more, such as cond=100, not {shown(cond)}."
        )


def _released(
    charged: Charged,
    points: PublicPoints | ColumnsToFind,
    public: Any,
    method: str,
    fit: GaussianFit,
    session: Session[Any],
    warned: tuple[str, ...],
) -> GaussianModel:
    """The result of a fit; ``warned``: what was said before a row was read."""
    known, unit = points if isinstance(points, PublicPoints) else None, charged.call.unit
    m = None if known is None else known.m
    notes = warned + with_clusters(fit.notes, unit, "iid", "dp_lm('x ~ 1', person=...)")
    model = GaussianModel(
        call=charged.text,
        method=method,
        formula=points.design.formula,
        design=points.design,
        coefficients=fit.coefficients(points.terms),
        matrix=fit.matrix,
        cov_source=fit.source,
        noise=fit.noise,
        relative_error=fit.relative_error,
        privacy=charged.statement(session.releases, session.seeded),
        n=session.n,
        m=m,
        dropped=0 if known is None else known.dropped,
        error=fit.bounds,
        details=with_person_note(fit.diagnostics, unit),
        notes=notes + charged.notes(session.n, public, m=m),
        warned=warned,
        public_points=None if known is None else known.shown,
    )
    return charged.released(model)
