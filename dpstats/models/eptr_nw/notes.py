"""Notes of a curve, from public and released numbers alone."""

from __future__ import annotations

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.eptr_nw.bands import CUT_DOUBT
from dpstats.models.eptr_nw.estimate import Prediction

_HALF = 0.5


def curve_notes(
    at: Prediction, public: Floats, thin: float, narrow: tuple[str, ...]
) -> tuple[str, ...]:
    """What a reader of the curve's points has to know; ``public`` is the public fit there."""
    notes = []
    there = ~np.isnan(at.value)
    blank = float((~there).mean())
    if blank > 0:
        notes.append(
            f"{100 * blank:.2g}% of the points are left blank: no row is seen near them. A larger "
            "bandwidth reaches farther; narrower limits or at= leave them out."
        )
    if thin > _HALF:
        notes.append(
            "At most points the noise outweighs the private rows, and the public fit is shown: ask for "
            "a larger budget or a larger bandwidth."
        )
    for name in narrow:
        notes.append(
            f"The values of `{name}` lie farther apart than twice the bandwidth: between them the "
            "curve rests on hardly any rows. A bandwidth of half their distance or more joins "
            "them."
        )
    own = np.hypot(at.noise_sd, at.sampling_sd)
    mass = np.where(there, np.maximum(at.degree, 0.0), 0.0)
    if there.any():
        cut = float((CUT_DOUBT * np.asarray(at.cut)[there] > _HALF * own[there]).mean())
        if cut > _HALF:
            notes.append(
                f"Responses have a long tail: cutting it may have moved {100 * cut:.2g}% of the "
                "points by more than half a standard error; their intervals allow for it. A "
                "logarithm of the response, where it is positive, or a larger budget helps."
            )
    if mass.sum() > 0 and thin <= _HALF:
        moved = float(mass @ np.where(there, at.value - public, 0.0) ** 2)
        # the public fit is off by what is moved less errors of the fit, of which noise is one
        if moved < 2 * float(mass @ at.noise_sd**2):
            notes.append(
                "The noise is larger than what private rows add to the public fit: public rows alone "
                "may do as well. A larger budget or bandwidth helps."
            )
    return tuple(notes)
