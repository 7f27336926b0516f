"""A private Gaussian mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dpstats.arguments import one_of, shown, spelled
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, NotReleasedError
from dpstats.frame import Design, predicted_rows
from dpstats.models.gaussian.ellipses import Ellipse, plot_ellipses
from dpstats.models.gaussian.estimate import log_densities
from dpstats.models.gaussian.page import matrix_parts, rows_fact, summary_page
from dpstats.models.gaussian.synthetic import check_size, draw_mixture
from dpstats.report.format import format_scalar
from dpstats.report.frames import WholeFrame
from dpstats.report.groups import Groups
from dpstats.report.model import or_na, printed, unwarned
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic, Released
from dpstats.report.table import Column, Page, Part, Table
from dpstats.report.texts import Heading

_REGIMES = {
    "likelihood": "private EM from public rows",
    "public": "components found on public rows alone (Theorems 1.5, 1.6)",
    "private": "public superclusters, private principal axes and valleys (Theorems 1.3, 1.4)",
}


@dataclass(frozen=True)
class MixtureNumbers:
    """Weights (k,), means (k, d) and covariances (k, d, d) in the user's units, with their errors."""

    weights: Floats
    weights_se: Floats
    means: Floats
    means_se: Floats
    covariances: Floats
    relative_errors: tuple[float, ...]
    rows: tuple[float, ...]
    public_rows: tuple[int, ...]


