"""Methods that write a page or a table in another form."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from dpstats.errors import ArgumentError

_Self = TypeVar("_Self")
_Named = ParamSpec("_Named")


def returning_text(
    method: Callable[Concatenate[_Self, _Named], str],
) -> Callable[Concatenate[_Self, _Named], str]:
    """A method whose arguments have names: the one that users expect by position is a file."""

    @wraps(method)
    def named(self: _Self, /, *given: _Named.args, **arguments: _Named.kwargs) -> str:
        if given:
            name = method.__name__
            raise ArgumentError(
                f"{name}() returns a text and writes no file: "
                f"pathlib.Path(...).write_text(table.{name}()). It takes its arguments by name."
            )
        return method(self, *given, **arguments)

    return named
