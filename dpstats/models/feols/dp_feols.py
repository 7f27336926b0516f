"""Linear models with effects of persons and with instruments: fixest's formula, private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np

from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import check_size, check_vcov, in_prose, listed, naming, shown
from dpstats.arrays import Floats
from dpstats.budget.budget import Budget
from dpstats.call import Call, Charged, ReleasedLevels, with_levels
from dpstats.errors import ArgumentError, ErrorsWithoutTrace
from dpstats.frame import (
    Design,
    PanelColumns,
    PanelFormula,
    formula_notes,
    level_name,
    panel_design,
    panel_formula,
    panel_moments,
    subset_design,
)
from dpstats.mechanism.lattice import Grid
from dpstats.mechanism.threads import one_blas_thread
from dpstats.models.feols.fit import PanelFit, PanelTask, fit_rows
from dpstats.models.feols.result import PanelModel
from dpstats.models.linear.dp_lm import check_response
from dpstats.models.linear.estimate import LinearFit
from dpstats.models.linear.planning import LEAST
from dpstats.public_input import check_terms
from dpstats.report.shared_entries import documented
from dpstats.score_rounds.estimate import Estimate
from dpstats.score_rounds.least_budget import check_budget
from dpstats.score_rounds.notes import unclustered
from dpstats.score_rounds.releases import ScoreSession, require_share
from dpstats.score_rounds.result import least_squares_of, model_items

_ROWS_EACH = 40.0
_STRONG = 10.0
"""F of a first stage below which errors of the second are not to be believed."""
_MOST = 0.5
"""Share of a variance from which an error is that of another coefficient."""
_MANY = 30
"""Levels that may be persons."""


@one_blas_thread()
@documented
def dp_feols(
    fml: str,
    data: Any,
    public: Any = None,
    *,
    mu: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    person: str | None = None,
    vcov: Any = None,
    weights: str | None = None,
    limits: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
    rows_per_person: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    seed: int | None = None,
) -> PanelModel:
    """Fit a linear model with effects of persons, or with instruments, under differential privacy.

    Parameters
    ----------
    fml : str
        As in fixest and pyfixest: ``"y ~ x1 + x2"``, with effects ``"y ~ x | id + year"``,
        with instruments ``"y ~ x | d ~ z1 + z2"``, or both, ``"y ~ x | id + year | d ~ z"``. The
        effects of the ``person`` are taken out within each person, which costs nothing; other effects
        are dummies of public levels. ``i(year, treat, ref=2010)`` gives the difference of treated
        persons in every year but one; ``i(year)`` the levels of a column.
    {data}
    public : table, optional
        Public rows of the same columns; the column of persons may be missing. They give levels, and
        where rounds begin. Without them both are found in the private rows, as in `dp_lm`.
    mu, rho, epsilon, delta : float
        The total privacy of the call, in exactly one unit: Gaussian DP, zCDP, or (epsilon, delta).
    vcov : {"hetero", "iid"} or {"CRV1": person}, optional
        Standard errors: "hetero" (or "HC1"), the sandwich. With ``person=`` it is clustered by that
        column, and no other clustering is available; "iid" are not clustered, and too short where rows
        of a person are alike.
    weights : str, optional
        A column; weights need a public bound, as in `dp_lm`.
    limits : mapping, optional
        Levels of a category, ``{"g": ["a", "b"]}``, and ``"(weights)"``. Without public rows levels of
        text are released where they are not declared, for a part of delta.
    {budget, persons, executor, progress, seed}

    Returns
    -------
    PanelModel

    Raises
    ------
    {raises}
        Also where fewer than two levels of a column are released.

    See Also
    --------
    dp_lm : Linear models without effects or instruments.
    plan_feols : Standard errors to expect.

    References
    ----------
    {second_moments_paper}

    The formulas are those of R's ``fixest::feols``.

    Examples
    --------
    >>> from dpstats import dp_feols
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_feols("rate_marriage ~ age | occupation", private, public, mu=1, seed=1)
    >>> list(fit.coef().index), fit.fixed_effects
    (['age'], (('occupation', '6 levels'),))
    """
    call = Call.gaussian(
        "dp_feols",
        {"mu": mu, "rho": rho, "epsilon": epsilon, "delta": delta},
        rows_per_person=rows_per_person,
        person=person,
        jointly=True,
        budget=budget,
        executor=executor,
        progress=progress,
        seed=seed,
    )
    formula = panel_formula(fml, person=person)
    errors = _errors(vcov, person)
    unknown: tuple[str, ...] = ()
    task = None
    if public is None:
        call, unknown = with_levels(call, formula.design(person), data, weights, None, limits)
    else:
        task = panel_task(formula, public, person, weights, limits, errors)
    options = {**call.given, "vcov": errors, "weights": weights, "limits": limits}
    with call.charged(call.text(fml, options), data) as charged:
        if task is None:
            task = _task_alone(formula, charged, weights, limits, errors, unknown)
        charged.check_limits(task.design, public is None, limits)
        rows = charged.rows(task.design)
        check_size(rows.n, rows.d, call.unit.counted)
        _check_dummies(formula, task.columns, rows.n, call.total.mu, person)
        if public is None:
            check_terms(task.design, 0.0)
            check_budget(rows.n, rows.d, call.per_row.mu, call.unit, delta)
            charged.require_rows_for_levels(unknown, rows.n)
        else:
            require_share(Grid.for_rows(rows.n), call.per_row.mu, LEAST["anchored"])
    noise = call.noise()
    levels = charged.levels(unknown, rows.n, noise)
    if unknown:
        task = _task_alone(formula, charged, weights, limits, errors, levels=levels)
        rows = charged.rows(task.design)
    fit, session = fit_rows(task, rows, call.per_row, noise, levels.session)
    notes = charged.notes(rows.n, public, task.moments, lines=fit.linear.diagnostics)
    notes += formula_notes(formula.design(None), task.design.ordered) + levels.notes
    result = panel_model(charged.text, formula, task, fit, session, notes, call.unit, delta)
    return charged.released(result)


def _task_alone(
    formula: PanelFormula,
    charged: Charged,
    weights: str | None,
    limits: Mapping[str, Any] | None,
    errors: str,
    unknown: Sequence[str] = (),
    levels: ReleasedLevels | None = None,
) -> PanelTask:
    """What names and kinds of private columns make of a formula, and limits.

    ``unknown``: columns whose levels are to be released; ``levels``: once they are.
    """

    def design_of(text: str) -> Design:
        if levels is None:
            return charged.design(text, weights, None, limits, unknown)
        return charged.released_design(text, weights, None, limits, levels)

    person = charged.call.unit.person
    with ErrorsWithoutTrace():
        design, columns = panel_design(formula, charged.table, design_of, person)
    check_response(design)
    summed = _summed(formula, person)
    return PanelTask(design=design, errors=errors, persons=summed, columns=columns)


def panel_task(
    formula: PanelFormula,
    public: Any,
    person: str | None,
    weights: str | None,
    limits: Mapping[str, Any] | None,
    errors: str,
) -> PanelTask:
    """What public rows make of a formula."""
    with naming("the public data"):
        moments, columns = panel_moments(formula, public, person, weights, limits)
    check_response(moments.design)
    return PanelTask(
        design=moments.design,
        moments=moments,
        errors=errors,
        persons=_summed(formula, person),
        columns=columns,
    )


def _summed(formula: PanelFormula, person: str | None) -> str | None:
    """Over what scores are summed up, see `PanelTask`."""
    return None if person is None else "within" if person in formula.effects else "all"


def _errors(vcov: Any, person: str | None) -> str:
    """Which errors are printed: "hetero" ones are clustered where there are persons."""
    if vcov is None:
        return "hetero"
    if isinstance(vcov, Mapping):
        if list(vcov.items()) == [("CRV1", person)] and person is not None:
            return "hetero"
        raise ArgumentError(
            f"vcov={shown(dict(vcov))}: errors are clustered by the person, whom the total protects; "
            "give person= that column and leave vcov out."
        )
    if isinstance(vcov, str) and vcov.lower().startswith(("clu", "crv", "~")):
        raise ArgumentError(
            f"vcov={shown(vcov)}: errors are clustered by the person whom the total protects: give "
            "person='id'."
        )
    return check_vcov(vcov)


def _check_dummies(
    formula: PanelFormula, columns: PanelColumns, n: int, mu: float, person: str | None
) -> None:
    """Refuse more columns than noise leaves anything of: about n mu^2 / 40."""
    most = max(int(n * mu**2 / _ROWS_EACH), 12)
    d = len(columns.regressors) + len(columns.excluded)
    if d <= most:
        return
    named = ", ".join(f"`{name}`" for name in formula.effects if name != person)
    among = f", the dummies of {named} among them," if named else ""
    way = "" if person in formula.effects else "; the effects of a person= cost nothing"
    counted = "rows" if person is None else "persons"
    raise ArgumentError(
        f"{d} columns{among} are too many for {n} {counted} at mu = {in_prose(mu, 3)}, where about "
        f"{most} stand out from noise. Use fewer levels, or a larger mu{way}."
    )


def panel_model(
    text: str,
    formula: PanelFormula,
    task: PanelTask,
    fit: PanelFit,
    session: ScoreSession,
    qualified: tuple[str, ...],
    unit: PrivacyUnit,
    delta: float | None,
) -> PanelModel:
    """The result of a fit and of the session that it has spent; ``qualified``: notes on privacy."""
    shown_design = _shown(task.design, task.columns)
    person = unit.person
    levels = {name: _levels(task.design, name) for name in formula.effects if name != person}
    effects = tuple(
        (name, f"{levels[name]} levels" if name in levels else "within persons")
        for name in formula.effects
    )
    linear = _in_shown_names(fit.linear, task.design.terms)
    items = model_items(linear, shown_design, task.moments, session, unit, delta, None)
    items |= {"public": None, "public_fit": _public_fit(task), "m": task.columns.public_rows}
    alike = unclustered(unit, linear.estimate.errors)
    notes = (
        *_weak_note(fit, shown_design.terms),
        *_dummies_note(levels, person),
        *alike,
        *linear.notes,
    )
    return PanelModel(
        call=text,
        method="anchored",
        eta=0.05,
        notes=notes + qualified,
        qualified=qualified,
        text=formula.text,
        fixed_effects=effects,
        endogenous=formula.endogenous,
        instruments=formula.instruments,
        reference=formula.reference,
        parameters=fit.parameters,
        full_design=task.columns.full_design,
        second=fit.second,
        **items,
    )


def _weak_note(fit: PanelFit, terms: Sequence[str]) -> tuple[str, ...]:
    """Where a first stage is too weak for standard errors of the second to be believed."""
    tests = () if fit.second is None else fit.second.first_stages
    weak = [
        f"{name}: F = {in_prose(test.value, 3)}" for name, test in tests if test.value < _STRONG
    ]
    if not weak:
        return ()
    along = _taken_along(fit.linear.estimate.vcov, len(tests), terms)
    others = f", and so may those of {along}, which go with it" if along else ""
    return (
        f"The first stage is weak, or noise hides how strong it is ({', '.join(weak)}, with the noise; "
        "without it F may be many times as large): two-stage least squares may be far off, and its "
        f"standard errors too small{others}. A larger budget tells; fit.anderson_rubin() holds in "
        "either case.",
    )


def _taken_along(vcov: Floats, endogenous: int, terms: Sequence[str]) -> str:
    """Terms most of whose variance is that of an endogenous one; these come first."""
    size = np.maximum(np.diag(vcov), 1e-300)
    share = (vcov[:, :endogenous] ** 2 / size[:, None] / size[:endogenous]).max(axis=1)
    along = [j for j in range(endogenous, len(terms)) if share[j] > _MOST]
    return listed([terms[j] for j in along], "`")


def _dummies_note(levels: Mapping[str, int], person: str | None) -> tuple[str, ...]:
    """Where effects that are dummies may be those of persons."""
    return tuple(
        f"The {number} levels of `{name}` are dummies, and rows of other levels are not used. If "
        f"`{name}` names persons, person='{name}' takes their effects out within each, at no cost, "
        "and protects the whole person."
        for name, number in levels.items()
        if number > _MANY and person is None
    )


def _shown(whole: Design, columns: PanelColumns) -> Design:
    """The design of the columns that are printed, by fixest's names."""
    design = subset_design(whole, whole.formula, list(columns.shown))
    names = tuple(level_name(term) for term in design.terms)
    program = tuple(
        replace(column, name=name) for column, name in zip(design.program, names, strict=True)
    )
    return replace(design, terms=names, program=program)


def _in_shown_names(fit: LinearFit, terms: Sequence[str]) -> LinearFit:
    """The fit with fixest's names of columns in its texts."""

    def renamed(text: str) -> str:
        for term in terms:
            text = text.replace(f"`{term}`", f"`{level_name(term)}`")
        return text

    return replace(
        fit,
        diagnostics=tuple(replace(line, note=renamed(line.note)) for line in fit.diagnostics),
        notes=tuple(map(renamed, fit.notes)),
        cautions=tuple(map(renamed, fit.cautions)),
    )


def _levels(design: Design, name: str) -> int:
    spec = design.columns[name]
    return len(spec.levels or ())


def _public_fit(task: PanelTask) -> Estimate | None:
    """Least squares of the public rows alone, where no instrument is needed."""
    if task.moments is None or task.columns.excluded or task.columns.effects:
        return None
    return least_squares_of(task.moments)
