"""The list of tests that are thinned keeps up with them."""

from pathlib import Path

import pytest

from tests.grids import SELDOM, thinned


@pytest.mark.parametrize("file", SELDOM)
def test_what_is_run_seldom_is_there(file: str) -> None:
    text = (Path(__file__).parents[1] / file).read_text(encoding="utf-8")
    for name in SELDOM[file]:
        assert f"\ndef {name}(" in text


@pytest.mark.parametrize("of", [2, 3, 4])
def test_every_entry_of_an_axis_is_among_those_by_default(of: int) -> None:
    axes = [list("abcdefg"), list("ABCDE"), list("1234")]
    cases = thinned(*axes, of=of)
    often = [case.values for case in cases if not case.marks]
    assert len(cases) == 7 * 5 * 4
    assert len(often) < len(cases) / (of - 0.5)
    for axis, met in zip(axes, zip(*often, strict=True), strict=True):
        assert set(axis) == set(met)
