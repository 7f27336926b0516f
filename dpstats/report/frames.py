"""Tables of pandas that are shown whole, folded to the width of a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from dpstats.arrays import Floats
from dpstats.report.folding import Align
from dpstats.report.table import Table

_NUMBER = "{:.5g}".format


class WholeFrame(pd.DataFrame):
    """A DataFrame that is shown whole: the end of a premise says whether it is met."""

    @property
    def _constructor(self) -> Callable[..., WholeFrame]:
        return WholeFrame

    def __repr__(self) -> str:
        if not len(self):
            return f"No rows; columns: {', '.join(map(str, self.columns))}."
        if len(self) > pd.get_option("display.max_rows"):
            return str(super().__repr__())
        cells = [_cells(self.iloc[:, [j]]) for j in range(self.shape[1])]
        if any(len(column) != len(self) for column in cells):  # a text of several lines
            return self.to_string()
        texts: list[Align] = ["r" if is_numeric_dtype(kind) else "l" for kind in self.dtypes]
        rows = zip(map(str, self.index), *cells, strict=True)
        return Table(("", *map(str, self.columns)), tuple(rows), ("l", *texts)).to_text()

    def to_latex(self, buf: Any = None, **options: Any) -> Any:
        """As that of pandas, but ``%`` and ``_`` are escaped, and numbers have five digits."""
        plain: Any = pd.DataFrame(self)
        return plain.to_latex(buf, **{"escape": True, "float_format": _NUMBER} | options)

    def _repr_html_(self) -> Any:
        options = ("display.max_colwidth", None, "display.float_format", _NUMBER)
        with pd.option_context(*options):
            return super()._repr_html_()  # type: ignore[misc]


def _cells(column: pd.DataFrame) -> list[str]:
    """The cells of a column, numbers to five digits."""
    with pd.option_context("display.max_colwidth", None):
        text = column.to_string(header=False, index=False, float_format=_NUMBER)
        return [line.strip() for line in text.split("\n")]


def predicted(
    fit: Floats,
    limits: tuple[Floats, Floats] | None,
    error: Floats | None,
    index: Any,
    name: str = "fit",
) -> pd.Series | pd.DataFrame:
    """Predictions as R's ``predict`` has them: a Series, or columns where more is asked for.

    ``name``: of the Series, or above the columns where it says more than that they are a fit.
    """
    columns = {"fit": fit}
    if limits is not None:
        columns |= {"lwr": limits[0], "upr": limits[1]}
    if error is not None:
        columns["se_fit"] = error
    if len(columns) == 1:
        return pd.Series(fit, index=index, name=name)
    frame = pd.DataFrame(columns, index=index)
    return frame if name == "fit" else frame.rename_axis(columns=name)
