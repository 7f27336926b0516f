"""Private Gaussian mixtures with a little public data.

The way of a call: public rows decide the regime. Mostly components are found by private likelihood:
rounds of EM from a public fit, whose weighted moments are released (`likelihood`). Or rows are sorted
into cells, and `fit` estimates all of these together by one mechanism per round: components are found on
public rows alone where these are many, or a tree of splits is grown with private principal axes and
private valley tests (`tree`). The privacy is proved in `dpstats.models.mixture.releases` and in
`dpstats.models.gaussian.releases`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from dpstats.arguments import (
    as_int,
    check_eta,
    check_switch,
    in_prose,
    listed,
    number,
    one_of,
    require_one_of,
    shown,
)
from dpstats.budget.budget import Budget
from dpstats.call import Call
from dpstats.errors import ArgumentError, PublicDataError, warn_of_plan
from dpstats.models.gaussian.fit import noise_level
from dpstats.models.gaussian.public import PublicPoints, find_points
from dpstats.models.gaussian.releases import require_room
from dpstats.models.mixture.cells import few_rows_warning, find_cells
from dpstats.models.mixture.describe import describe
from dpstats.models.mixture.fit import fit_cells
from dpstats.models.mixture.likelihood import SoftFit, most_components, soft_cells, soft_mixture
from dpstats.models.mixture.releases import MixtureSession
from dpstats.models.mixture.result import MixtureModel
from dpstats.models.mixture.soft import COVARIANCES, Covariance
from dpstats.numerics.k_means import column_units
from dpstats.public_input import without_person
from dpstats.report.diagnostics import with_person_note
from dpstats.report.shared_entries import documented
from dpstats.score_rounds.notes import later_rows_named

_MOST = 10
"""Components at most where the partition decides."""
_ENOUGH_PUBLIC = 1.5


@documented
def dp_mixture(
    formula: str | Sequence[str],
    data: Any,
    public: Any = None,
    k: int | None = None,
    *,
    mu: float | None = None,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    regime: str = "auto",
    w_min: float | None = None,
    covariance: str = "full",
    pool: bool = True,
    limits: Mapping[str, Any] | None = None,
    eta: float = 0.05,
    budget: Budget | None = None,
    rows_per_person: int = 1,
    person: str | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    seed: int | None = None,
) -> MixtureModel:
    """Estimate a mixture of Gaussians under differential privacy, with a little public data.

    A mixture found in public rows is refined by a few steps of EM on private rows, and private
    likelihoods choose the number of components. With few public rows, or on request, rows are sorted
    into cells instead, one per component, by a map that public rows (and earlier private releases)
    decide; components must then be separated, by four standard deviations or more.

    Parameters
    ----------
    formula : str or list of str
        ``"~ x1 + log(x2)"``, or a list of columns.
    {data}
        Rows with missing or infinite values are not used.
    public : table
        Public rows of the same columns and the same population.
    k : int, optional
        Number of components. None, in the regime "likelihood": the one with the best BIC by private and
        public likelihoods, the fewest among those that these cannot tell apart, at most 10 and at
        most one for 2 (d + 1) public rows. In the others: as many as are told apart by valleys
        between them, at most 10: of public points alone, or of private counts.
    mu, rho, epsilon, delta : float
        The total privacy of the call in one unit: Gaussian DP, zCDP, or (epsilon, delta).
    regime : {"auto", "likelihood", "public", "private"}
        "likelihood": private EM from a public start; components may overlap. "public": components are
        found on public rows alone, about 1.5 d / w_min of them; the whole budget goes to the
        estimates. "private": needs public rows of the order of log(k) / w_min, whatever the number
        of columns; up to 30 % of the budget finds the components. "auto": "likelihood" with 2 (d +
        1) public rows for each of k components (of two, where k is not given), else one of the
        others.
    w_min : float, optional
        Least weight of a component that must be found; default half of 1/k, and 0.05 where k is not
        given. A smaller one finds lighter components, and needs more public rows.
    covariance : {"full", "tied", "diagonal"}
        A covariance of its own for every component, one for all, or no correlations within components;
        the last two in the regime "likelihood" alone.
    pool : bool
        Average the means and covariances with those of the public rows of the same cell, by inverse
        variance; in the regime "likelihood", keep what public rows say in the last round.
    {levels}
    {eta, budget, rows_per_person, person, executor, progress, seed}

    Returns
    -------
    MixtureModel
        ``.weights``, ``.means``, ``.covariances``, ``.complete``, ``.predict(newdata, type="class" or
        "prob")``, ``.sample(n)``, ``.plot()``, ``.summary()``. When fewer than k components can be
        told apart, these are returned, with a note.

    Warns
    -----
    PlanWarning
        Before any private row is read: when public rows or the budget are too few.

    Raises
    ------
    {raises}

    See Also
    --------
    dp_mvnorm : One group.
    eptr_bayes : Groups that a column names.

    References
    ----------
    Bie, Kamath and Singhal (2022), "Private Estimation with Public Data", NeurIPS.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> def rows(n):
    ...     x = rng.normal(size=(n, 2)) + 12 * rng.integers(0, 2, (n, 1))
    ...     return pd.DataFrame(x, columns=["x1", "x2"])
    >>> fit = dp_mixture("~ x1 + x2", rows(5000), public=rows(100), rho=0.5, seed=1)
    >>> fit.k, fit.regime
    (2, 'likelihood')
    """
    call = Call.gaussian(
        "dp_mixture",
        {"mu": mu, "rho": rho, "epsilon": epsilon, "delta": delta},
        rows_per_person=rows_per_person,
        person=person,
        budget=budget,
        executor=executor,
        progress=progress,
        seed=seed,
    )
    check_eta(eta)
    points = find_points("dp_mixture", without_person(formula, person, public), public, limits)
    _check_numbers(formula, points)
    given_w_min = w_min
    k, w_min = _check(points, k, w_min, regime, pool)
    kind = _check_covariance(covariance, regime)
    regime = _choose_regime(points, regime, k, w_min, kind)
    points.require_scales()
    if regime == "public":
        points = points.measured_in(column_units(points.x, w_min))
    options: dict[str, Any] = {"k": k, **call.given, "w_min": given_w_min}
    options |= {"covariance": None if kind == "full" else kind, "pool": None if pool else pool}
    options |= {"regime": regime, "limits": limits}
    noise = noise_level(call.per_row)
    with call.charged(call.text(points.formula, options), data) as charged:
        rows = charged.rows(points.design)
        if rows.n < 2 * (k or 1):
            raise ArgumentError(
                f"{rows.n} private rows cannot make {k or 1} components: give more rows, or a smaller k."
            )
        require_room(call.per_row, rows.n, len(points.terms), k or _MOST, [0.05])
        warned = few_rows_warning(rows.n, len(points.terms), points.m, k or 2, w_min, noise)
        warn_of_plan(warned)
    soft: SoftFit | None = None
    with MixtureSession(rows, points.origin, points.units, call.per_row, call.noise()) as session:
        if regime == "likelihood":
            alike = float(call.unit.times)
            soft = soft_mixture(
                session, points.measured, k, _most(points, w_min), pool, kind, alike
            )
            fit, cells = soft.fit, soft_cells(soft, points.m)
        else:
            cells = find_cells(session, points.measured, k, w_min, _MOST, regime)
            fit = fit_cells(
                session, cells.partition, points.measured, cells.labels, noise, pool, eta
            )
    described = describe(points, fit, cells, k, w_min, regime, noise, eta, rows.n, soft)
    described["details"] = with_person_note(described["details"], call.unit)
    described["notes"] = warned + later_rows_named(described["notes"], call.unit)
    described["notes"] += charged.notes(rows.n, public, m=points.m)
    model = MixtureModel(
        call=charged.text,
        method="refined",
        regime=regime,
        found=cells.how,
        asked=k,
        formula=points.formula,
        design=points.design,
        terms=points.terms,
        privacy=charged.statement(session.releases, session.seeded),
        n=rows.n,
        m=points.m,
        dropped=points.dropped,
        public_points=points.shown,
        warned=warned,
        **described,
    )
    return charged.released(model)


def _check(
    points: PublicPoints, k: int | None, w_min: float | None, regime: str, pool: bool
) -> tuple[int | None, float]:
    if k is not None and as_int(k, 1) is None:
        raise ArgumentError(
            f"k must be the number of components, 1 or more, or None, not {shown(k)}."
        )
    if not one_of(regime, ("auto", "likelihood", "public", "private")):
        raise ArgumentError(
            f"regime must be 'auto', 'likelihood', 'public' or 'private', not {shown(regime)}."
        )
    check_switch("pool", pool)
    most = k or _MOST
    if w_min is None:
        w_min = 0.5 / most
    weight = number(w_min)
    if weight is None or not 0 < weight <= 1 / (k or 1):
        raise ArgumentError(
            "w_min is the least weight of a component, above 0 and at most 1/k = "
            f"{in_prose(1 / (k or 1), 3)}, not {shown(w_min)}."
        )
    least = 2 * (k or 2)
    if points.m < least:
        raise PublicDataError(
            f"{points.m} public rows cannot show {k or 'several'} components: give {least} at the "
            f"very least, and better {math.ceil(2 * math.log(most / 0.05) / w_min)} or more."
        )
    return None if k is None else int(k), float(w_min)


def _check_numbers(formula: Any, points: PublicPoints) -> None:
    """A dot stands for all columns, and categories are no coordinates of a Gaussian."""
    dot = isinstance(formula, str) and re.search(r"(?<![\w.`])\.(?![\w.`])", formula)
    found = [name for name, spec in points.design.columns.items() if spec.kind == "category"]
    if dot and found:
        without = " ".join(
            f"- `{name}`" if not name.isidentifier() else f"- {name}" for name in found
        )
        raise ArgumentError(
            f"'{formula}' includes {listed(found)}, which holds categories: components are "
            f"Gaussian, and need numbers. Write '{formula.strip()} {without}', or name the columns."
        )


def _check_covariance(covariance: str, regime: str) -> Covariance:
    require_one_of("covariance", covariance, COVARIANCES)
    kind = next(c for c in COVARIANCES if c == covariance)
    if kind != "full" and regime in ("public", "private"):
        raise ArgumentError(
            f"covariance={kind!r} is for the regime 'likelihood': cells give every component its own."
        )
    return kind


def _most(points: PublicPoints, w_min: float) -> int:
    """Components at most, where their number is not given."""
    carried = most_components(points.m, len(points.terms))
    return max(min(carried, _MOST, math.floor(0.5 / w_min + 1e-9)), 1)


def _choose_regime(
    points: PublicPoints, regime: str, k: int | None, w_min: float, kind: Covariance
) -> str:
    if regime != "auto":
        return regime
    d = len(points.terms)
    if kind != "full" or (k != 1 and most_components(points.m, d) >= (k or 2)):
        return "likelihood"
    if k is None:
        # valleys are told apart by thousands of private rows, hardly by hundreds of public ones
        return "private"
    enough = _ENOUGH_PUBLIC * d / w_min
    return "public" if points.m >= max(enough, 4 * k) else "private"
