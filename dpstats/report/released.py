"""Methods of every result: bounds, diagnostics, the privacy plot, and why there are no rows.

A result is frozen and holds no row of the private data, so that it can be printed, pickled and passed
on. What would need a row does not exist; the error names what to use instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import pandas as pd

from dpstats.arguments import check_switch, spelled
from dpstats.errors import NotReleasedError
from dpstats.report.bound import Bound
from dpstats.report.privacy import PrivacyStatement, frame_of
from dpstats.report.table import Page, Printed, no_attribute

_NEEDS_ROWS = {
    "resid": "residuals",
    "residuals": "residuals",
    "resid_pearson": "residuals",
    "rstandard": "residuals",
    "fitted": "fitted values",
    "fittedvalues": "fitted values",
    "fitted_values": "fitted values",
    "hatvalues": "leverages",
    "model": "rows of the model frame",
    "data": "rows",
    "augment": "per-row values",
    **dict.fromkeys(("get_influence", "influence", "dfbetas", "leverage"), "per-row values"),
    **dict.fromkeys(("plot_diagnostics", "qqplot", "qqnorm"), "residuals"),
    **dict.fromkeys(("model_matrix", "exog", "endog"), "rows of the model matrix"),
    "cooks_distance": "per-row values",
    "fixef": "effects of persons",
    "ranef": "effects of persons",
}
_OF_SHOWN_ROWS = (
    "auc",
    "roc",
    "confusion",
    "confusion_matrix",
    "accuracy",
    "classification_report",
)
_NOT_RELEASED = (
    "aic",
    "bic",
    "AIC",
    "BIC",
    "deviance",
    "null_deviance",
    "llf",
    "loglik",
    "logLik",
    "pseudo_r2",
    "prsquared",
)
_SAVED = "pickle: pickle.dump(fit, file), and pickle.load(file) later"
_OTHER_NAMES = {
    **dict.fromkeys(("coef", "coef_", "coefficients", "params"), "tidy().estimate"),
    **dict.fromkeys(("se", "bse", "vcov", "cov_params"), "tidy().std_error"),
    **dict.fromkeys(
        ("confint", "conf_int", "ci"), "tidy(), which has estimates with their standard errors"
    ),
    "summary2": "summary()",
    "to_markdown": "summary().to_markdown()",
    "to_latex": "summary().to_latex()",
    "to_html": "summary().to_html()",
    "to_csv": "summary().to_csv()",
    **dict.fromkeys(("save", "dump", "to_pickle"), _SAVED),
}


@dataclass(frozen=True)
class Diagnostic:
    """One line of diagnostics: a number, its noise if it is a private release, and a note."""

    name: str
    value: float | None
    noise_sd: float | None
    note: str


def bounds_frame(bounds: Sequence[Bound]) -> pd.DataFrame:
    """Bounds as a table, one row each."""
    frame = frame_of(bounds, "statement", "norm", "value", "probability", "kind", "source")
    return frame.assign(premises=["; ".join(map(str, b.premises)) for b in bounds])


class Released(Printed):
    """Base of all results; subclasses provide the attributes below.

    ``_other_names``: what people type, and what the same is called in this kind of result.
    """

    _other_names: ClassVar[dict[str, str]] = _OTHER_NAMES
    _instead_of_rows = "Use predict(newdata) on rows that you may show; "
    _instead_of_likelihood = ""
    call: str
    method: str
    privacy: PrivacyStatement
    n: Any  # an int; None where the data have no length
    m: int | None
    details: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    error: tuple[Bound, ...]

    @property
    def nobs(self) -> Any:
        """Number of private rows, a public number."""
        return self.n

    def _glance_items(self) -> dict[str, list[Any]]:
        """Columns of `glance` that every result has."""
        return {
            "nobs": [self.nobs],
            "n_public": [self.m],
            "mu": [self.privacy.mu],
            "rho": [self.privacy.rho],
            "epsilon": [self.privacy.epsilon(self.privacy.shown_delta)],
            "delta": [self.privacy.shown_delta],
            "slack": [self.privacy.slack],
            "unit": [self.privacy.unit],
            "method": [self.method],
            "seeded": [self.privacy.seeded],
        }

    def glance(self) -> pd.DataFrame:
        """One row that describes the fit."""
        raise NotImplementedError

    @spelled
    def summary(self, full: bool = False) -> Page:
        """The page of the fit; prints as text, shows as HTML, exports to Markdown, LaTeX, CSV.

        Estimates with their errors, notes, the privacy spent, error bounds and diagnostics.

        Parameters
        ----------
        full : bool
            Whether every release has its line, with its sensitivity, and every bound and level of a
            factor as well; otherwise a line for each kind of release.
        """
        check_switch("full", full)
        page = self._summary()
        return page.full() if full else page

    def _summary(self) -> Page:
        """What `summary` shows, in short and in full."""
        raise NotImplementedError

    def _printed(self) -> Page:
        """What R's print would show."""
        raise NotImplementedError

    def _bounds(self) -> tuple[Bound, ...]:
        return self.error

    def bounds(self) -> pd.DataFrame:
        """Error bounds: exact ones, simulated ones, and the theorems' rates with their premises.

        Returns
        -------
        DataFrame
            A row per bound. ``statement``: which distance it is about, and ``norm``: how that is
            measured. ``value``, which holds with ``probability``. ``kind``: "bound" holds as it stands;
            "simulated" is a quantile of the noise alone; "estimated" adds what cuts may have moved;
            "rate" is a theorem's with constants 1, and no bound. ``source``; and ``premises``, each met,
            NOT met or not known. No rows for fits by ``update``, whose noise is that of another
            fit.
        """
        return bounds_frame(self._bounds())

    def diagnostics(self) -> pd.DataFrame:
        """Released numbers about the fit with their noise, and public ones.

        Returns
        -------
        DataFrame
            A row per number, under its name: ``value``; ``noise_sd``, the standard deviation of the
            noise in it (NaN where it has none, or where it follows from other released numbers); and a
            ``note`` on what it is. Shares of rows are noisy: one below two ``noise_sd`` may be
            zero.
        """
        frame = frame_of(self.details, "value", "noise_sd", "note")
        return frame.set_axis([d.name for d in self.details])

    def plot_privacy(self, ax: Any = None, at: Any = None) -> Any:
        """The trade-off curve of the result; see `PrivacyStatement.plot`.

        Needs matplotlib (``pip install "dpstats[plot]"``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
        at : float or sequence of float, optional
            Deltas for which the legend gives the epsilon.

        Returns
        -------
        matplotlib Axes
        """
        return self.privacy.plot(ax, at)

    def __getattr__(self, name: str) -> NoReturn:
        if name in _NEEDS_ROWS:
            raise NotReleasedError(
                f"{_NEEDS_ROWS[name]} of private rows are not released: they would be the rows "
                f"themselves. {self._instead_of_rows}diagnostics() has what was released about the fit."
            )
        if name in _OF_SHOWN_ROWS and name not in self._other_names:
            raise NotReleasedError(
                f"{name} is not released: it needs predictions of rows, and is yours to compute of rows "
                "that you may show: predict(public) beside their responses."
            )
        if name in _NOT_RELEASED:
            raise NotReleasedError(
                f"{name} is not released: it needs a pass over the private rows, and a budget, of its "
                f"own.{self._instead_of_likelihood}"
            )
        raise no_attribute(self, name, self._other_names)
