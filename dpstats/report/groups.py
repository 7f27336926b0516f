"""Tables of groups of rows (classes, components): shares, means and their standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arrays import Floats
from dpstats.report.format import format_numbers
from dpstats.report.model import or_na
from dpstats.report.table import Column, Table


@dataclass(frozen=True)
class Groups:
    """Groups in rows, with the words for a group (``kind``) and for its share.

    Shares have shape (k,), means (k, d), and so have their standard errors.
    """

    kind: str
    share: str
    names: Sequence[Any]
    terms: Sequence[str]
    shares: Floats
    shares_se: Floats
    means: Floats
    means_se: Floats

    def table(self, *, main: bool = False) -> Table:
        """Shares and means, as R prints a discriminant analysis."""
        columns = [self._first(), Column.of(self.share, [float(v) for v in self.shares], 4)]
        for j, term in enumerate(self.terms):
            values = [float(v) for v in self.means[:, j]]
            columns.append(Column(term, format_numbers(values, digits=4), values))
        return Table.from_columns(columns, main=main)

    def errors(self) -> Table:
        """Standard errors of both."""
        numbers = zip([self.share, *self.terms], [self.shares_se, *self.means_se.T], strict=True)
        return Table.from_columns(
            [self._first(), *(Column(k, [or_na(float(v)) for v in se]) for k, se in numbers)]
        )

    def tidy(self) -> pd.DataFrame:
        """One row per group and number, the share first."""
        k, d = np.shape(self.means)
        values = np.column_stack([self.shares, self.means])
        errors = np.column_stack([self.shares_se, self.means_se])
        return pd.DataFrame(
            {
                self.kind: [name for name in self.names for _ in range(d + 1)],
                "term": [f"({self.share})", *self.terms] * k,
                "estimate": values.ravel(),
                "std_error": errors.ravel(),
            }
        )

    def _first(self) -> Column:
        return Column("", [str(n) for n in self.names], align="l", csv_name=self.kind)
