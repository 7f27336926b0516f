"""Which tables of this process were private rows of a call, so that what shows rows can say so."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any

from dpstats.errors import PrivateRowsWarning, warn_at_call

_Known = dict[int, weakref.ref[Any]]
_private: _Known = {}
_public: _Known = {}


def remember_private(table: Any) -> None:
    """Note that this object is a private table; nothing of it is kept, nor is it kept alive."""
    _remember(_private, table)


def remember_public(table: Any) -> None:
    """Note that this object was given as public rows: a dry run may give it as private ones too."""
    _remember(_public, table)


def _remember(known: _Known, table: Any) -> None:
    at = id(table)

    def forget(gone: weakref.ref[Any]) -> None:
        if known.get(at) is gone:
            del known[at]

    with suppress(TypeError):  # texts and lists have no weak references
        known[at] = weakref.ref(table, forget)


def _holds(known: _Known, table: Any) -> bool:
    found = known.get(id(table))
    return found is not None and found() is table


def warn_of_private_rows(newdata: Any) -> None:
    """Warn where rows that a method shows are a private table itself; of copies nothing is known.

    Examples
    --------
    >>> import pandas as pd, warnings
    >>> table = pd.DataFrame({"x": [1.0]})
    >>> remember_private(table)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn_of_private_rows(table.copy())
    ...     warn_of_private_rows(table)
    >>> len(said)
    1
    """
    if newdata is not None and _holds(_private, newdata) and not _holds(_public, newdata):
        warn_at_call(
            "these rows are a private table: what is shown of them, and averages over them, are not "
            "protected and not for release. Give public or made-up rows; averages over private rows "
            "have a budget of their own: predictions(data=private, mu=0.5).",
            PrivateRowsWarning,
        )
