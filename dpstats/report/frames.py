"""Tables of pandas whose texts are shown whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd


class WholeFrame(pd.DataFrame):
    """A DataFrame that cuts no text when it is shown: the end of a premise says whether it is met."""

    @property
    def _constructor(self) -> Callable[..., WholeFrame]:
        return WholeFrame

    def __repr__(self) -> str:
        with pd.option_context("display.max_colwidth", None):
            return str(super().__repr__())

    def _repr_html_(self) -> Any:
        with pd.option_context("display.max_colwidth", None):
            return super()._repr_html_()  # type: ignore[misc]
