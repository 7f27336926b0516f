"""Plans of fits with effects and instruments: rehearsals on persons like the public ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.arrays import Floats
from dpstats.errors import PublicDataError
from dpstats.frame import (
    Block,
    PersonsBlock,
    joined,
    open_public_rows,
    panel_formula,
    public_persons,
)
from dpstats.mechanism.noise import make_noise
from dpstats.models.feols.dp_feols import panel_model, panel_task
from dpstats.models.feols.fit import fit_rows
from dpstats.models.feols.result import PanelModel
from dpstats.plans.asked import check_rows, listed_budgets
from dpstats.plans.plan import finished_plan
from dpstats.plans.population import DrawnPersons, anchor_error, undone
from dpstats.plans.rehearsal import ExpectedRows, Rehearsal
from dpstats.plans.result import Plan
from dpstats.plans.search import target_of
from dpstats.report.call_line import call_text
from dpstats.report.shared_entries import documented

_NOISELESS = Privacy(1e6)


@documented
def plan_feols(
    fml: str,
    public: Any,
    n: int,
    mu: float | Sequence[float] | None = None,
    *,
    rho: float | Sequence[float] | None = None,
    epsilon: float | Sequence[float] | None = None,
    delta: float | None = None,
    target_se: float | Mapping[str, float] | None = None,
    person: str | None = None,
    weights: str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Plan:
    """Expected standard errors of `dp_feols` for n private persons at several budgets; spends nothing.

    Parameters
    ----------
    fml, public, person, weights, limits
        As for `dp_feols`; ``public`` are rows, with the column of persons where there is one: the
        plan depends on how many rows persons have, and how alike these are.
    n : int
        Number of private persons; of rows, where no column names persons.
    mu, rho, epsilon, delta, target_se
        As for `plan_lm`.

    Returns
    -------
    Plan

    Raises
    ------
    PublicDataError, ArgumentError, PrivacyError
        If the public rows do not suffice for the model, or an argument is out of range.

    See Also
    --------
    plan_lm, plan_glm : Of other models.
    dp_feols : The fit.

    References
    ----------
    {second_moments_paper}

    Examples
    --------
    >>> from dpstats.datasets import fair
    >>> plan = plan_feols("rate_marriage ~ age | occupation", fair()[0], n=6048, mu=1)
    >>> list(plan.tidy().term)
    ['age']
    """
    units, formula = check_rows(n), panel_formula(fml)
    totals, given = listed_budgets(mu, rho, epsilon, delta)
    task = panel_task(formula, public, person, weights, limits, "hetero")
    moments = task.moments
    assert moments is not None  # plans are made from public rows
    known = _known(moments.design, public, person)
    unit = PrivacyUnit.of(None, person, jointly=True)
    options = {**given, "delta": delta, "weights": weights, "limits": limits}
    text = call_text("plan_feols", fml, {"n": units, **options}, unit)

    def fitting(expected: ExpectedRows, total: Privacy, seed: int) -> PanelModel:
        fit, session = fit_rows(task, expected, total, make_noise(seed))
        return panel_model(text, formula, task, fit, session, (), unit, delta)

    exact = fitting(ExpectedRows(known), _NOISELESS, 0)
    names = exact.coefficients.terms
    sandwich = np.diag(exact.coefficients.sampling)
    classical = exact.estimate.classical
    robust: Floats | float = 1.0 if classical is None else sandwich / np.diag(classical)
    spread = exact.estimate.dispersion or 1.0
    unsure = anchor_error(moments.gram, float(np.sqrt(spread)), moments.m)
    again = undone(moments.m, len(moments.terms))
    drawn = DrawnPersons(known, unsure)
    rehearsal = Rehearsal(
        drawn,
        fitting,
        1.0,
        again,
        1.0,
        again * drawn.size * sandwich,
        robust,
    )
    shown = replace(moments, design=exact.design)
    plan = finished_plan(
        "anchored", text, rehearsal, units, totals, None, shown, target_of(target_se, names), delta
    )
    plan = replace(plan, counted=unit.counted)
    if exact.second is None:
        return plan
    # errors of the second stage are as well known as the slope of the first, of a t value sqrt(F)
    weakest = min(test.value for _, test in exact.second.first_stages)
    unsure_stage = 1 / np.sqrt(max(weakest, 1e-6))
    return replace(
        plan, relative_error=np.hypot(plan.relative_error, unsure_stage), first_stage=weakest
    )


def _known(design: Any, public: Any, person: str | None) -> Block | PersonsBlock:
    """The public rows as numbers; sorted by person, where persons are named."""
    if person is None:
        return joined(list(open_public_rows(design, public).blocks()))
    found = public_persons(design, public, person)
    if found is None:
        raise PublicDataError(
            f"a plan for persons needs public rows with the column `{person}`: what a fit will be "
            "worth depends on how many rows persons have, and how alike these are."
        )
    return found
