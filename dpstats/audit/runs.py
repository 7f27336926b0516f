"""Runs of a release as rows of one table: the numbers that were returned, and their forms."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.audit.attack import MOST_COLUMNS, Score, learn_scores
from dpstats.audit.digits import MOST_NUMBERS, learn_digit_scores
from dpstats.audit.forms import CODED, Form, form_of, forms_matrix, names_of
from dpstats.audit.lattice import same_to_the_bit
from dpstats.audit.outcomes import NO_REPLY, Numbers, columns_of, matrix_of, numbers_of

_ALWAYS = (
    "the time a run takes, its errors, and what it prints, warns of or writes",
    "what several runs show only together",
    "low digits of several numbers together, except their parity",
    "remainders modulo anything but powers of 2, 3, 5 and 10",
    "which floats far from zero the noise cannot reach",
    "digits of a Decimal between those of a float and the last six, and of a Fraction beyond a float",
    "what properties and methods of a returned object would return, what its functions hold, and "
    "where it lies in memory",
)


_MISSING = "missing (None or NaN)"


def _missing(threshold: float, above: bool) -> str:
    """In words, of a number that is 0 or 1."""
    return (_MISSING if above else f"not {_MISSING}") if 0 <= threshold < 1 else ""


class Run(NamedTuple):
    """What is kept of one run."""

    numbers: Numbers
    form: Form


def draw(
    release: Callable[[Any], Any], data: Any, statistic: Callable[[Any], Any] | None
) -> tuple[Any, Run]:
    """One run: what was returned, and what is kept of it."""
    outcome = release(data)
    value = outcome if statistic is None else statistic(outcome)
    return outcome, Run(numbers_of(value), form_of(value))


@contextmanager
def shown_once() -> Iterator[None]:
    """Warnings that come in run after run, but for their figures, are shown once, at the end."""
    met: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def keep(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        key = (category, filename, lineno, re.sub(r"[\d.e+-]+", "0", str(message)))
        met.setdefault(key, (message, category, filename, lineno))

    try:
        with warnings.catch_warnings():
            warnings.showwarning = keep  # put back at the end
            yield
    finally:
        for message, category, filename, lineno in met.values():
            warnings.warn_explicit(message, category, filename, lineno)


def turns(pairs: int) -> list[tuple[int, int]]:
    """Which of two data sets is first in each pair of runs.

    By a fixed rule without a pattern: what counts the calls (a seed that is stepped, a serial number)
    is then no more often odd on one of the data sets.

    Examples
    --------
    >>> turns(8)
    [(1, 0), (0, 1), (1, 0), (1, 0), (1, 0), (1, 0), (1, 0), (1, 0)]
    """
    digits = hashlib.shake_256(b"turns of an audit").digest(pairs // 8 + 1)
    first = np.unpackbits(np.frombuffer(digits, dtype=np.uint8))[:pairs].tolist()
    return [(side, 1 - side) for side in first]


@dataclass(frozen=True)
class Columns:
    """Names of what is compared: numbers first, forms behind them."""

    numbers: tuple[str, ...]
    forms: tuple[str, ...]

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Columns:
        """All that some runs have."""
        return cls(columns_of([one.numbers for one in runs]), names_of([one.form for one in runs]))

    def table(self, runs: Sequence[Run]) -> Floats:
        """One row per run.

        Examples
        --------
        >>> runs = [draw(lambda data: data, value, None)[1] for value in (2.0, None)]
        >>> Columns.of(runs).table(runs)[:, :2].tolist()
        [[0.0, 2.0], [1.0, nan]]
        """
        numbers = matrix_of([one.numbers for one in runs], self.numbers)
        return np.hstack([numbers, forms_matrix([one.form for one in runs], self.forms)])

    def scores(self, first: Floats, second: Floats) -> tuple[Score, ...]:
        """Scores that may distinguish two laws, learnt from rows of either table."""
        size = len(self.numbers)
        shown = [_MISSING if name == NO_REPLY else name for name in self.numbers]
        plain = learn_scores(first[:, :size], second[:, :size], shown)
        return (
            *(replace(one, words=_missing) if one.name == _MISSING else one for one in plain),
            *learn_digit_scores(first, second, [*shown, *self.forms], self.coded()),
        )

    def coded(self) -> NDArray[np.bool_]:
        """Which columns are codes of a kind, a text or an order."""
        numbers = [False] * len(self.numbers)
        return np.array(numbers + [name.startswith(CODED) for name in self.forms])

    def unseen(
        self, learnt: Floats, forms: Sequence[Form], statistic: bool, rarest: float
    ) -> tuple[str, ...]:
        """What no score has examined, in words.

        ``learnt`` are the rows from which scores were learnt, ``forms`` those of all runs;
        ``statistic``: whether the user has given one; ``rarest``: the least probability of an event
        that could show anything.
        """
        out = ["any other pair of data sets", f"events rarer than 1 in {1 / rarest:.0f}"]
        if statistic:
            out.append("whatever statistic= leaves out of what was returned")
        if len(self.numbers) - 1 > MOST_COLUMNS:
            out.append(f"numbers one by one, beyond the {MOST_COLUMNS} that differ most")
        varying = [j for j in np.flatnonzero(~self.coded()) if not same_to_the_bit(learnt[:, [j]])]
        if len(varying) > MOST_NUMBERS:
            out.append(f"low digits beyond the first {MOST_NUMBERS} numbers that vary")
        if any(form.cut for form in forms):
            out.append("parts of what was returned that are too many or too deep")
        return (*out, *_ALWAYS)
