"""Neighbours as bad as an adversary can make them, for every public function and every method.

Tables are tiny, and so are the public samples. Either neighbour is the same rows and one more:

"edge"     far out, at the edge of the cut, against its opposite;
"typical"  an ordinary row against its opposite;
"alone"    all rows are equal, against one that is not;
"huge"     an ordinary row against one so large that its squares overflow;
"level"    a row that alone holds a level, or alone is of a class, against an ordinary level;
"missing"  a row that is missing against one far out;
"worst"    where none of these is as bad as the proof allows: the pair for which its bound is sharp.

Each family of releases has a module with the setups of its methods, their rows and their pairs:
`regressions`, `moments` and `eptr`. What they share is in `neighbours` and `regression_rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from tests.audits.adversaries import eptr, moments, regressions
from tests.audits.adversaries.neighbours import PAIRS, Setup
from tests.audits.watched import Watched

Name = tuple[str, str, str]
"""Function, method and pair."""

_SHARP = {**regressions.SHARP, **moments.SHARP, **eptr.SHARP}


def setups() -> list[Setup]:
    """Every function and method but `eptr`, whose data may be anything."""
    return [*regressions.setups(), *eptr.setups(), *moments.setups()]


@cache
def cases() -> dict[Name, Callable[[], Watched]]:
    """Every case by its name; a case is prepared when it is called for."""
    found: dict[Name, Callable[[], Watched]] = {}
    for setup in setups():
        of = setup.function, setup.method
        if of in moments.WORST:
            setup = replace(setup, pairs={**setup.pairs, "worst": moments.WORST[of]})
        for pair in setup.pairs:
            found[*of, pair] = partial(setup.case, pair)
        if of in _SHARP:
            found[*of, "worst"] = _SHARP[of]
    for calibration, worst in (("gdp", 6), ("dp", 6), ("paper", 6)):
        for pair in PAIRS:
            found["eptr", calibration, pair] = partial(eptr.own, calibration, pair)
        found["eptr", calibration, "worst"] = partial(eptr.sharp_own, calibration, worst, 1)
    return found
