"""Which tables of this process were private rows of a call, so that what shows rows can say so."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any

from dpstats.errors import PrivateRowsWarning, warn_at_call

_known: dict[int, weakref.ref[Any]] = {}


def remember_private(table: Any) -> None:
    """Note that this object is a private table; nothing of it is kept, nor is it kept alive."""
    at = id(table)
    with suppress(TypeError):  # texts and lists have no weak references
        _known[at] = weakref.ref(table, lambda gone: _forget(at, gone))


def _forget(at: int, gone: weakref.ref[Any]) -> None:
    if _known.get(at) is gone:
        del _known[at]


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
    known = _known.get(id(newdata))
    if known is not None and known() is newdata:
        warn_at_call(
            "these rows are a private table: what is shown of them, and averages over them, are not "
            "protected and not for release. Give public or made-up rows; averages over private rows "
            "have a budget of their own: predictions(data=private, mu=0.5).",
            PrivateRowsWarning,
        )
