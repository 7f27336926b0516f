"""Notes of a curve, from public and released numbers alone."""

from __future__ import annotations

import numpy as np

from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.models.eptr_nw.bands import CUT_DOUBT
from dpstats.models.eptr_nw.estimate import Prediction
from dpstats.models.eptr_nw.public import CurveSetting
from dpstats.score_rounds.notes import out_of_sight

_HALF = 0.5
_NAMED = 6
"""Points beyond the range that a note names one by one."""
_TELL_SCALE = 3
"""Public responses that differ from the most frequent one, below which they tell no scale."""
FAR_FROM_RANGE = "covariates farther than a bandwidth from the range of the curve"
_YES_NO = 2
"""Different public responses that have no tail."""
_BLIND = 0.02
"""Share of the rows, as noise of a count, from which a histogram of residuals shows next to nothing."""


def plan_notes(setting: CurveSetting | None, counts_sd: float, n: int) -> tuple[str, ...]:
    """What is to be said before rows are read. ``counts_sd``: noise of counts of residuals.

    ``setting``: of public rows, if any.
    """
    notes = []
    if setting is not None and setting.varied is not None and setting.varied < _TELL_SCALE:
        one = setting.varied == 1
        notes.append(
            f"Only {setting.varied} of the {setting.m} public responses differ{'s' * one} from all "
            "others: how far responses lie from the curve is guessed from so few, and intervals may "
            "miss. More public rows help; or none at all."
        )
    if counts_sd > _BLIND * n:
        lie, told = "the public fit", "so that cuts and intervals follow from the public rows"
        if setting is None:
            lie, told = "their middle", "so that intervals may miss"
        notes.append(
            f"n = {n} rows are few at this budget: noise hides how far responses lie from {lie}, "
            f"{told}. A budget {counts_sd / (_BLIND * n):.1f} times as large, or so many more rows, "
            "would show it."
        )
    return tuple(notes)


def beyond_note(setting: CurveSetting, names: tuple[str, ...]) -> tuple[str, ...]:
    """Names the points of ``at=`` beyond the range: what a curve does there is not seen."""
    z, h = setting.shown, setting.smoothing.bandwidth
    out = ((z < setting.low) | (z > setting.high)).any(axis=1)
    if not out.any():
        return ()
    count = int(out.sum())
    found = f"{count} point{'s' * (count > 1)} of at="
    if len(names) == 1 and count <= _NAMED:
        found = f"{names[0]} = " + ", ".join(f"{v:.4g}" for v in z[out, 0] * h[0])
    ends = ", ".join(
        f"`{name}` {low:.4g} to {high:.4g}"
        for name, low, high in zip(names, setting.low * h, setting.high * h, strict=True)
    )
    told = "range of the curve" if setting.m is None else "public rows"
    return (
        f"Beyond the {told} ({ends}): {found}. The curve there is that at their end, and intervals take "
        "it to go on as it does there; more than a bandwidth out nothing is shown.",
    )


def tails_note(setting: CurveSetting, counts_sd: float, n: int) -> tuple[str, ...]:
    """Where the noise of counts hides tails, but not all; see `plan_notes`."""
    if not out_of_sight(counts_sd, n) or counts_sd > _BLIND * n or setting.values == _YES_NO:
        return ()
    if setting.m is None:
        return (
            "The budget is too small to see how long the tails of responses are: where they are "
            "skewed, as prices and costs are, or few differ from the rest, the curve may be moved by "
            "more than its intervals say. A logarithm, more rows, or a larger budget helps.",
        )
    return (
        "The budget is too small to see how long the tails of private responses are: intervals allow "
        "for tails like those of the public rows, and are too short where private ones are longer.",
    )


def wide_note(name: str) -> tuple[str, ...]:
    """Where rows lie in a few places, far apart, as quartiles do not tell."""
    return (
        f"The bandwidth of `{name}` is about as wide as the places where rows lie: bends in these are "
        "flattened, and intervals do not allow for them. State bandwidth=, such as a tenth of such a "
        "place.",
    )


def curve_notes(
    at: Prediction, centre: tuple[Floats, Floats], thin: float, setting: CurveSetting
) -> tuple[str, ...]:
    """What a reader of the curve's points has to know; ``centre``: the polynomial there, its error.

    ``thin``: the share of points that are left to it.
    """
    alone = setting.m is None
    notes = []
    there = ~np.isnan(at.value)
    blank = float((~there).mean())
    if blank > 0:
        away = "at= leaves them out" if alone else "narrower limits or at= leave them out"
        notes.append(
            f"{in_prose(100 * blank)}% of the points are left blank: no row is seen near them. A larger "
            f"bandwidth reaches farther; {away}."
        )
    if thin > _HALF:
        notes.append(
            "At most points the noise outweighs the private rows, and the "
            f"{'polynomial of all rows' if alone else 'public fit'} is shown: ask for a larger budget "
            "or a larger bandwidth."
        )
    for name in setting.narrow:
        notes.append(
            f"The values of `{name}` lie farther apart than twice the bandwidth: between them the "
            "curve rests on hardly any rows. A bandwidth of half their distance or more joins "
            "them."
        )
    for name in setting.wide:
        notes.append(
            f"The bandwidth of `{name}`, chosen on few public rows, is about as wide as it spreads: "
            "bends that these rows do not show are flattened, and intervals do not allow for them. "
            "State bandwidth=, such as a quarter of the standard deviation, or give more public rows."
        )
    own = np.hypot(at.noise_sd, at.sampling_sd)
    mass = np.where(there, np.maximum(at.degree, 0.0), 0.0)
    if there.any():
        cut = float((CUT_DOUBT * np.asarray(at.cut)[there] > _HALF * own[there]).mean())
        if cut > _HALF:
            notes.append(
                f"Responses have a long tail: cutting it may have moved {in_prose(100 * cut)}% of the "
                "points by more than half a standard error; their intervals allow for it. A "
                "logarithm of the response, where it is positive, or a larger budget helps."
            )
    if mass.sum() > 0 and thin <= _HALF and not alone:
        moved = float(mass @ np.where(there, at.value - centre[0], 0.0) ** 2)
        error, without = (float(mass @ np.where(there, sd**2, 0.0)) for sd in (own, centre[1]))
        # the public fit is off by what is moved less errors of the fit, of which noise is one
        if moved < 2 * float(mass @ at.noise_sd**2) or (error > without and moved < 2 * error):
            notes.append(
                "Noise and cuts may do more than what private rows add to the public fit: "
                "public rows alone may do as well. A larger budget or bandwidth helps."
            )
    return tuple(notes)
