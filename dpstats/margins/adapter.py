"""A fit as the Python package marginaleffects takes models: with rows that may be shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.frame import Design, design_matrix, new_rows
from dpstats.margins.rows import Mean
from dpstats.report.result import Coefficients


def marginaleffects_model(
    design: Design, coefficients: Coefficients, mean: Mean, newdata: Any
) -> Any:
    """An object of marginaleffects' class of models; its rows are those of ``newdata``."""
    try:
        import polars as pl
        from marginaleffects.classes import ModelAbstract, ModelVault
    except ImportError:
        raise ArgumentError(
            "this needs the package marginaleffects: pip install marginaleffects. predictions(), "
            "slopes() and comparisons() are here without it."
        ) from None

    class ModelOfDpstats(ModelAbstract):  # type: ignore[misc, no-any-unimported, unused-ignore]
        """Predictions at any coefficients, from rows encoded as the fit encodes them."""

        def get_exog(self, newdata: Any) -> Floats:
            """The design of rows, and their offset."""
            frame = newdata.to_pandas() if hasattr(newdata, "to_pandas") else newdata
            x, offset = design_matrix(design, frame)
            return np.column_stack([x, offset])

        def get_predict(self, params: Any, newdata: Any) -> Any:
            """Means of the response."""
            x = newdata if isinstance(newdata, np.ndarray) else self.get_exog(newdata)
            found = np.asarray(mean(x[:, :-1] @ np.asarray(params) + x[:, -1]), dtype=float)
            return pl.DataFrame({"rowid": np.arange(len(found), dtype=np.int32), "estimate": found})

        def get_vcov(self, vcov: Any = True) -> Floats | None:
            """Sampling and noise together; none other was released."""
            if vcov is False:
                return None
            if vcov is not True:
                raise ArgumentError(
                    "errors are those of the fit: fit.update(vcov='iid') has others."
                )
            return coefficients.vcov

        def get_df(self) -> float:
            """Degrees of freedom."""
            return coefficients.freedom

    rows = new_rows(newdata)
    columns = list(dict.fromkeys(design.columns_for(("offset",))))
    response = design.response if design.response in rows else "response"
    modeldata = pl.from_pandas(rows if response in rows else rows.assign(response=0.0))
    for name in columns:
        levels = design.columns[name].levels
        if levels is not None and all(isinstance(level, str) for level in levels):
            modeldata = modeldata.with_columns(pl.col(name).cast(pl.String).cast(pl.Enum(levels)))
    vault = ModelVault(
        coef=coefficients.coef,
        coefnames=np.array(coefficients.terms),
        formula=f"{response} ~ {' + '.join(columns) or '1'}",
        modeldata=modeldata,
        package="dpstats",
        vcov=coefficients.vcov,
        variable_names=[response, *columns],
    )
    return ModelOfDpstats(None, vault)
