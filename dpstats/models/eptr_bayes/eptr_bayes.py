"""A Gaussian Bayes classifier by efficient Propose-Test-Release, or by noisy sums.

The way of a call: public rows give the classes, scales, centres and cuts (without them a search, and
classes that are declared or released); a `ClassSession` releases sums and products, or means behind a
test; priors, means and covariances follow. The privacy is proved in
`dpstats.models.eptr_bayes.releases` and `dpstats.propose_test.curve`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any

from dpstats.arguments import as_int, check_eta, choose, naming, require_one_of, shown
from dpstats.budget.budget import Budget
from dpstats.call import Call, Charged, with_levels
from dpstats.errors import ArgumentError, PublicDataError, SchemaError
from dpstats.frame import Design, PublicMoments, class_design
from dpstats.mechanism.threads import one_blas_thread
from dpstats.models.eptr_bayes.alone import UnknownFeatures, design_of_classes
from dpstats.models.eptr_bayes.discriminant import KINDS
from dpstats.models.eptr_bayes.fit import CHOSEN, LEAST_LEFT, find_geometry, fit_rows, make_test
from dpstats.models.eptr_bayes.planning import LIFT
from dpstats.models.eptr_bayes.releases import require_room
from dpstats.models.eptr_bayes.result import BAYES_METHODS, BayesModel
from dpstats.propose_test.call import Kind, planning_mu
from dpstats.public_input import check_sizes, require_bounds, without_person
from dpstats.report.shared_entries import documented
from dpstats.score_rounds.notes import later_rows_named, not_used

_COVARIANCES = (*KINDS, "diagonal", "full", "identity")
_KINDS: dict[str, Kind] = {"sums": "gaussian", "ptr": "tested", "paper": "paper"}


@one_blas_thread()
@documented
def eptr_bayes(
    formula: str,
    data: Any,
    public: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    mu: float | None = None,
    rho: float | None = None,
    method: str | None = None,
    covariance: str | None = None,
    limits: Mapping[str, Any] | None = None,
    target: int | None = None,
    calibration: str = "gdp",
    allow_unproved: bool = False,
    eta: float = 0.05,
    budget: Budget | None = None,
    rows_per_person: int = 1,
    person: str | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    seed: int | None = None,
) -> BayesModel:
    """Fit a Gaussian Bayes classifier under differential privacy.

    Priors, class means and covariances are released together, and averaged with those of public
    rows, weighted by what each is worth.

    Parameters
    ----------
    formula : str
        ``"class ~ x1 + x2"``. The left side is a column of text, categories, bools or whole
        numbers, with two classes or more; the right side as for `dp_lm`.
    {data}
        A row of a class that is not public, or with a missing value, is not used.
    public : table, optional
        Public rows of the same columns: they give the classes, their centres, the scale of the features
        and where rows are cut, and choose between covariances. At least two rows of every class.
    epsilon, delta, mu, rho : float
        The total privacy of the call in one unit; methods "ptr" and "paper" take epsilon and delta.
    method : {"sums", "ptr", "paper"}, optional
        "sums" (default): noisy sums, products and counts, no test; the noise of a mean falls with the
        size of its own class. "ptr": means and priors behind a private test of the smallest class; "no
        reply" shows the public means. "paper": Algorithm 3 to the letter.
    covariance : {"naive", "lda", "qda", "diagonal", "full", "identity"}, optional
        Released within classes: "naive", a variance for each class and feature (naive Bayes); "lda", one
        covariance for all; "qda", one for each, shrunk towards the pooled one. By default that of
        the three which classifies public rows best, each left out in its turn, by the mean squared
        error of probabilities in which all classes count alike; name one where few public rows are of
        a rare class, or common classes matter most. Or those of public
        rows, which "ptr" and "paper" take: "diagonal" (their default), "full" (shrunk a little), or
        "identity", features as they are (the paper).
    limits : mapping, optional
        The classes, or levels of a feature: ``{"g": ["a", "b"]}``. Without public rows classes of text
        are released, for a part of delta, where they are not declared; and where features lie is found
        first, for a part of the total, so that ranges, ``{"x1": (0, 1)}``, are for the methods "ptr"
        and "paper" and for covariances that are not released.
    target : int, optional
        For "ptr" and "paper": number of rows that the smallest class is expected to have; by default
        from public frequencies.
    {calibration, allow_unproved, eta, budget, rows_per_person, person, executor, progress, seed}

    Returns
    -------
    BayesModel
        ``.priors``, ``.means``, ``.covariances``, ``.predict(newdata, type="class" or "prob")``,
        ``.confusion(newdata)``.

    Raises
    ------
    {raises}
        Also where fewer than two levels of a column are released.

    See Also
    --------
    dp_glm : Logistic regression.
    dp_mixture : Groups that no column names.

    References
    ----------
    {propose_test_paper}

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> public, private = (t.assign(affair=t.affairs > 0) for t in fair())
    >>> fit = eptr_bayes(
    ...     "affair ~ age + religious", private, public, epsilon=1, delta=1e-5, seed=1
    ... )
    >>> fit.means.shape, float(round(fit.priors.sum(), 6))
    ((2, 2), 1.0)
    >>> fit.predict(public.head(2)).tolist()
    [False, False]

    From private rows alone:

    >>> alone = eptr_bayes("affair ~ age + religious", private, mu=1, seed=1)
    >>> bool((alone.means - fit.means).abs().max(axis=None) < 1)
    True
    """
    method = choose("eptr_bayes", BAYES_METHODS, method, "sums")
    check_eta(eta)
    blind = public is None and "(norm)" not in (limits or {})
    kind = _covariance(covariance, method, blind or public is not None)
    alone = public is None and kind in (*KINDS, CHOSEN)
    if alone:
        check_sizes(limits)
    else:
        needed = "{'class': ['a', 'b'], 'x1': (0, 1)}; the default method and covariance need none"
        require_bounds(f"this method of eptr_bayes ({method}, {kind})", public, limits, needed)
    _check_target(target, method)
    call, terms = Call.propose_test(
        "eptr_bayes",
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
    if isinstance(public, PublicMoments):
        raise PublicDataError(
            "eptr_bayes takes its bounds from public rows, not from moments: public=frame."
        )
    read = without_person(formula, person, public)
    unknown: tuple[str, ...] = ()
    if alone:
        call, unknown = with_levels(call, read, data, None, None, limits)
    else:
        design, levels = _public_design(read, public, limits)
    text = call.text(formula, {**call.given, "method": method, "limits": limits})
    with call.charged(text, data) as charged:
        if alone:
            design, levels = _levels_of(*design_of_classes(charged, read, limits, unknown))
        charged.check_limits(design, public is None, limits)
        rows = _rows(charged, design, formula, public)
        geometry = test = None
        mu_planned = planning_mu(call.per_row)
        if alone:
            charged.require_rows_for_levels(unknown, rows.n)
            require_room(rows.n, mu_planned * math.sqrt(LEAST_LEFT), LIFT)
        else:
            geometry = find_geometry(
                design, len(levels), public, limits, method, kind, rows.n, mu_planned
            )
            test = make_test(method, geometry, len(levels), rows.n, target, terms)
            if test is None:
                require_room(rows.n, mu_planned, None if geometry.cut is None else LIFT)
    noise = call.noise()
    released = charged.levels(unknown, rows.n, noise)
    if unknown:
        design, levels = _levels_of(*design_of_classes(charged, read, limits, levels=released))
        rows = charged.rows(design)
    seen = geometry or UnknownFeatures.of(design, len(levels), limits)
    geometry, fit, session = fit_rows(rows, seen, test, kind, call.per_row, noise, released.session)
    m = None if geometry.counts is None else int(geometry.counts.sum())
    unused = () if fit.used is None else not_used(*fit.used, rows.n, design, public is None)
    model = BayesModel(
        call=text,
        method=method,
        covariance=fit.covariance
        or (f"{kind}, from public rows" if public is not None else "limits"),
        formula=formula,
        design=design,
        levels=levels,
        terms=design.terms[len(levels) :],
        back=geometry.back,
        scaled_means=fit.means,
        prior=fit.prior,
        prior_sd=fit.prior_sd,
        mean_sd=fit.mean_sd,
        spread=fit.spread,
        privacy=charged.statement(session.releases, session.seeded),
        n=rows.n,
        m=m,
        **fit.outcome.items(
            later_rows_named(unused, call.unit)
            + released.notes
            + charged.notes(rows.n, public, m=m)
        ),
    )
    return charged.released(model)


def _public_design(
    formula: str, public: Any, limits: Mapping[str, Any] | None
) -> tuple[Design, tuple[Any, ...]]:
    """The design of public rows or declared limits, and its classes."""
    known = {name: value for name, value in (limits or {}).items() if name != "(norm)"}
    with naming("the public data") if public is not None else nullcontext():
        return _levels_of(*class_design(formula, public, known if public is None else limits or {}))


def _levels_of(design: Design, column: str) -> tuple[Design, tuple[Any, ...]]:
    """A design and its classes, of which there are two or more."""
    levels = design.columns[column].levels or ()
    if len(levels) < 2:
        raise PublicDataError(
            f"`{column}` has {len(levels)} class; a classifier needs two or more. "
            f"Declare them: limits={{'{column}': ['a', 'b']}}."
        )
    return design, levels


def _rows(charged: Charged, design: Design, formula: str, public: Any) -> Any:
    """The private rows; where a column that "." stands for is not there, what it stands for."""
    try:
        return charged.rows(design)
    except SchemaError as error:
        dot = public is not None and re.search(r"(?<![\w.])\.(?![\w.])", formula.partition("~")[2])
        if not dot:
            raise
        raise SchemaError(
            f"{error} In {formula!r} the dot stands for the columns of the public table: name the "
            "columns, or drop the others from public=."
        ) from None


def _covariance(covariance: str | None, method: str, free: bool) -> str:
    """The kind of covariances of a call; ``free``: the radius is not declared."""
    if covariance is None:
        return CHOSEN if method == "sums" and free else "diagonal"
    require_one_of("covariance", covariance, _COVARIANCES)
    if covariance in KINDS and method != "sums":
        raise ArgumentError(
            f"covariance='{covariance}' is released with the sums; method='{method}' takes one from "
            "public rows: 'diagonal', 'full' or 'identity'."
        )
    if covariance in KINDS and not free:
        raise ArgumentError(
            f"covariance='{covariance}' finds where rows are cut by itself; limits['(norm)'] belongs to "
            "'diagonal'."
        )
    return covariance


def _check_target(target: int | None, method: str) -> None:
    if target is None:
        return
    if method == "sums":
        raise ArgumentError("target belongs to method='ptr' and 'paper'; 'sums' makes no test.")
    if as_int(target, 1) is None:
        raise ArgumentError(
            f"target must be the number of rows of the smallest class, 1 or more, not {shown(target)}."
        )
