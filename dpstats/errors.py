"""The exceptions of the package, one hierarchy, and what keeps private values out of them.

Every message is written from public facts alone: the formula, the schema (column names and kinds of
columns), the public rows, the declared limits, n, the privacy parameters, and what was released. No
message is ever built from a value of a private row; messages of Python or a library about one are
suppressed (`suppress_private_errors`), and so is what the frames of an error hold (`without_trace`).
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")


_PACKAGE = str(Path(__file__).absolute().parent) + os.sep


class DPStatsError(Exception):
    """Base of every error that dpstats raises on purpose.

    Examples
    --------
    >>> from dpstats import dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> try:
    ...     dp_lm("rate_marriage ~ nothing", private, public=public, mu=1)
    ... except DPStatsError as error:
    ...     print(type(error).__name__)
    SchemaError
    """

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the caller's line and the message, not the inside of the package."""
        frames = [
            frame
            for frame in traceback.extract_tb(self.__traceback__)
            if not frame.filename.startswith(_PACKAGE) and "IPython" not in frame.filename
        ]
        lines = [f"line {frame.lineno} of {frame.name}: {frame.line}" for frame in frames]
        return [*lines, *traceback.format_exception_only(self)]


class FormulaError(DPStatsError, ValueError):
    """The formula cannot be parsed, or is not a row-by-row map."""


class SchemaError(DPStatsError, ValueError):
    """A table lacks a column, or a column is of a kind that the formula cannot use."""


class PublicDataError(DPStatsError, ValueError):
    """The public sample (or declared moments) does not suffice for the model."""


class PrivacyError(DPStatsError, ValueError):
    """The privacy parameters are missing, contradictory or out of range."""


class ArgumentError(DPStatsError, ValueError):
    """Another argument is out of range or contradicts its neighbours."""


class UnknownArgument(ArgumentError, TypeError):
    """An argument that a function does not have."""


class NotReleasedError(DPStatsError, AttributeError):
    """The quantity would need a private row and therefore does not exist."""


class PassError(DPStatsError, RuntimeError):
    """A pass over the private rows could not be finished."""


class BudgetError(DPStatsError, RuntimeError):
    """The ledger of a budget cannot be read, written or trusted."""


class BudgetExceeded(BudgetError):
    """A call asks for more than its budget has left; nothing was read, and nothing is charged.

    Attributes
    ----------
    requested, remaining : Privacy, PurePrivacy or ApproximatePrivacy
        Each with ``.mu``, ``.rho``, ``.epsilon(delta)`` and ``.delta(epsilon)``.

    See Also
    --------
    Budget : Which raises it.

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


class PrivateRowsWarning(UserWarning):
    """Rows that a method shows are the private rows of an earlier call."""


charged_call: ContextVar[str] = ContextVar("the running call, if a budget pays for it", default="")


def note_charge(error: BaseException) -> None:
    """Where a call is interrupted, or fails for no public reason, say that its charge stays."""
    call = charged_call.get()
    charged_call.set("")
    if call and not isinstance(error, DPStatsError | PlanWarning):
        error.add_note(f"{call} stays charged to its budget.")


STAYS_CHARGED = " The call stays charged to its budget."


def stays_charged() -> str:
    """What errors of a running call say whose charge stays; empty where no budget pays for it."""
    return STAYS_CHARGED if charged_call.get() else ""


def without_trace(error: BaseException) -> None:
    """Forget the frames of an error: they hold totals without noise, and reporters show such values."""
    error.__traceback__ = error.__context__ = error.__cause__ = None
    note_charge(error)


class ErrorsWithoutTrace:
    """A block that any error, Ctrl-C among them, leaves without its frames; see `without_trace`.

    `contextlib.contextmanager` would not do: it gives an error its frames back.
    """

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            without_trace(error)


_AROSE = "It arose here:"


def without_frames(function: Callable[P, T]) -> Callable[P, T]:
    """A function that an interruption, or what is no error of ours, leaves without frames of ours.

    It may come while rows are being forgotten, and the frames hold them then. Ctrl-C, a time limit and
    the end of the program arrive in any line, as any kind of exception. The lines are told in a note.
    """

    @wraps(function)
    def called(*args: P.args, **named: P.kwargs) -> T:
        try:
            # noise may make numbers of any size: what is no number is shown as such
            with np.errstate(all="ignore"):
                return function(*args, **named)
        except (DPStatsError, PlanWarning):
            raise
        except BaseException as error:
            stopped = error
        places = [(f.f_code, line) for f, line in traceback.walk_tb(stopped.__traceback__)][1:]
        without_trace(stopped)
        with contextlib.suppress(Exception):  # whatever its class makes of notes
            if isinstance(stopped, Exception) and _AROSE not in str(
                getattr(stopped, "__notes__", "")
            ):
                lines = [
                    f"{code.co_filename}, line {line}, {code.co_name}" for code, line in places
                ]
                stopped.add_note("\n  ".join([_AROSE, *lines]))
        raise stopped

    return called


def suppress_private_errors(work: Callable[[], T]) -> T | None:
    """What ``work`` returns, or None whatever it raises: nothing of it is shown.

    It may be a panic of a compiled library, or what a cell that is an object raises, which are no
    Exceptions. Ctrl-C is raised anew, because the traceback of the old one holds values of rows.
    """
    try:
        return work()
    except KeyboardInterrupt:
        interrupted = True
    except BaseException:
        interrupted = False
    if interrupted:
        raise KeyboardInterrupt
    return None


def silently(work: Callable[[], T]) -> T | None:
    """`suppress_private_errors`, and no warnings either: they may quote a cell."""

    def quiet() -> T:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()

    return suppress_private_errors(quiet)


def warn_at_call(message: str, kind: type[UserWarning] = PlanWarning) -> None:
    """A warning that points at the line of the user's call, however deep it arises."""
    level, outermost, frame = 1, 1, sys._getframe(1)
    while frame is not None:
        level += 1
        file = frame.f_code.co_filename
        between = file == contextlib.__file__ or file.endswith("_ufunc_config.py")
        if file.startswith(_PACKAGE) or (level == outermost + 1 and between):
            outermost = level  # a decorator that is a context is called by contextlib or numpy
        frame = frame.f_back  # type: ignore[assignment]
    warnings.warn(message, kind, stacklevel=outermost + 1)


def warn_of_plan(messages: Iterable[str]) -> None:
    """What a plan warns of, before a private row is read."""
    for message in messages:
        warn_at_call(message)
