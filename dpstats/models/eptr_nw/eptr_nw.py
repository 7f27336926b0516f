"""Kernel regression (Nadaraya and Watson) under differential privacy: one release for a whole curve.

The way of a call: public rows give the range, a public fit that private rows correct, bandwidths and
nodes (`public`); without them private rows tell all of it first (`alone`). A `KernelSession` releases
sums or nodes; any number of predictions follow. The privacy is proved in
`dpstats.models.eptr_nw.releases` and `dpstats.propose_test.curve`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

from dpstats.arguments import check_eta, choose
from dpstats.budget.budget import Budget
from dpstats.call import Call
from dpstats.errors import ArgumentError, warn_of_plan
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.threads import one_blas_thread
from dpstats.models.eptr_nw.alone import AloneTask, curve_alone, curve_design, without_boxes
from dpstats.models.eptr_nw.fit import (
    KernelFit,
    adaptive,
    make_test,
    papers,
    papers_points,
    planned_counts_sd,
    sums,
    tested,
)
from dpstats.models.eptr_nw.notes import FAR_FROM_RANGE, beyond_note, plan_notes
from dpstats.models.eptr_nw.public import (
    CurveSetting,
    CutAt,
    declared_ranges,
    find_bandwidths,
    find_design,
    find_points,
    find_setting,
)
from dpstats.models.eptr_nw.releases import require_room
from dpstats.models.eptr_nw.result import KERNEL_METHODS, KernelModel, SumsCurve
from dpstats.propose_test.call import Kind, RowTotal, SafetyTerms, planning_mu, untested
from dpstats.public_input import check_sizes, require_bounds, without_person
from dpstats.report.released import Diagnostic
from dpstats.report.shared_entries import documented
from dpstats.score_rounds.least_budget import check_budget, least_budget
from dpstats.score_rounds.notes import later_rows_named, not_used

_KINDS: dict[str, Kind] = {
    "gp": "gaussian",
    "adaptive": "bounded",
    "ptr": "tested",
    "paper": "paper",
}


_AMPLE, _SQUARED = 2.0, 0.2
"""Times the least n mu without public rows, and times the square of their number, from where private
rows tell more of a curve than public ones: from 500 for 50 of these, 2000 for 100, 18,000 for 300."""


@one_blas_thread()
@documented
def eptr_nw(
    formula: str,
    data: Any,
    public: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    mu: float | None = None,
    rho: float | None = None,
    at: Any = None,
    bandwidth: Any = None,
    method: str | None = None,
    degree: Any = None,
    limits: Mapping[str, Any] | None = None,
    calibration: str = "gdp",
    allow_unproved: bool = False,
    eta: float = 0.05,
    budget: Budget | None = None,
    rows_per_person: int = 1,
    person: str | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    seed: int | None = None,
) -> KernelModel:
    """Fit a smooth curve, or surface, by kernel regression under differential privacy.

    One release answers every point: the privacy of the call is that of the whole curve, and of all
    predictions made from it. A single point costs no less.

    Parameters
    ----------
    formula : str
        ``"y ~ x1"`` or ``"y ~ x1 + x2"``: numbers, transformed as for `dp_lm`.
    {data}
        Responses are cut to a band around the polynomial: by default chosen from a released
        histogram of the residuals, else a public one. Rows with a missing value, or farther than a
        bandwidth from the range of the curve, are not used.
    public : table, optional
        Public rows of the same columns, twenty or more. They give the range, a public polynomial
        that the private rows correct, the bandwidths and the cut. Without them a part of the total
        finds out where the rows lie, and pays for a first curve that tells a polynomial; so it is done
        too where n mu is more than a fifth of the square of their number, as a line of diagnostics says.
    epsilon, delta, mu, rho : float
        The total privacy of the call in one unit; the methods other than "gp" take epsilon and delta.
    at : table, array or mapping, optional
        Points of ``.curve``, at most 2000: a table with the covariates, an array of points, or a
        mapping from covariates to axes, of which the grid is taken. By default a grid over the
        public range. Other points are for `predict`, and cost nothing. Points near which no row is
        seen, private or public, and points more than a bandwidth beyond the range are NaN.
    bandwidth : float or mapping, optional
        Standard deviation of the Gaussian kernel in the covariates' units, one for all or one for each.
        By default chosen on public rows, with the cost of privacy, and no less than half the distance
        between neighbouring values of a covariate; without them it follows from the number of rows,
        the budget, and released scales of the covariates.
    method : {"gp", "adaptive", "ptr", "paper"}, optional
        "gp" (default): sums with noise that is itself a smooth random function (Hall, Rinaldo and
        Wasserman 2013). "adaptive": values at nodes, with noise for a private bound on how many rows
        are near. "ptr": values at nodes behind one private test. "paper": Algorithm 5 to the letter, for
        one point; several points share the budget by composition, with a warning.
    degree : float or sequence, optional
        For "ptr" and "paper": the sum of kernel weights that is expected at each node; by default from
        public rows.
    limits : mapping, optional
        Ranges of columns of the data, without public rows, also where the formula takes a logarithm:
        ``{"x1": (0, 1), "y": (0, 10)}``. "gp" needs none: ranges leave out rows beyond them, and
        limits that are far too wide cost nothing. The other methods need one for every column, and
        bandwidth.
    {calibration, allow_unproved, eta, budget, rows_per_person, person, executor, progress, seed}

    Returns
    -------
    KernelModel
        ``.curve``, ``.predict(newdata, interval="confidence")``, ``.plot()``.

    Warns
    -----
    PlanWarning
        Before any private row is read: where hardly any public responses differ, or rows and budget are
        too few for noise to show how far responses lie from the public fit.

    Raises
    ------
    {raises}

    See Also
    --------
    dp_lm : Curves by ``poly``, ``ns`` and ``bs``.

    Notes
    -----
    The curve is a polynomial plus a kernel mean of its residuals; intervals are for that curve of
    the population. They allow for noise, sampling, what was cut, and (by default) for what
    smoothing would do to a curve like the fit: at the ends of a steep curve that is most of an
    interval. Standard errors leave it out, since it is no spread: it does not fall with the budget,
    but with the bandwidth. Jumps and bends much narrower than the bandwidth are smoothed over, and
    intervals do not reflect them.

    References
    ----------
    {propose_test_paper}

    Hall, Rinaldo and Wasserman (2013), "Differential Privacy for Functions and Functional Data",
    JMLR 14.

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = eptr_nw("rate_marriage ~ age", private, public, epsilon=1, delta=1e-5, seed=1)
    >>> fit.curve.columns.tolist()
    ['age', 'fit', 'std_error', 'lwr', 'upr']
    >>> fit.predict(public).shape
    (318,)

    From private rows alone:

    >>> alone = eptr_nw("rate_marriage ~ age", private, mu=1, seed=1)
    >>> bool((alone.predict(public) - fit.predict(public)).abs().max() < 0.5)
    True
    """
    method = choose("eptr_nw", KERNEL_METHODS, method, "gp")
    check_eta(eta)
    alone = public is None and method == "gp"
    if alone:
        check_sizes(limits)
    else:
        require_bounds(
            f"eptr_nw with method='{method}'",
            public,
            limits,
            "{'x1': (0, 1), 'y': (0, 10)}, with bandwidth=0.1 or another; or leave method out, which "
            "needs neither",
        )
    call, terms = Call.propose_test(
        "eptr_nw",
        method,
        _KINDS[method],
        {"mu": mu, "rho": rho, "epsilon": epsilon, "delta": delta},
        calibration=calibration,
        allow_unproved=allow_unproved,
        rows_per_person=rows_per_person,
        person=person,
        budget=budget,
        executor=executor,
        progress=progress,
        seed=seed,
    )
    if degree is not None and method not in ("ptr", "paper"):
        raise ArgumentError(f"degree belongs to method='ptr' and 'paper', not {method!r}.")
    read = without_person(formula, person, public)
    design = None if alone else find_design(read, public, limits)
    sizes = None if design is None else find_bandwidths(bandwidth, design.terms[1:])
    text = call.text(formula, {**call.given, "method": method, "limits": limits})
    with call.charged(text, data) as charged:
        if design is None:
            design = curve_design(charged, read, limits)
            sizes = find_bandwidths(bandwidth, design.terms[1:])
        charged.check_limits(design, public is None, limits)
        rows = charged.rows(design)
        setting: CurveSetting | None = None
        mu_planned = planning_mu(call.per_row)
        left_out: tuple[Diagnostic, ...] = ()
        release: Callable[[Noise], KernelFit]
        least = least_budget(len(design.terms) + 1)  # a curve is more than a line
        if not alone:
            find = partial(find_setting, design, public, limits or {}, sizes, at, method, rows.n)
            setting = find(2 / mu_planned)
            if method == "gp" and sizes is None and _few(setting.m, rows.n * mu_planned, least):
                left_out, setting = (_left_out(setting.m, rows.n),), None
                design = without_boxes(design)
                rows = charged.rows(design)
        if setting is None:
            check_budget(rows.n, len(design.terms), mu_planned, call.unit, delta, least)
            ranges = declared_ranges(design, limits or {})
            task = AloneTask(design, ranges, sizes, find_points(at, design))
            release = partial(curve_alone, rows, task, untested(call.per_row))
        else:
            release = _way(rows, setting, method, degree, call.per_row, terms, find)
        planned: tuple[str, ...] = ()
        if method == "gp":
            require_room(mu_planned)
            planned = plan_notes(setting, planned_counts_sd(mu_planned), rows.n)
        warn_of_plan(planned)
    noise = call.noise()
    fit = release(noise)
    if isinstance(fit.values, SumsCurve) and not fit.setting.exact:
        counted = fit.values.residuals.counted
        unused = not_used(*counted, rows.n, design, public is None, FAR_FROM_RANGE)
        planned += later_rows_named(unused, call.unit)
    planned += beyond_note(fit.setting, design.terms[1:])
    qualified = planned + charged.notes(rows.n, public, m=fit.setting.m)
    outcome = replace(fit.outcome, diagnostics=(*fit.outcome.diagnostics, *left_out))
    items = outcome.items(qualified) | {"answers": fit.answers}
    model = KernelModel(
        call=text,
        method=method,
        formula=formula,
        design=design,
        setting=fit.setting,
        values=fit.values,
        privacy=charged.statement(fit.releases, noise.seeded),
        n=rows.n,
        m=fit.setting.m,
        **items,
    )
    return charged.released(model)


def _few(m: int | None, private: float, least: float) -> bool:
    """Whether m public rows tell less of a curve than ``private`` ones, n times mu."""
    return m is not None and private >= max(_AMPLE * least, _SQUARED * m**2)


def _left_out(m: int | None, n: int) -> Diagnostic:
    """That so few public rows tell less of a curve than private ones do."""
    few = (
        f"few beside {n} private ones at this budget, and left out: what they would tell was found in "
        "these; bandwidth= has them used"
    )
    return Diagnostic("public rows", m, None, few)


def _way(
    rows: RowSource,
    setting: CurveSetting,
    method: str,
    degree: Any,
    total: RowTotal,
    terms: SafetyTerms,
    find: Callable[[float, CutAt], CurveSetting],
) -> Callable[[Noise], KernelFit]:
    """What a method releases of a curve whose setting is public; tests are planned here."""
    if method == "gp":
        return partial(sums, rows, setting, untested(total), find)
    if method == "adaptive":
        return partial(adaptive, rows, setting, untested(total))
    if method == "ptr":
        return partial(tested, rows, setting, make_test(setting, degree, terms), total)
    return partial(papers, rows, setting, papers_points(setting, degree, terms))
