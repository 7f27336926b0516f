"""Notes of a curve, from released numbers alone."""

from __future__ import annotations

import numpy as np

from dpstats.models.eptr_nw.estimate import Prediction

_HALF = 0.5


def curve_notes(at: Prediction, thin: float) -> tuple[str, ...]:
    """What a reader of the curve's points has to know."""
    notes = []
    blank = float(np.isnan(at.value).mean())
    if blank > 0:
        notes.append(
            f"{100 * blank:.2g}% of the points are left blank: no row is seen near them. A larger "
            "bandwidth reaches farther, narrower limits or at= leave them out."
        )
    if thin > _HALF:
        notes.append(
            "At most points the noise outweighs the private rows, and the public fit is shown: ask for "
            "a larger budget or a larger bandwidth."
        )
    return tuple(notes)
