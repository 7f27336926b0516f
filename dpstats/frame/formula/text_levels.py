"""Text that is no category: numbers and dates written as text, and names that nearly every row has."""

from __future__ import annotations

import re

from dpstats.arguments import listed
from dpstats.errors import PublicDataError
from dpstats.frame.table import ADVICE, Levels

_MANY, _MOST = 12, 0.8
"""Levels from which text is looked at, and the share of them that are numbers or dates."""
_NAMES, _ROWS = 50, 2.0
"""Levels from which they may be names of rows, and public rows that each has at least on average."""
_NO_CATEGORIES = {
    "dates": (
        re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d.*)?"),
        "pd.to_datetime(column) reads them, and of that a number is a column, such as the days since a "
        "date",
    ),
    "numbers": (
        re.compile(r"[$€£]?\s*[-+]?[\d,. ]*\d[\d,.]*(?:e[-+]?\d+)?\s*%?", re.I),
        ADVICE["category"],
    ),
}


def require_categories(name: str, levels: Levels, rows: int, *, asked: bool) -> None:
    """Raise where the levels of public rows are numbers or dates, or as many as the rows.

    ``asked``: the formula says that it is a category, as factor(x).
    """
    texts = [level.strip() for level in levels if isinstance(level, str)]
    if not asked and len(texts) >= _MANY:
        for what, (pattern, advice) in _NO_CATEGORIES.items():
            if sum(bool(pattern.fullmatch(text)) for text in texts) >= _MOST * len(texts):
                raise PublicDataError(
                    f"`{name}` is text, and its {len(levels)} levels are {what} "
                    f"({listed(texts[:3])}, ...): {advice}; or write factor({name}), if each is a "
                    "category."
                )
    if len(levels) >= _NAMES and rows < _ROWS * len(levels):
        raise PublicDataError(
            f"`{name}` has {len(levels)} levels in {rows} public rows, as a name of rows has: most "
            "private rows have other levels, and would not be used. Leave it out, use broader levels, "
            f"or declare those that count, limits={{'{name}': ['a', 'b']}}."
        )
