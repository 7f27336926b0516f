"""The components of a mixture in the user's units, with bounds, diagnostics and notes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.models.gaussian.cuts import NoiseLevel
from dpstats.models.gaussian.estimate import overlap
from dpstats.models.gaussian.fit import LONG_TAILS, unused_notes
from dpstats.models.gaussian.public import PublicPoints
from dpstats.models.mixture.bounds import MixtureFacts, mixture_bounds
from dpstats.models.mixture.clustering import Cells
from dpstats.models.mixture.fit import Borders, Component, MixtureFit, separation
from dpstats.models.mixture.likelihood import SoftFit
from dpstats.models.mixture.misfit import ShapeOf
from dpstats.models.mixture.public_tree import MOST_LEAVES
from dpstats.models.mixture.result import MixtureNumbers
from dpstats.models.mixture.ties import NARROW, step_of
from dpstats.report.diagnostics import row_diagnostics
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.notes import row_causes

_MUCH_OVERLAP = 0.05
_HARDLY = 1.01
"""Times the least width of a component, below which it has that width."""
_MANY_CUT = 0.1  # of rows; of Gaussian ones, a fiftieth
_MOVED, _WIDENED, _CLEAR = 0.3, 0.45, 2.0
"""What the last round may do to a component, in standard deviations and in parts of its variances, and
the errors of these from which it is no noise. Half of the fits that end far off do more, and one of
fifty others."""


def describe(
    points: PublicPoints,
    fit: MixtureFit,
    cells: Cells,
    k: int | None,
    w_min: float,
    regime: str,
    noise: NoiseLevel,
    eta: float,
    n: int,
    soft: SoftFit | None = None,
) -> dict[str, Any]:
    """Attributes of the result: components, the heaviest first, bounds, diagnostics and notes."""
    order = np.argsort([-c.weight for c in fit.components], kind="stable")
    components = [fit.components[j] for j in order]
    numbers = _numbers(points, components)
    worst = _overlap(components)
    gap = separation(components)
    # shared rows of overlapping components are in the standard errors; sorted ones are not
    unsorted = worst if soft is None else 0.0
    notes = _notes(components, k, unsorted, fit.borders, w_min)
    if soft is not None:
        notes += _settled_note(components)
        notes += _soft_notes(
            soft, [soft.shapes[j] for j in order], points.terms, fit.rounds.cut[:2]
        )
    filled = min(sum(c.rows for c in fit.components) / n, 1.0)
    filled_sd = float(np.linalg.norm([c.rows_sd for c in fit.components])) / n
    causes = row_causes(points.design, alone=False)
    notes += unused_notes(n * filled, n * filled_sd, n, len(points.units), causes)
    notes += tie_notes(points.x, points.terms, numbers.covariances)
    facts = MixtureFacts(
        n=n,
        d=len(points.units),
        m=points.m,
        eta=eta,
        rho=noise.rho,
        epsilon=None,
        gamma=0.0,
        k=len(components),
        public_clusters=regime == "public",
        least_weight=w_min,
        components=tuple(c.moments.for_bounds for c in components),
        counts=tuple(c.rows for c in components),
        counts_sd=tuple(c.rows_sd for c in components),
        weights=tuple(c.weight for c in components),
        fewest_public=min(c.m for c in components),
        separation=gap,
        overlap=worst,
    )
    return {
        "numbers": numbers,
        "error": mixture_bounds(facts),
        "details": _diagnostics(fit, (filled, filled_sd), cells, worst, gap, soft),
        "notes": notes,
    }


def tie_notes(x: Floats, terms: Sequence[str], covariances: Floats) -> tuple[str, ...]:
    """A note on components no wider than the step of a column, which may be single values of it."""
    narrow: dict[str, float] = {}
    for j, term in enumerate(terms):
        step = step_of(x[:, j])
        if (covariances[:, j, j] < (_HARDLY * NARROW * step) ** 2).any():
            narrow[term] = step
    if not narrow:
        return ()
    named = ", ".join(
        f"`{term}` (in steps of {in_prose(step, 3)})" for term, step in narrow.items()
    )
    return (
        f"Some components are as narrow as the steps of {named}, whose values repeat: they may be "
        "single values rather than groups. Leave such columns out, or give a small k with "
        "covariance='tied'.",
    )


def _numbers(points: PublicPoints, components: list[Component]) -> MixtureNumbers:
    units = points.units
    means, errors, matrices, relative = [], [], [], []
    for c in components:
        moments = c.moments
        matrix = moments.covariance
        shape = moments.cell.root.T @ moments.cell.root
        means.append(points.origin + units * moments.centre)
        if c.mean_error is None:
            variance = np.diag(matrix) / moments.mean_rows + moments.mean_sd**2 * np.diag(shape)
        else:
            variance = np.diag(c.mean_error)
        error = units * np.sqrt(variance)
        errors.append(error * (math.nan if c.hardly_there else 1.0))
        matrices.append(matrix * np.outer(units, units))
        relative.append(math.nan if c.hardly_there else moments.relative_error)
    return MixtureNumbers(
        np.array([c.weight for c in components]),
        np.array([c.weight_sd for c in components]),
        np.array(means),
        np.array(errors),
        np.array(matrices),
        tuple(relative),
        tuple(c.rows for c in components),
        tuple(c.m for c in components),
    )


def _overlap(components: list[Component]) -> float:
    """The largest overlap of two released components."""
    return max(
        (
            overlap(a.moments.centre, a.moments.covariance, b.moments.centre, b.moments.covariance)
            for a, b in itertools.combinations(components, 2)
        ),
        default=0.0,
    )


def _diagnostics(
    fit: MixtureFit,
    filled: tuple[float, float],
    cells: Cells,
    worst: float,
    gap: float | None,
    soft: SoftFit | None,
) -> tuple[Diagnostic, ...]:
    rounds = fit.rounds
    out = [
        Diagnostic("rounds", rounds.made, None, "of private re-whitening before the last release"),
        *row_diagnostics(
            rounds.cut[:2],
            (1 - filled[0], filled[1]),
            "share that was cut in the last release",
        ),
        Diagnostic(
            "overlap", worst, None, "of the two released components that are nearest, at most"
        ),
        Diagnostic("separation", gap, None, "of their means, in standard deviations"),
    ]
    if soft is not None:
        misfit = soft.misfit
        what = "share of rows that are not where the components have their density, at least"
        out.append(Diagnostic("misfit", misfit.share, misfit.sd, what))
    else:
        out.append(
            Diagnostic("levels", cells.levels, None, "of the private tree that were paid for")
        )
    if cells.projection_noise is not None:
        out.append(
            Diagnostic(
                "noise of the axes",
                cells.projection_noise,
                None,
                "spectral norm, at most, in public units",
            )
        )
    return tuple(out)


def _settled_note(components: Sequence[Component]) -> tuple[str, ...]:
    """A note where the last round was a long step, which linear theory does not describe."""
    moving = [str(j + 1) for j, c in enumerate(components) if _moved(c)]
    if not moving:
        return ()
    return (
        "The fit has not settled: the last round still moved component(s) "
        f"{', '.join(moving)} by far more than their errors, which are too short. More public rows, "
        "fewer components, or a larger budget help.",
    )


def _moved(component: Component) -> bool:
    """By the coordinates of the last round, in which the component before it was standard normal."""
    moments = component.moments
    d = len(moments.mean)
    mean = float(np.linalg.norm(moments.mean))
    spread = float(np.abs(np.linalg.eigvalsh(moments.spread) - 1).max())
    mean_error = math.sqrt(d * (moments.mean_sd**2 + 1 / moments.mean_rows))
    spread_error = math.hypot(moments.spread_sd, math.sqrt(2 / moments.spread_rows))
    far = mean > max(_MOVED, _CLEAR * mean_error)
    return far or spread > max(_WIDENED, _CLEAR * spread_error)


def _soft_notes(
    soft: SoftFit, shapes: list[ShapeOf], terms: Sequence[str], cut: tuple[float, float]
) -> tuple[str, ...]:
    """What private likelihoods and shapes say beside the estimates."""
    notes, choice = [], soft.choice
    if choice is not None:
        fewest, most = choice.undecided
        if fewest < most:
            notes.append(
                f"Neither private nor public likelihoods decide between {fewest} and {most} "
                f"components; {choice.k} are the fewest within one standard deviation of the best. "
                "A larger budget or more rows help; or give k."
            )
        if choice.k == choice.most:
            further = "Give k"
            if choice.most < MOST_LEAVES:
                further = "More public rows allow more; or give k"
            notes.append(
                f"{choice.most} components are the most that were tried: there may be more, or rows "
                f"that are not Gaussian within components. {further}."
            )
    tailed = [str(j + 1) for j, s in enumerate(shapes) if s.tailed]
    if tailed:
        notes.append(
            f"Component(s) {', '.join(tailed)} have longer tails than a Gaussian: their "
            "covariances describe the bulk of their rows, and the bounds are for Gaussians. "
            "Transform columns (log, sqrt), or allow more components."
        )
    skewed = [
        f"{j + 1} in {', '.join(terms[a] for a in s.skewed)}"
        for j, s in enumerate(shapes)
        if s.skewed
    ]
    if skewed:
        notes.append(
            f"Rows of component(s) {'; '.join(skewed)} are skewed: there the mean is not in the "
            "middle, and a Gaussian is only a rough description. Transform columns (log, sqrt), "
            "or allow more components."
        )
    if soft.misfit.sure:
        notes.append(
            "The rows are not spread like draws from these components: at least "
            f"{in_prose(100 * soft.misfit.share)} % of them would have to move. Groups may be skewed "
            "or long-tailed, there may be more of them, or the fit has not found them. Means and "
            "weights then describe no groups, and intervals do not cover those of groups. Transform "
            "columns (log, sqrt), allow more components, or look at `plot()`."
        )
    share, sd = cut
    if share > _MANY_CUT + 4 * sd:
        notes.append(
            f"About {in_prose(100 * share)} % of the rows lie far from every component that public "
            "rows show: public rows may be of another population, or lack a component."
        )
    return tuple(notes)


def _notes(
    components: list[Component], k: int | None, worst: float, borders: Borders, w_min: float
) -> tuple[str, ...]:
    notes = []
    if k is not None and len(components) < k:
        notes.append(
            f"{len(components)} of {k} components were found: no further split showed a valley. "
            "Others are too near, too light, or not there. A larger budget, more public rows or a "
            f"smaller w_min (now {in_prose(w_min, 3)}) can help."
        )
    if borders == "kept":
        notes.append(
            "Rows of some components lie in the cells of others, and no mixture was found that "
            "would give such cells: what is shown describes the cells. Was one component split in "
            f"two, and two taken for one? A smaller w_min (now {in_prose(w_min, 3)}), k=None or more "
            "public rows can help."
        )
    if borders == "undone":
        notes.append(
            f"Components overlap (by up to {in_prose(100 * worst)} %): the effect of sorting rows into "
            "cells was removed, by simulation from the released mixture."
        )
    if worst > _MUCH_OVERLAP:
        notes.append(
            "So much overlap leaves errors beyond the standard errors. Is k right? A component lighter "
            f"than w_min = {in_prose(w_min, 3)} may be hidden, and a heavy one split."
        )
    hardly = [str(j + 1) for j, c in enumerate(components) if c.hardly_there]
    if hardly:
        notes.append(
            f"Component(s) {', '.join(hardly)} cannot be distinguished from empty: what is shown is "
            "public rows and noise, and no standard errors are given. Public rows may be of another "
            "population."
        )
    if any(c.moments.long_tailed for c in components):
        notes.append(LONG_TAILS)
    drowned = [str(j + 1) for j, c in enumerate(components) if not c.moments.resolved]
    if drowned:
        notes.append(
            "In some direction the privacy noise is as large as the covariance of component(s) "
            f"{', '.join(drowned)} itself. Ask for a larger budget, more rows, or fewer "
            "components."
        )
    return tuple(notes)
