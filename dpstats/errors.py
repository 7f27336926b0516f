"""The package's errors, one hierarchy, and what checks of arguments and their messages share.

Every message is written from public facts alone: the formula, the schema (column names and kinds of
columns), the public rows, the declared limits, n and the privacy asked for. No message is ever
built from a value of a private row.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
_LONGEST = 120


class DPStatsError(Exception):
    """Base of every error that dpstats raises on purpose."""


class FormulaError(DPStatsError, ValueError):
    """The formula cannot be parsed, or is not a row-by-row map."""


class SchemaError(DPStatsError, ValueError):
    """A table lacks a column, or a column is of a kind that the formula cannot use."""


class PublicDataError(DPStatsError, ValueError):
    """The public sample (or the declared moments) cannot carry the model."""


class PrivacyError(DPStatsError, ValueError):
    """The privacy parameters are missing, contradictory or out of range."""


class ArgumentError(DPStatsError, ValueError):
    """Another argument is out of range or contradicts its neighbours."""


class NotReleasedError(DPStatsError, AttributeError):
    """The quantity would need a private row and therefore does not exist."""


class PassError(DPStatsError, RuntimeError):
    """A pass over the private rows could not be finished."""


class BudgetError(DPStatsError, RuntimeError):
    """The ledger of a budget cannot be read, written or believed."""


class BudgetExceeded(BudgetError):
    """A call asks for more than its budget has left; nothing was read, and nothing is charged.

    Attributes
    ----------
    requested, remaining : Privacy, PurePrivacy or ApproximatePrivacy
        Each with ``.mu``, ``.rho``, ``.epsilon(delta)`` and ``.delta(epsilon)``.

    Examples
    --------
    >>> from dpstats import Budget, dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> try:
    ...     dp_lm("rate_marriage ~ age", private, public, mu=2, budget=Budget(mu=1))
    ... except BudgetExceeded as refused:
    ...     refused.remaining.mu
    1.0
    """

    def __init__(self, message: str, requested: Any = None, remaining: Any = None) -> None:
        super().__init__(message)
        self.requested, self.remaining = requested, remaining


class PlanWarning(UserWarning):
    """The plan of a call, made from public numbers alone, promises little."""


def listed(names: Sequence[str]) -> str:
    """Names for a message, the first eight of them."""
    shown = ", ".join(f"'{name}'" for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def shown(value: Any) -> str:
    """An argument for a message: itself if it is a text or a number, and else what it is.

    What was given by mistake may be a table of private rows, or a list of them.
    """
    # no np.generic: a row of a structured array is one
    plain = str | bytes | int | float | complex | np.number | np.bool_ | None
    if not isinstance(value, plain):
        return called(value)
    text = unheard(lambda: repr(value))
    if text is None:  # of a class of the user's, or an integer of thousands of digits
        return called(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def called(value: Any) -> str:
    """What a value is: "a list", "an int"."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def one_of(value: Any, names: Collection[str]) -> bool:
    """Whether an argument, of whatever kind, is one of these names."""
    return isinstance(value, str) and value in names


def number(value: Any) -> float | None:
    """A plain number as a float, infinite where it is too large for one; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


SMALLEST, LARGEST = 1e-100, 1e100
"""Sizes between which squares, and those of ratios to ordinary numbers, are numbers."""


def computable(value: Any) -> float | None:
    """A number above 0 of a size that can be computed with; None for all else."""
    size = number(value)
    return size if size is not None and SMALLEST < size < LARGEST else None


def whole(value: Any, least: int) -> int | None:
    """A whole number that is not below ``least``; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        return None
    return int(value)


def numbers(values: Any) -> npt.NDArray[np.float64] | None:
    """An array of real numbers, of any shape; None for what is none."""

    def read() -> npt.NDArray[np.float64]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # complex numbers lose a part
            return np.array(values, dtype=np.float64)

    return unheard(read)


def items(values: Any, most: int) -> list[Any] | None:
    """What a list, an array or the like holds; None for texts, mappings, and more than ``most`` items.

    No more than these are looked at, however long or wild the argument is.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        return None
    found = unheard(lambda: list(islice(values, most + 1)))
    return None if found is None or len(found) > most else found


def check_switch(name: str, value: Any) -> None:
    """Raise for an argument that is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{name} must be True or False, not {shown(value)}.")


def mapping(name: str, value: Any, such_as: str = "{'x1': (0, 1)}") -> Mapping[str, Any]:
    """An argument that is a mapping from names, or nothing."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentError(f"{name} must be a dict such as {such_as}, not {shown(value)}.")
    return value


def require_sizes(names: Sequence[str], fine: Iterable[Any]) -> None:
    """Raise where public columns hold values that floats cannot compute with."""
    odd = [name for name, ok in zip(names, fine, strict=True) if not ok]
    if odd:
        raise PublicDataError(
            f"the column(s) {listed(odd)} are of a size that cannot be computed with: change the unit."
        )


@contextmanager
def naming(table: str) -> Iterator[None]:
    """Say in which of the tables of a call a column is missing or of the wrong kind."""
    try:
        yield
    except SchemaError as error:
        said = str(error)
    else:
        return
    raise SchemaError(f"in {table}: {said}")


def without_trace(error: BaseException) -> None:
    """Forget the frames of an error: they hold totals without noise, and reporters show such values."""
    error.__traceback__ = error.__context__ = error.__cause__ = None


def unheard(work: Callable[[], T]) -> T | None:
    """What ``work`` returns, or None whatever it raises: nothing of it is shown.

    It may be a panic of a compiled library, or what a cell that is an object raises, which are no
    Exceptions. Ctrl-C is raised anew, because the traceback of the old one holds what was seen.
    """
    try:
        return work()
    except KeyboardInterrupt:
        stopped = True
    except BaseException:
        stopped = False
    if stopped:
        raise KeyboardInterrupt
    return None
