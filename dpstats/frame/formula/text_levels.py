"""Text that is no category: numbers and dates written as text, and names that nearly every row has."""

from __future__ import annotations

import re

from dpstats.arguments import listed
from dpstats.errors import PublicDataError
from dpstats.frame.table import Levels

_MANY, _MOST = 12, 0.8
"""Levels from which text is looked at, and the share of them that are numbers or dates."""
_NAMES, _ROWS = 50, 2.0
"""Levels from which they may be names of rows, and public rows that each has at least on average."""
_NUMBER = re.compile(r"[$€£]?\s*[-+]?[\d,. ]*\d[\d,.]*(?:e[-+]?\d+)?\s*%?", re.I)
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d.*)?")


def require_categories(name: str, levels: Levels, rows: int, *, asked: bool) -> None:
    """Raise where the levels of public rows are numbers or dates, or as many as the rows.

    ``asked``: the formula says that it is a category, as factor(x).
    """
    if not asked and len(levels) >= _MANY and all(isinstance(one, str) for one in levels):
        for what, pattern, make in (
            (
                "dates",
                _DATE,
                "pd.to_datetime(...), and of that a number, such as the days since a date",
            ),
            ("numbers", _NUMBER, "pd.to_numeric(..., errors='coerce'), without signs and commas"),
        ):
            if sum(bool(pattern.fullmatch(str(one).strip())) for one in levels) >= _MOST * len(
                levels
            ):
                raise PublicDataError(
                    f"`{name}` is text, and its {len(levels)} levels are {what} "
                    f"({listed(levels[:3])}, ...): make it a number in both tables, {make}; or write "
                    f"factor({name}), if each is a category."
                )
    if len(levels) >= _NAMES and rows < _ROWS * len(levels):
        raise PublicDataError(
            f"`{name}` has {len(levels)} levels in {rows} public rows, as a name of rows has: most "
            "private rows have other levels, and would not be used. Leave it out, use broader levels, "
            f"or declare those that count, limits={{'{name}': ['a', 'b']}}."
        )
