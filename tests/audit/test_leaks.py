"""Leaks that real numbers do not show: last digits, kinds, orders and attributes; and what is none.

How seldom a right implementation fails is said in `tests.audit.made_up`.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpstats.audit import audit
from dpstats.audit.attack import lower_limit
from dpstats.audit.digits import learn_digit_scores
from dpstats.audit.runs import turns
from tests.audit.made_up import _SURE, _integers, _Noise, _Result

# --- what is detected ----------------------------------------------------------------------------


def _bit(value: float, bit: int, place: int = 0) -> float:
    """A float whose bit in this place, counted from the last, is as given."""
    (whole,) = struct.unpack("<q", struct.pack("<d", value))
    return float(struct.unpack("<d", struct.pack("<q", (whole & ~(1 << place)) | bit << place))[0])


class _Slotted(_Result):
    __slots__ = ("__inside",)

    def __init__(self, value: float, inside: Any) -> None:
        super().__init__(value, 0)
        self.__inside = inside


# what is returned where the private bit is b, and what the page must say of the event
_LEAKS: dict[str, tuple[Callable[[_Noise, int], Any], str]] = {
    "last bit": (lambda z, b: _bit(z() / 999, b), "last bit of value"),
    "third bit": (lambda z, b: _bit(z() / 999, b, 2), "bit 3 from the last of value"),
    "a bit in the middle": (
        lambda z, b: _bit(z() / 999, b, 25),
        "bit 26 from the last of value",
    ),
    "last bit of some": (
        lambda z, b: (lambda v: _bit(v / 999, b if v > 0 else z() % 2))(z()),
        "last bit of value by its size",
    ),
    "last bit of a float32": (
        lambda z, b: _bit(float(np.float32(z() / 999)), b, 29),
        "last bit of value",
    ),
    "last bit of one of eight": (
        lambda z, b: np.array([_bit(z() / 999, b if j == 5 else z() % 2) for j in range(8)]),
        "last bit of [5]",
    ),
    "two last bits together": (
        lambda z, b: (lambda r: [_bit(z() / 999, r), _bit(z() / 999, r ^ b)])(z() % 2),
        "parity of all last bits",
    ),
    "parity": (lambda z, b: 2 * z() + b, "parity of value"),
    "fifth digit": (lambda z, b: 32 * z() + z() % 16 + 16 * b, "binary digit 5 of value"),
    "parity of some": (
        lambda z, b: (lambda v: 2 * v + (b if v > 0 else z() % 2))(z()),
        "parity of value by its size",
    ),
    "parity of a float": (lambda z, b: float(2 * z() + b), "parity of value"),
    "parity beyond the floats": (
        lambda z, b: 2**80 + 2 * z() + b,
        "parity of last digits of value",
    ),
    "parity of cents": (lambda z, b: (2 * z() + b) / 100, "parity of value in steps of 0.01"),
    "parity of odd steps": (lambda z, b: (2 * z() + b) * 0.0123456789, "parity of value in steps"),
    "remainder": (lambda z, b: 3 * z() + b, "value modulo 3"),
    "sign of zero": (lambda z, b: -0.0 if b else 0.0, "0.0 (other: "),
    "sign of some zeros": (
        lambda z, b: float(max(z(), 0)) or (-0.0 if b else 0.0),
        "value is 0.0",
    ),
    "sign of NaN": (lambda z, b: -math.nan if b else math.nan, "nan (other: "),
    "payload of NaN": (
        lambda z, b: _bit(math.nan, b),
        "payload of the NaN in value is 1 (other: 0)",
    ),
    "last bit of a NaN among many": (
        lambda z, b: _bit(math.nan, b) if z() > 0 else float(z()),
        "NaN in value",
    ),
    "last digit of a Decimal": (
        lambda z, b: Decimal(10**25 + 2 * z() + b),
        "parity of last digits of value",
    ),
    "None and NaN": (lambda z, b: None if b else math.nan, "type of value"),
    "int and float": (lambda z, b: z() if b else float(z()), "type of value: float (other: int)"),
    "float and its kind": (
        lambda z, b: np.float64(z()) if b else float(z()),
        "type of value: float (other: numpy.float64)",
    ),
    "kind of array": (lambda z, b: np.array([z()], dtype=float if b else int), "layout of value"),
    "order of a dict": (
        lambda z, b: dict((("a", z()), ("b", z()))[:: -1 if b else 1]),
        "order of value",
    ),
    "attribute": (lambda z, b: _Result(z(), b), "._hidden"),
    "noisy attribute": (lambda z, b: _Result(z(), 3 * b + z() / 1000), "._hidden"),
    "text inside an attribute": (lambda z, b: _Result(z(), {"k": ["", f"{b}"]}), "._hidden[k][1]"),
    "slot": (lambda z, b: _Slotted(z(), b), ".__inside"),
    "attribute of a number": (
        lambda z, b: (
            type("Number", (float,), {"more": 0, "__init__": lambda s, v: None})(z())
            if b
            else float(z())
        ),
        "type of value",
    ),
    "exact value": (lambda z, b: 0.5 if z() > 0 else z() + 0.25 * b, "value"),
}

_LARGE = {"last bit", "parity", "sign of zero"}


@pytest.mark.parametrize("name", _LEAKS)
def test_what_real_numbers_do_not_show_is_detected(name: str) -> None:
    # all of these tell the private bit without fail, or nearly; a miss has probability below 1e-60
    leak, words = _LEAKS[name]
    noise, trials = _integers(), 10_000 if name in _LARGE else 2000
    found = audit(lambda bit: leak(noise, bit), (0, 1), mu=1, trials=trials)
    assert found.refuted
    assert found.mu > 1.6
    assert any(words in point.event for point in found.points)


def test_labels_and_attributes_of_tables_are_compared() -> None:
    def release(bit: int) -> pd.DataFrame:
        table = pd.DataFrame({"a": [1.0], "b": [2.0]})
        table.attrs["more"] = bit
        return table

    found = audit(release, (0, 1), mu=1, trials=200)
    assert found.refuted
    assert ".attrs[more]" in found.points[0].event
    order = audit(lambda b: pd.Series([1, 1], ["ab"[b], "ba"[b]]), (0, 1), mu=1, trials=200)
    assert "order of value" in order.points[0].event


@pytest.mark.parametrize("law", ["laplace", "normal"])
def test_naive_noise_of_floats_is_refuted_by_its_spacing(law: str) -> None:
    # close to zero 0.0 + noise has bits that 1.0 + noise cannot have: in 10 % of the runs or more
    state = np.random.Generator(np.random.PCG64(3))
    noise = getattr(state, law)
    claim: dict[str, Any] = {"epsilon": 1.0} if law == "laplace" else {"mu": 1.0}
    found = audit(lambda data: data + noise(), (0.0, 1.0), **claim, trials=10_000)
    assert found.refuted
    assert {"spacing", "bit"} & set(found.points[0].event.split())
    assert "an event on the last digits gives away" in found.notes[0]
    assert "statistic=lambda value: round(value, 6)" in " ".join(repr(found).split())
    rounded = audit(
        lambda data: data + noise(),
        (0.0, 1.0),
        **claim,
        trials=10_000,
        confidence=_SURE,
        statistic=lambda value: round(value, 6),
    )
    assert not rounded.refuted
    assert not rounded.notes
    assert "whatever statistic= leaves out" in " ".join(repr(rounded).split())


# --- what is none, and what is said of it --------------------------------------------------------


def _notes(
    release: Callable[[np.random.Generator], Callable[[Any], Any]], seeds: int, **options: Any
) -> list[str]:
    """All notes of audits with these seeds."""
    found = []
    for seed in range(seeds):
        one = audit(release(np.random.Generator(np.random.PCG64(seed))), (0, 1), mu=1, **options)
        found += list(one.notes)
    return found


@pytest.mark.slow
def test_without_a_leak_there_is_no_note_on_digits() -> None:
    # a note needs a limit at 99.8 % that is above a rate: 28 audits, false notes far below 1e-6 each
    releases: list[Callable[[np.random.Generator], Callable[[Any], Any]]] = [
        lambda g: lambda data: round(1e6 + g.normal(), 6),
        lambda g: lambda data: round(20 * g.normal()),
        lambda g: lambda data: 20 * data + round(20 * g.normal()),
        lambda g: lambda data: round(g.normal(), 6),
        lambda g: lambda data: g.normal(),
        lambda g: lambda data: round(2 * data + g.normal(), 6),
    ]
    releases.append(lambda g: lambda data: 2**70 + 2000 * data + round(1000 * g.normal()))
    for release in releases:
        assert not _notes(release, 4, trials=1000)


@pytest.mark.parametrize("statistic", [None, lambda value: round(value, 6)])
def test_a_leak_of_size_is_not_laid_on_digits(statistic: Any) -> None:
    state = np.random.Generator(np.random.PCG64(3))
    release = lambda data: 1e5 * data + state.normal(0.5, 0.05)  # noqa: E731
    found = audit(release, (0.0, 1.0), mu=1, trials=2000, statistic=statistic)
    assert found.refuted
    assert not found.notes
    (point,) = found.points
    assert point.event == "value > 5e+04"
    assert point.hits == point.runs


def test_noise_that_takes_some_whole_numbers_is_not_to_be_rounded() -> None:
    for scale in (2, 50):
        (note,) = _notes(lambda g, s=scale: lambda data: data + 2 * round(s * g.normal()), 1)  # type: ignore[misc]
        assert "The remainder of the value" in note
        assert "can be any whole number" in note
        assert "round(" not in note
    (note,) = _notes(lambda g: lambda data: (data + 2 * round(50 * g.normal())) / 100, 1)
    assert "a grid in steps of 0.01" in note
    assert "round(" not in note


def _either(noise: _Noise, bit: int) -> int:
    """Says the truth with probability e / (1 + e), but for what a grid of integers loses."""
    return bit if noise() > -616.2 else 1 - bit  # Phi(0.6162) = 0.7311 = e / (1 + e)


def test_digits_that_a_claim_allows_need_no_mending() -> None:
    noise = _integers(2)
    found = audit(lambda b: 2 * noise() + _either(noise, b), (0, 1), epsilon=1.001, trials=4000)
    assert not found.refuted
    (note,) = found.notes
    assert note.startswith("an event on the last digits gives away epsilon >= 0.")
    assert note.endswith("the values without them only epsilon >= 0.")


def test_what_the_values_give_away_is_counted_beside_the_digits() -> None:
    state = np.random.Generator(np.random.PCG64(3))
    found = audit(lambda data: float(data) + state.normal(), (0, 1), mu=1)
    size = next(point for point in found.points if "size" in point.serves)
    assert size.mu < 1 < found.mu
    assert size.event.startswith(("value", "|value"))
    page = " ".join(repr(found).split())
    assert f"the values without them only mu >= {size.mu:.3g}" in page
    assert "values alone" in page
    failure = 0.01 / (2 * len(found.points))
    assert size.power == pytest.approx(lower_limit(size.hits, size.runs, failure))


def test_event_names_say_which_form_it_is() -> None:
    noise = _integers()
    names: list[tuple[Callable[[int], Any], str]] = [
        (lambda b: [-0.0 if b else 0.0, noise()], "[0] is 0.0 (other: -0.0)"),
        (lambda b: (-0.0, 0.0, 1.0, 2.0)[noise() % 3 + 1 if b else noise() % 4], "value is -0.0"),
        (lambda b: None if b else noise(), "missing (None or NaN)"),
        (lambda b: _Result(noise(), "ab"[b]), "text of ._hidden: a (other: b)"),
        (
            lambda b: dict.fromkeys("ab"[:: 1 - 2 * b], noise()),
            "order of value: str 'a', str 'b' (other",
        ),
    ]
    for release, words in names:
        points = audit(release, (0, 1), mu=0.2, trials=2000).points
        assert points[0].event.removeprefix("not ").startswith(words)
    one = np.repeat([[0.0], [1.0], [4.0]], [300, 300, 600], axis=0)
    two = np.repeat([[0.0], [1.0], [4.0]], [550, 550, 100], axis=0)
    scores = learn_digit_scores(one, two, ["value"], np.array([False]))
    (atoms,) = [score for score in scores if score.name.endswith("the exact value of value")]
    assert atoms.words is not None
    assert atoms.words(0.0, True) == "value is 4.0"
    assert atoms.words(0.0, False) == "value is not 4.0"


# the law of z / 1000 is that of rounded Gaussian noise, so that a shift by 1000 is mu = 1 exactly
_EXACT: dict[str, Callable[[_Noise, int], Any]] = {
    "integer": lambda z, b: z() + 1000 * b,
    "float on a grid": lambda z, b: (z() + 1000 * b) / 1024,
    "cents": lambda z, b: (z() + 1000 * b) / 100,
    "several": lambda z, b: np.array([z(), z() + 1000 * b, 0]),
    "beyond the floats": lambda z, b: 2**70 + z() + 1000 * b,
    "dict": lambda z, b: {"a": z() + 1000 * b, "b": [None, -0.0, True]},
    "object": lambda z, b: _Result(z() + 1000 * b, {"seen": [1, None, "word"], "at": 2.5}),
    "kinds, at random": lambda z, b: (0.0, -0.0, None, 1)[2 * (z() % 2) + _either(z, b)],
    "order, at random": lambda z, b: dict(((0, z()), (1, z()))[:: 2 * _either(z, b) - 1]),
    "parity, at random": lambda z, b: 2 * z() + _either(z, b),
}


@pytest.mark.slow
def test_exact_mechanisms_stand() -> None:
    # 50 audits of exact claims, each wrong with probability 0.01 at most; 8 wrong ones: below 1e-7
    refuted = []
    for seed, (name, release) in itertools.product(range(5), _EXACT.items()):
        noise = _integers(seed)
        claim: dict[str, Any] = {"epsilon": 1.0001} if "random" in name else {"mu": 1.0}
        found = audit(lambda b, z=noise, r=release: r(z, b), (0, 1), **claim, trials=400)
        refuted += [name] if found.refuted else []
    assert len(refuted) < 8


def test_what_counts_the_calls_gives_nothing_away() -> None:
    serial = itertools.count()
    found = audit(lambda data: _Result(0.0, next(serial)), (0, 1), mu=0, confidence=_SURE)
    assert not found.refuted
    first = [order[0] for order in turns(10_000)]
    assert abs(sum(first) - 5000) < 300
    assert all(sorted(order) == [0, 1] for order in turns(9))


def test_digits_of_numbers_beyond_reason() -> None:
    odd = np.array([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, -0.0, 1.0, 2.0, 3.5])
    runs = np.tile(odd, 20)[:, None]
    scores = learn_digit_scores(runs, runs[::-1], ["value"], np.array([False]))
    for score in scores:
        assert not np.isnan(score.of(runs)).any()
    assert not learn_digit_scores(runs[:1], runs[:1], ["value"], np.array([False]))
    tiny = np.array([[0.0], [5e-324], [1e-323], [1.5e-323]])
    assert learn_digit_scores(tiny, tiny + 5e-324, ["value"], np.array([False]))
