"""The releases of a search for scales: counts of the values below points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from dpstats.accounting.privacy import Privacy
from dpstats.arrays import Floats
from dpstats.column_search.rows import ColumnRows, Points
from dpstats.errors import PassError, suppress_private_errors
from dpstats.mechanism.claims import ANSWERS, COUNTS, Claim
from dpstats.mechanism.conditional import frequent_threshold, release_frequent
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.session import Session


@dataclass(frozen=True)
class Question:
    """How many values of a column are at most ``point``, or so near to ``about``.

    Attributes
    ----------
    column : int
    point : float
    about : float or None
    ahead : (m,) array
        Rising points, ``point`` among them, about which may be asked next: the same reading of the rows
        counts them, and they are released only when they are asked for.
    price : float
        In shares of a plain question.
    """

    column: int
    point: float
    about: float | None
    ahead: Floats
    price: float = 1.0


class ColumnSession(Session[ColumnRows]):
    """Spends a part of a total on counts of columns.

    Parameters
    ----------
    source : RowSource
    columns : sequence of int
        Of the design.
    response : bool
        Whether the response is looked at too, as the last column.
    """

    def __init__(
        self,
        source: RowSource,
        columns: Sequence[int],
        response: bool,
        total: Privacy,
        noise: Noise,
        after: Session[Any] | None = None,
    ) -> None:
        super().__init__(ColumnRows(source, columns, response), total, noise, after)
        self._known: dict[tuple[int, float | None, float], int] = {}

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._known.clear()

    def counts(self, asked: Sequence[Question], share: float) -> tuple[Floats, Floats]:
        """Answers, and the noise of each; a question of price 1 costs ``share``.

        Questions of one price are one vector. One row replaced moves each of its q counts by one at
        most: sensitivity sqrt(q).
        """
        prices = sorted({one.price for one in asked})
        of = {price: [k for k, one in enumerate(asked) if one.price == price] for price in prices}
        costs = {price: self._spend(share * price * len(at)) for price, at in of.items()}
        self._read(asked)
        values, noise_sd = np.zeros(len(asked)), np.zeros(len(asked))
        for price, at in of.items():
            exact = [self._known[_key(asked[k])] for k in at]
            release = self._counts(
                "counts of values below points",
                np.array([int(count) for count in exact], dtype=object),
                costs[price],
                memberships=len(at),
            )
            values[at], noise_sd[at] = release.value, release.noise_sd
        return values, noise_sd

    def _read(self, asked: Sequence[Question]) -> None:
        """Count what is not known yet, by one reading of the rows for all columns."""
        new = [one for one in asked if _key(one) not in self._known]
        if not new:
            return
        points = [Points(one.column, one.about, one.ahead) for one in new]
        for one, counts in zip(points, self._rows.counts(points), strict=True):
            for point, count in zip(one.at, counts, strict=True):
                self._known[one.column, one.about, float(point)] = count


class LevelSession(Session[Any]):
    """Spends a part of a total on the levels of text columns, and its slack on their thresholds.

    Parameters
    ----------
    cells : Cells
        Of the private rows.
    """

    def __init__(self, cells: Cells, total: Privacy, noise: Noise) -> None:
        super().__init__(cells, total, noise)

    def levels(self, names: Sequence[str], share: float) -> dict[str, tuple[list[str], float]]:
        """For each column the levels that more rows have than a threshold, and that.

        One row replaced moves two counts of each column by one: sqrt(2). The slack of the total is that
        any threshold is exceeded by a level of one row (`conditional.release_frequent`).
        """
        self._use_slack()
        out = {}
        for name in names:
            chance = self.total.slack / len(names)
            cost = Privacy(self._spend(share / len(names)).mu)
            counts = suppress_private_errors(partial(self._rows.counts, name))
            if counts is None:
                raise PassError("the private levels could not be read; the cause is withheld.")
            found, kept = release_frequent("levels", counts, chance, cost, self._noise)
            self._record(found)
            out[name] = list(kept), frequent_threshold(found.noise_sd, chance)
        return out


class Cells(Protocol):
    """Text columns of private rows, as `dpstats.frame` opens them."""

    @property
    def n(self) -> int: ...

    def counts(self, name: str) -> dict[str, int]:
        """How many rows have each text."""

    def close(self) -> None: ...


def _key(one: Question) -> tuple[int, float | None, float]:
    return one.column, one.about, one.point


CLAIMS = (
    Claim("counts of values below points", ANSWERS, "sqrt(q)", "ColumnSession.counts"),
    Claim("levels", COUNTS, "sqrt(2)", "LevelSession.levels"),
)
