"""The unit of privacy: one row, or a person with several rows.

Every mechanism of the package is proved for one row replaced by another. A person with k rows is then
protected by k times less noise-to-cost: the mechanisms run at a k-th of the total (`per_row` of
`privacy`), and what is stated is what that gives to k rows (`for_group`).

*Where a column names the person*, the first k rows of each count and all others are empty. Let D' be D
with the rows of one person, wherever they stand, replaced by those of another who is not in D. Which
rows of the others count depends on their own rows alone, and does not change. Of either person at most
k rows count; pair them, and pair what is left with empty rows: as collections of rows that count, D
and D' differ in k replacements at most. The releases are functions of that collection: sums of
integers, which no order changes. So what holds for k rows holds for D and D', though the rows that
count may stand in 2k different places. (Each pass finds the first rows anew, in its own order: whatever
that is, the pass is one of such a function.) The other person must have no rows yet: a row that changes
hands between two persons who both have some counts for two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from dpstats.accounting.privacy import Total
from dpstats.arguments import as_int, shown
from dpstats.errors import ArgumentError

_MOST = 10**4


@dataclass(frozen=True)
class PrivacyUnit:
    """One row, or a person with up to ``rows`` rows; ``person`` is the column that enforces it.

    Attributes
    ----------
    rows : int or None
        None: any number, which is private.
    person : str or None
        None: that nobody has more rows is taken on trust.
    together : int
        How many of them at once; see `for_group`.
    jointly : bool
        Whether the mechanisms protect the person as they protect a row.

    Examples
    --------
    >>> PrivacyUnit().text
    'one row replaced by another (n is public)'
    """

    rows: int | None = 1
    person: str | None = None
    together: int = 1
    jointly: bool = False

    @classmethod
    def of(
        cls, rows_per_person: int | None, person: str | None, jointly: bool = False
    ) -> PrivacyUnit:
        """The unit of a call; ``jointly``: of one that sums up the rows of a person it knows."""
        jointly = jointly and person is not None
        if rows_per_person is None:
            return cls(None if jointly else 1, _column(person), jointly=jointly)
        rows = check_count("rows_per_person", rows_per_person)
        return cls(rows, _column(person), jointly=jointly)

    @property
    def most(self) -> float:
        """The largest number of rows."""
        return math.inf if self.rows is None else self.rows

    @property
    def counted(self) -> str:
        """What n counts."""
        return "persons" if self.jointly else "rows"

    @property
    def times(self) -> int:
        """How many rows the mechanisms protect at once, to protect one unit."""
        return 1 if self.jointly or self.rows is None else self.rows

    @property
    def text(self) -> str:
        """In words, as results show it."""
        if self.rows == 1 and self.person is None:
            if self.together > 1:
                return f"{self.together} rows replaced by others (n is public)"
            return "one row replaced by another (n is public)"
        who = "one person" if self.together == 1 else f"{self.together} persons"
        if self.rows is None:
            other = "another" if self.together == 1 else "others"
            number = f"the number of persons, by `{self.person}`, is public; that of rows is not"
            return f"{who} replaced by {other}, with any rows ({number})"
        counted = "row" if self.rows == 1 else f"{self.rows} rows"
        if self.person is not None:
            how = f"n is public; using only the first {counted} of each `{self.person}`"
            other = (
                "another who has no rows yet" if self.together == 1 else "others who have none yet"
            )
        else:
            how = f"n is public; taken on trust: nobody has more than {counted}"
            other = "another" if self.together == 1 else "others"
        return f"{who} replaced by {other} ({how})"

    @property
    def at_least(self) -> str:
        """In words, for a budget, whose calls protect this or more: some use all rows of a person."""
        return self.text.replace("using only the first", "calls use at least the first")

    def whole(self, per_row: Total) -> Total:
        """The statement for the unit when the mechanisms have spent this on a row."""
        return per_row.for_group(self.times)

    def group(self, k: int) -> PrivacyUnit:
        """So many of them at once."""
        return replace(self, together=self.together * check_count("k", k))


def check_count(name: str, value: Any) -> int:
    """A whole number from 1 to ten thousand."""
    count = as_int(value, 1)
    if count is None or count > _MOST:
        raise ArgumentError(f"{name} must be a whole number from 1 to {_MOST}, not {shown(value)}.")
    return count


def _column(person: Any) -> str | None:
    if person is None or isinstance(person, str):
        return person
    raise ArgumentError(f"person must be the name of a column, not {shown(person)}.")