@dataclass(frozen=True, repr=False, eq=False)
class MixtureModel(Released):
    """Weights, means and covariances of a mixture; assigns rows that you may show to its components.

    Attributes
    ----------
    weights : Series
        Index: components, 1 to k, the heaviest first.
    means : DataFrame
        Components in rows.
    covariances : tuple of DataFrame
        In the order of the components.
    complete : bool
        Whether as many components were found as were asked for.
    regime : str
        "likelihood", "public" or "private".
    privacy : PrivacyStatement
    nobs : int
    call, method : str
        The call as it was typed, and the method that it used.
    n, m : int or None
        Private rows (or persons) and public rows; both numbers are public.
    notes : tuple of str
        What a reader must know before the numbers.

    See Also
    --------
    dp_mixture : What makes one.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from dpstats import dp_mixture
    >>> rng = np.random.default_rng(0)
    >>> def rows(n):
    ...     x = rng.normal(size=(n, 2)) + 12 * rng.integers(0, 2, (n, 1))
    ...     return pd.DataFrame(x, columns=["x1", "x2"])
    >>> fit = dp_mixture("~ x1 + x2", rows(5000), public=rows(60), k=2, rho=0.5, seed=1)
    >>> fit.weights.round(1).tolist(), fit.complete
    ([0.5, 0.5], True)
    >>> fit.predict(pd.DataFrame({"x1": [0.0], "x2": [0.0]})).shape
    (1,)
    """

    _other_names: ClassVar[dict[str, str]] = Released._other_names | {
        "means_": "means",
        "weights_": "weights",
        **dict.fromkeys(("covariances_", "covariance_", "covariance"), "covariances"),
        "labels_": "predict(newdata)",
        "predict_proba": "predict(newdata, type='prob')",
    }
    call: str
    method: str
    regime: str
    found: str
    asked: int | None
    formula: str
    design: Design
    terms: tuple[str, ...]
    numbers: MixtureNumbers
    privacy: PrivacyStatement
    n: int
    m: int
    dropped: int
    error: tuple[Any, ...]
    details: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    public_points: Floats
    warned: tuple[str, ...] = ()

    @property
    def k(self) -> int:
        """Components found."""
        return len(self.numbers.weights)

    @property
    def complete(self) -> bool:
        """Whether as many components were found as were asked for."""
        return self.asked is None or self.k == self.asked

    @property
    def _names(self) -> list[int]:
        return list(range(1, self.k + 1))

    @property
    def weights(self) -> pd.Series:
        """Mixing weights, the heaviest first."""
        index = pd.Index(self._names, name="component")
        return pd.Series(self.numbers.weights, index=index, name="weight")

    @property
    def means(self) -> pd.DataFrame:
        """Means, components in rows."""
        index = pd.Index(self._names, name="component")
        return pd.DataFrame(self.numbers.means, index=index, columns=list(self.terms))

    @property
    def covariances(self) -> tuple[pd.DataFrame, ...]:
        """Covariance matrices, in the order of the components."""
        terms = list(self.terms)
        return tuple(
            pd.DataFrame(matrix, index=terms, columns=terms) for matrix in self.numbers.covariances
        )

    @property
    def _groups(self) -> Groups:
        numbers = self.numbers
        return Groups(
            "component",
            "weight",
            self._names,
            self.terms,
            numbers.weights,
            numbers.weights_se,
            numbers.means,
            numbers.means_se,
        )

    @property
    def _conditions(self) -> list[float]:
        values = [np.linalg.eigvalsh(matrix) for matrix in self.numbers.covariances]
        return [float(v[-1] / max(v[0], 1e-17 * v[-1])) for v in values]

    def _shapes(self) -> Table:
        """Rows, errors and condition numbers of the components' covariances."""
        numbers = self.numbers
        return Table.from_columns(
            [
                Column("", [str(k) for k in self._names], align="l", csv_name="component"),
                Column("rows, about", [format_scalar(round(v), 7) for v in numbers.rows]),
                Column("public rows", [str(v) for v in numbers.public_rows]),
                Column("relative error", [or_na(v) for v in numbers.relative_errors]),
                Column("condition number", [format_scalar(v, 4) for v in self._conditions]),
            ]
        )

    def _printed(self) -> Page:
        parts = (Heading("Weights and means by component"), self._groups.table())
        return printed(self.call, parts, self.privacy, unwarned(self.notes, self.warned))

    def _summary(self) -> Page:
        """Weights, means and covariances with their errors, privacy, bounds and diagnostics."""
        decided = "the likelihood" if self.regime == "likelihood" else "the partition"
        asked = f"{decided} decided" if self.asked is None else f"{self.asked} asked for"
        facts = (
            ("Regime", _REGIMES[self.regime]),
            ("Components", f"{self.k} ({asked}); {self.found}"),
            rows_fact(self, self.dropped, len(self.terms)),
        )
        parts: list[Part] = [
            Heading("Weights and means by component"),
            self._groups.table(main=True),
            Heading("Standard errors (sampling and privacy)"),
            self._groups.errors(),
            Heading("Covariances: expected relative error (Frobenius norm) and condition number"),
            self._shapes(),
        ]
        matrices = self.numbers.covariances
        if len(matrices) > 1 and all(np.array_equal(m, matrices[0]) for m in matrices):
            parts += matrix_parts("Covariance of every component", self.terms, matrices[0])
        elif len(self.terms) <= 4:
            for name, matrix in zip(self._names, matrices, strict=True):
                parts += matrix_parts(f"Covariance of component {name}", self.terms, matrix)
        return summary_page(self, facts, parts)

    def tidy(self) -> pd.DataFrame:
        """One row per component and number: component, term, estimate, std_error."""
        return self._groups.tidy()

    def glance(self) -> pd.DataFrame:
        """One row that describes the fit as a whole."""
        first: dict[str, list[Any]] = {
            "components": [self.k],
            "columns": [len(self.terms)],
            "complete": [self.complete],
            "regime": [self.regime],
        }
        return WholeFrame(first | self._glance_items())

    @np.errstate(all="ignore")  # what overflows is not finite, and shown as such
    @spelled
    def predict(self, newdata: Any = None, type: str = "class") -> pd.Series | pd.DataFrame:
        """Components, or their posterior probabilities, of rows that you may show; free of cost.

        Parameters
        ----------
        newdata : table or dict
            Rows with the formula's columns. A row that cannot be encoded gets <NA>, or NaN.
        type : {"class", "prob"}
            "class": a Series of components; "prob": a DataFrame, one column per component.
        """
        if not one_of(type, ("class", "prob")):
            raise ArgumentError(f"type must be 'class' or 'prob', not {shown(type)}.")
        if newdata is None:
            raise NotReleasedError(
                "predict() needs newdata: components of the private rows are not released."
            )
        x, _, index = predicted_rows(self.design, newdata)
        numbers = self.numbers
        logs = log_densities(x[:, 1:], numbers.weights, numbers.means, numbers.covariances)
        dead = np.asarray(~np.isfinite(x).all(axis=1) | ~np.isfinite(logs).any(axis=1))
        if type == "prob":
            logs = logs - np.where(dead, 0.0, logs.max(axis=1))[:, None]
            odds = np.exp(logs)
            odds[dead] = np.nan
            columns = pd.Index(self._names, name="component")
            return pd.DataFrame(
                odds / odds.sum(axis=1, keepdims=True), index=index, columns=columns
            )
        label = pd.Series(logs.argmax(axis=1) + 1, index=index, name="component", dtype="Int64")
        return label.mask(dead)

    def sample(self, n: int, seed: int | None = None) -> pd.DataFrame:
        """Synthetic rows of the released mixture with their component; free of privacy cost.

        Parameters
        ----------
        n : int
            Rows to draw.
        seed : int, optional
            For rows that can be drawn again; any seed may be shown.
        """
        numbers = self.numbers
        rows, component = draw_mixture(
            check_size(n), numbers.weights, numbers.means, numbers.covariances, seed
        )
        return pd.DataFrame(rows, columns=list(self.terms)).assign(component=component + 1)

    def plot(
        self, x: str | None = None, y: str | None = None, level: float = 0.95, ax: Any = None
    ) -> Any:
        """An ellipse for each component in two columns, with its weight, and public points.

        Of one column the densities, times the weights.

        Parameters
        ----------
        x, y : str, optional
            Columns; by default the first two.
        level : float
            Share of a component that its ellipse holds.
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        numbers = self.numbers
        ellipses = [
            Ellipse(f"component {name} ({weight:.2f})", mean, matrix, weight)
            for name, weight, mean, matrix in zip(
                self._names, numbers.weights, numbers.means, numbers.covariances, strict=True
            )
        ]
        return plot_ellipses(self.terms, ellipses, self.public_points, x, y, level, ax)
