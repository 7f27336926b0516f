"""Notes of an audit: leaks in last digits and their causes, runs that do not vary, equal data sets."""

from __future__ import annotations

import numpy as np

from dpstats.audit.attack import Score
from dpstats.audit.events import Objective
from dpstats.audit.result import AuditPoint
from dpstats.report.format import format_scalar

EQUAL = "the two data sets are equal; there is nothing to detect."
CONSTANT = (
    "on either data set every run returned the same. If that is because of a fixed seed, the runs "
    "are not independent and nothing here holds, least of all the verdict above: let the seed "
    "change from call to call. (If there is no noise at all, it holds.)"
)
_FLOATS = (
    "Noise that is added to floats leaves such traces; noise that is added to integers does not. To see "
    "what the values give away without their last digits, round them: "
    "statistic=lambda value: round(value, 6)."
)
_INTEGERS = (
    "The remainder of the value distinguishes the data sets: the noise may take only some whole "
    "numbers. Rounding does not help; draw noise that can be any whole number."
)
_GRID = (
    "The values lie on a grid in steps of {}, and the remainder of their number of steps distinguishes "
    "the data sets: the noise may take only some of the steps. Rounding to these steps does not help; "
    "draw noise that can be any number of them."
)


def digits_note(
    score: Score,
    digits: AuditPoint,
    size: AuditPoint,
    objective: Objective,
    delta: float | None,
    stands: bool,
) -> str | None:
    """A note on digits that give away more than sizes: why, and what to do; None if they may not.

    ``digits`` is the event on digits, with its ``score``, and ``size`` the one that was chosen among
    events on the size of numbers, both for ``objective``. They are compared in epsilon at ``delta``,
    or in mu where that is None. Where a claim ``stands`` unrefuted, there is nothing to correct.
    """
    # rates, not limits: what sizes give away is not to be made too little
    rates = ((k + 0.5) / (size.runs + 1) for k in (size.hits, size.false_hits))
    power, alpha = (np.array(rate) for rate in rates)
    if not objective(np.array(digits.power), np.array(digits.alpha)) > objective(power, alpha):
        return None
    unit = "mu" if delta is None else "epsilon"
    more, less = (one.mu if delta is None else one.epsilon(delta) for one in (digits, size))
    if not more > less:
        return None
    all_of_it, sizes = (f"{unit} >= {format_scalar(bound, 3)}" for bound in (more, less))
    leak = (
        f"an event on the last digits gives away {all_of_it}, the values without them only {sizes}."
    )
    if stands:
        return leak
    if score.step is None:
        return f"{leak} {_FLOATS}"
    if score.step == 1:
        return f"{leak} {_INTEGERS}"
    return f"{leak} {_GRID.format(format_scalar(score.step, 4))}"
