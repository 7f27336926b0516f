"""A test of a statistic: its levels, the papers' safety, and what is reported of it."""

import math

import numpy as np
import pytest

from dpstats.errors import PrivacyError
from dpstats.propose_test.bounds import decomposition, noise_radius
from dpstats.propose_test.call import SafetyTerms, plan_safety
from dpstats.propose_test.curve import Levels
from dpstats.propose_test.outcome import Outcome, answered
from dpstats.propose_test.paper import PapersPlan
from dpstats.propose_test.safety import PapersSafety, SafetyLevels

_LEVELS = SafetyLevels(10.0, 0.5, Levels(np.array([9.0, 2.0, 1.0]), np.array([9.0, 2.0, 1.0])), 2)
_TERMS = SafetyTerms(1.0, 1e-3, calibration="dp")


def test_levels_are_a_step_apart() -> None:
    assert [_LEVELS.at(v) for v in (-1.0, 9.99, 10.0, 10.49, 10.5, math.nan)] == [0, 0, 1, 1, 2, 0]
    assert _LEVELS.at(math.inf) > 10**8
    for level in (1, 2, 17):
        assert _LEVELS.at(_LEVELS.value(level)) == level
    assert (_LEVELS.sensitivity, _LEVELS.least_move) == (1.0, 1.0)


def test_the_papers_safety_counts_steps_above_its_threshold() -> None:
    safety = PapersSafety(6.0, 2.0, 0.3)
    assert [safety.at(v) for v in (-3.0, 6.0, 8.0, 9.0, 14.0)] == [0.0, 0.0, 0.0, 0.5, 3.0]
    assert safety.at(safety.value(2.5)) == 2.5
    assert safety.least_move == safety.sensitivity == 0.3


def test_a_test_is_planned_for_its_target_and_reports_statistics() -> None:
    many = SafetyLevels(10.0, 0.5, Levels.flat(1.0), 30)
    test = plan_safety(many, _TERMS, "rows", many.value(30), "Ask for more.", unit=5.0)
    assert test.probability(many.value(30)) >= 0.999
    assert test.probability(9.0) <= 1e-3
    assert dict(test.answers.rows)[0.999] <= many.value(30) / 5.0
    paper = plan_safety(PapersSafety(6.0, 2.0, 0.3), _TERMS, "rows", 6.0)
    assert isinstance(paper.plan, PapersPlan)
    assert paper.sensitivity == 0.3
    with pytest.raises(PrivacyError, match=r"too close to the unsafe level.* Ask for more"):
        plan_safety(
            SafetyLevels(1.0, 1.0, Levels.flat(1.0), 1), _TERMS, "rows", 1.0, "Ask for more."
        )


def test_what_did_not_pass_has_no_noise_and_a_note() -> None:
    test = plan_safety(PapersSafety(6.0, 2.0, 0.3), _TERMS, "rows", 6.0)
    error = (noise_radius(2, 1.0, 0.05, "l2"), *decomposition("l2", 1.0, 2, 1.0, 4.0, 1e-3))
    good, bad = (
        Outcome.of_test(test, passed, "Zeros stand in.", error, (answered(passed),), ("A note.",))
        for passed in (True, False)
    )
    assert good.notes == ("A note.",)
    assert good.error == error
    assert bad.notes[0].startswith("NO REPLY")
    assert bad.notes[0].endswith("Zeros stand in.")
    assert [math.isnan(b.value) for b in bad.error] == [True, False, True, False]
    assert bad.items(("Another.",))["notes"] == (*bad.notes, "Another.")
    assert [o.diagnostics[0].value for o in (good, bad)] == [1.0, 0.0]
