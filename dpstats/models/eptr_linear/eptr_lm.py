"""Least squares by efficient Propose-Test-Release.

The way of a call: public rows (or declared limits) give the cuts of rows, responses and coefficients;
a `LeastSquaresSession` releases the solution with noise for its own data set; the public fit is added
back. The privacy is proved in `dpstats.models.eptr_linear.releases` and `dpstats.propose_test.curve`.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

from dpstats.arguments import check_eta, check_size, choose, mapping, positive
from dpstats.budget.budget import Budget
from dpstats.call import Call
from dpstats.errors import ArgumentError
from dpstats.frame import Design, check_written, formula_notes
from dpstats.mechanism.lattice import Grid
from dpstats.mechanism.session import Session
from dpstats.mechanism.threads import one_blas_thread
from dpstats.models.eptr_linear.fit import at_once, make_test
from dpstats.models.eptr_linear.public import (
    declared_geometry,
    find_moments,
    public_geometry,
    without_coef,
)
from dpstats.models.eptr_linear.result import EptrLinearModel
from dpstats.models.eptr_linear.rounds import by_rounds
from dpstats.models.linear.dp_lm import check_response
from dpstats.models.linear.page import EPTR_METHODS
from dpstats.models.linear.planning import LEAST
from dpstats.propose_test.call import Kind, planning_mu
from dpstats.public_input import require_bounds, without_person
from dpstats.report.shared_entries import documented
from dpstats.score_rounds.least_budget import check_budget
from dpstats.score_rounds.releases import require_share
from dpstats.score_rounds.result import least_squares_of, model_items

WEAKER = (
    "limits['(coef)'] was declared, so method='adaptive' was chosen: all its noise follows from "
    "the limits. method='rounds', with limits of the columns alone, is often far more accurate: "
    "leave '(coef)' out."
)
_KINDS: dict[str, Kind] = {
    "rounds": "bounded",
    "adaptive": "bounded",
    "ptr": "tested",
    "adassp": "gaussian",
    "paper": "paper",
}
_LIKE = {"rounds": "anchored", "adassp": "pmt"}
"""The method of dp_lm whose noise is as large."""


def truncated_note(method: str, public: bool) -> str:
    """A note on answers whose rows were truncated once, at bounds that do not depend on private rows."""
    where = "public rows" if public else "limits"
    return (
        f"method={method!r} truncates rows and responses at bounds that {where} give, and nothing that "
        "it releases tells how many it took: intervals are for the truncated rows, and miss the fit of "
        "all where tails are long. dp_lm, and method='rounds', look at tails and allow for cuts."
    )


@one_blas_thread()
@documented
def eptr_lm(
    formula: str,
    data: Any,
    public: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    mu: float | None = None,
    rho: float | None = None,
    method: str | None = None,
    limits: Mapping[str, Any] | None = None,
    target: float | None = None,
    calibration: str = "gdp",
    allow_unproved: bool = False,
    eta: float = 0.05,
    budget: Budget | None = None,
    rows_per_person: int = 1,
    person: str | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    seed: int | None = None,
) -> EptrLinearModel:
    """Fit a linear model by efficient Propose-Test-Release: noise for the data set at hand.

    A least-squares solution itself is released. How far one row can move it depends on the smallest
    eigenvalue of the design, which is tested, or bounded privately, so that well-conditioned data get
    little noise. `dp_lm` is usually a little more accurate; a note says where it is much more so.

    Parameters
    ----------
    formula : str
        As for `dp_lm`.
    {data}
        What is missing or unknown counts as zero, as for `dp_lm`.
    public : table, optional
        Public rows of the same columns, response included, at least one more than there are columns and
        better ten times as many. They whiten the design and give the fit from which the private one is a
        correction; methods other than "rounds" take all bounds from them. None: as for `dp_lm`.
    epsilon, delta : float
        The total privacy of the call.
    mu, rho : float
        The same in other units; for method="adassp" only.
    method : {"rounds", "adaptive", "ptr", "adassp", "paper"}, optional
        "rounds" (default): those of `dp_lm` find where the fit lies, how rows are whitened and where
        scores are cut; the last step from there is released with noise that follows a private lower
        bound on the smallest eigenvalue. "adaptive" (default with ``limits["(coef)"]``): the whole
        solution is released in that way, at once. Both always answer. "ptr": the noise is fixed
        beforehand, and a private test decides whether there is an answer; "no reply" shows the public
        fit instead.
        "adassp": no test; noisy moments with a ridge. "paper": Algorithm 4 to the letter.
    limits : mapping, optional
        Levels of a category, ``{"g": ["a", "b"]}``; without public rows also boxes, as for `dp_lm`.
        Without public rows, methods other than "rounds" need a range per column, ``{"x1": (0, 1),
        "y": (0, 10)}``, with ``"(coef)"``, the largest length of the coefficient vector, and optionally
        ``"(norm)"``, the largest length of a design row.
    target : float, optional
        For "ptr" and "paper": smallest eigenvalue of the mean second moment that the data are
        expected to have; of whitened rows (default: 0.85 of what public rows suggest) or, for
        "paper" and with declared limits, of rows in plain units.
    {calibration, allow_unproved, eta, budget, rows_per_person, person, executor, progress, seed}

    Returns
    -------
    EptrLinearModel
        Summary, intervals and predictions as those of `dp_lm`. "rounds" has the sandwich; other methods
        take the residual variance from public rows, and their intervals do not allow for truncation.

    Raises
    ------
    {raises}

    See Also
    --------
    dp_lm : Mostly the more accurate one.
    eptr : An estimator of your own.

    References
    ----------
    {propose_test_paper}

    Wang (2018), "Revisiting differentially private linear regression", UAI.

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = eptr_lm(
    ...     "rate_marriage ~ age + religious", private, public, epsilon=1, delta=1e-5, seed=1
    ... )
    >>> fit.privacy.epsilon(1e-5) <= 1
    True
    >>> fit.confint().shape
    (3, 2)
    """
    declares_coef = "(coef)" in mapping("limits", limits)
    default = "adaptive" if public is None and declares_coef else "rounds"
    weaker = method is None and default == "adaptive"
    method = choose("eptr_lm", EPTR_METHODS, method, default)
    check_eta(eta)
    needed = "{'x1': (0, 1), 'g': ['a', 'b'], 'y': (0, 10), '(coef)': 5}"
    if method != "rounds":
        require_bounds("eptr_lm", public, limits, needed)
    if target is not None:
        positive("target", target)
        if method not in ("ptr", "paper"):
            raise ArgumentError(f"target belongs to method='ptr' and 'paper', not {method!r}.")
    call, terms = Call.propose_test(
        "eptr_lm",
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
    typed, formula = formula, without_person(formula, person, public)
    moments = find_moments(formula, public, limits)
    if declares_coef and (method == "rounds" or moments is not None):
        bound = "the rounds bound" if moments is None else "public rows bound"
        raise ArgumentError(
            f"limits['(coef)'] has no effect here: {bound} the coefficients. Leave '(coef)' out."
        )
    design: Design | None = None
    if moments is not None:
        design = moments.design
    elif method == "rounds":
        check_written(formula, None, None)
    else:
        design, geometry = declared_geometry(formula, limits or {}, method, target)
    text = call.text(typed, {**call.given, "method": method, "limits": limits})
    with call.charged(text, data) as charged:
        if design is None:
            design = charged.design(formula, None, None, limits, releases_levels=False)
        check_response(design)
        charged.check_limits(design, moments is None, without_coef(limits))
        rows = charged.rows(design)
        check_size(rows.n, rows.d)
        mu_planned = planning_mu(call.per_row)
        if method != "rounds":
            if moments is not None:
                geometry = public_geometry(moments, public, method, mu_planned, rows.n)
            test = make_test(method, geometry, rows.n, rows.d, terms, target)
        elif moments is None:
            check_budget(rows.n, rows.d, mu_planned, call.unit, delta)
        if method in _LIKE:
            require_share(Grid.for_rows(rows.n), mu_planned, LEAST[_LIKE[method]])
    noise = call.noise()
    session: Session[Any]
    if method == "rounds":
        fit, session = by_rounds(design, moments, rows, call.per_row, noise)
    else:
        fit, session = at_once(method, geometry, test, rows, call.per_row, noise, eta)
    qualified = charged.notes(rows.n, public) + formula_notes(formula, design.ordered)
    if weaker:
        qualified = (WEAKER, *qualified)
    cautions = fit.outcome.notes
    if method != "rounds" and fit.outcome.released:
        cautions += (truncated_note(method, moments is not None),)
    model = EptrLinearModel(
        call=text,
        method=method,
        eta=eta,
        sigma_source="private" if method == "rounds" else "public rows",
        notes=cautions + qualified,
        qualified=qualified,
        released=fit.outcome.released,
        error=fit.outcome.error,
        answers=fit.outcome.answers,
        moments_released=fit.moments_released,
        **model_items(fit, design, moments, session, call.unit, delta, least_squares_of(moments)),
    )
    return charged.released(model)
