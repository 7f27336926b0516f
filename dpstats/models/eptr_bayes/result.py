"""A private Gaussian Bayes classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dpstats.arguments import one_of, shown, spelled
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, NotReleasedError, SchemaError
from dpstats.frame import Design, features_design, predicted_rows
from dpstats.models.eptr_bayes.estimate import log_posterior
from dpstats.propose_test.outcome import TestedResult
from dpstats.report.answers import Answers
from dpstats.report.bound import Bound
from dpstats.report.frames import WholeFrame
from dpstats.report.groups import Groups
from dpstats.report.model import printed
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.table import Page
from dpstats.report.texts import Heading

BAYES_METHODS = {
    "sums": "noisy sums, products and counts by class",
    "ptr": "class means behind a private test of the smallest class",
    "paper": "ePTR-Bayes (Algorithm 3 of the ePTR paper)",
}


@dataclass(frozen=True, repr=False, eq=False)
class BayesModel(TestedResult):
    """Priors, means and covariances of classes; classifies rows that you may show.

    Attributes
    ----------
    priors : Series
        Probability of each class.
    means : DataFrame
        Classes in rows, features in columns.
    covariances : dict
        Of each class, the covariance of its features.
    privacy : PrivacyStatement
    released : bool
        False when the test did not pass: the public answer is shown instead.
    nobs : int
    call, method : str
        The call as it was typed, and the method that it used.
    n, m : int or None
        Private rows (or persons) and public rows; both numbers are public.
    notes : tuple of str
        What a reader must know before the numbers.

    See Also
    --------
    eptr_bayes : What makes one.

    Examples
    --------
    >>> from dpstats import eptr_bayes
    >>> from dpstats.datasets import fair
    >>> public, private = (t.assign(affair=t.affairs > 0) for t in fair())
    >>> fit = eptr_bayes(
    ...     "affair ~ age + religious", private, public, epsilon=1, delta=1e-5, seed=1
    ... )
    >>> fit.predict(public.head(2), type="prob").columns.tolist()
    [False, True]
    """

    _other_names: ClassVar[dict[str, str]] = TestedResult._other_names | {
        **dict.fromkeys(
            ("score", "accuracy", "error_rate", "confusion_matrix", "classification_report"),
            "balanced_error(rows), or confusion(rows), whose diagonal counts what is right",
        ),
        **dict.fromkeys(("estimate", "theta_"), "means, and priors"),
        **dict.fromkeys(("class_prior_", "prior_", "weights_"), "priors"),
        "means_": "means",
        **dict.fromkeys(("covariances_", "covariance_"), "covariances"),
        "labels_": "predict(newdata)",
        "predict_proba": "predict(newdata, type='prob')",
    }
    call: str
    method: str
    covariance: str
    formula: str
    design: Design
    levels: tuple[Any, ...]
    terms: tuple[str, ...]
    back: Floats
    scaled_means: Floats
    prior: Floats
    prior_sd: Floats
    mean_sd: Floats
    spread: Floats | None
    privacy: PrivacyStatement
    n: int
    m: int | None
    error: tuple[Bound, ...]
    details: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    answers: Answers | None
    released: bool

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the public levels."""
        return tuple(str(level) for level in self.levels)

    @property
    def priors(self) -> pd.Series:
        """Probability of each class."""
        return pd.Series(self.prior, index=list(self.levels), name="prior")

    @property
    def means(self) -> pd.DataFrame:
        """Class means in the user's units."""
        values = np.linalg.solve(self.back.T, self.scaled_means.T).T
        return pd.DataFrame(values, index=list(self.levels), columns=list(self.terms))

    @property
    def covariances(self) -> dict[Any, pd.DataFrame]:
        """Covariances within classes in the user's units; the same for all where it is pooled."""
        root = np.linalg.inv(self.back)
        spread = np.eye(len(root))[None] if self.spread is None else self.spread
        names = list(self.terms)
        return {
            level: pd.DataFrame(root.T @ spread[k % len(spread)] @ root, index=names, columns=names)
            for k, level in enumerate(self.levels)
        }

    @property
    def _groups(self) -> Groups:
        return Groups(
            "class",
            "prior",
            self.classes,
            self.terms,
            self.prior,
            self.prior_sd,
            self.means.to_numpy(),
            self.mean_sd,
        )

    def _printed(self) -> Page:
        parts = (Heading("Priors and means by class"), self._groups.table())
        return printed(self.call, parts, self.privacy, self.notes)

    def _summary(self) -> Page:
        """Priors and means with their errors, privacy, error parts and diagnostics."""
        facts = (
            ("Method", BAYES_METHODS[self.method]),
            ("Covariance within classes", self.covariance),
            ("Rows", f"{self._rows_line()}; {len(self.classes)} classes"),
        )
        parts = (
            Heading("Priors and means by class"),
            self._groups.table(main=True),
            Heading("Standard errors (sampling and privacy)"),
            self._groups.errors(),
        )
        return self._summary_of(facts, parts)

    def tidy(self) -> pd.DataFrame:
        """One row per class and number: class, term, estimate, std_error."""
        return self._groups.tidy()

    def glance(self) -> pd.DataFrame:
        """One row that describes the fit as a whole."""
        return WholeFrame(
            {
                "classes": [len(self.levels)],
                "features": [len(self.terms)],
                "covariance": [self.covariance],
                "released": [self.released],
                **self._glance_items(),
            }
        )

    @np.errstate(all="ignore")  # what overflows is not finite, and shown as such
    @spelled
    def predict(self, newdata: Any = None, type: str = "class") -> pd.Series | pd.DataFrame:
        """Classes, or their probabilities, of rows that you may show; free of privacy cost.

        Parameters
        ----------
        newdata : table or dict
            Rows with the features' columns. A row that cannot be encoded gets None, or NaN.
        type : {"class", "prob"}
            "class": a Series of classes, as the class column holds them; "prob": a DataFrame, one
            column per class.
        """
        if not one_of(type, ("class", "prob")):
            raise ArgumentError(
                f"type must be 'class' or 'prob' (posterior probabilities), not {shown(type)}."
            )
        if newdata is None:
            raise NotReleasedError(
                "predict() needs newdata: classes of the private rows are not released."
            )
        features = features_design(self.design, len(self.levels))  # the class need not be known
        x, _, index = predicted_rows(features, newdata)
        logs = log_posterior(x @ self.back, self.scaled_means, self.prior, self.spread)
        dead = ~np.isfinite(logs).all(axis=1)
        if type == "prob":
            logs[dead] = np.nan
            return pd.DataFrame(np.exp(logs), index=index, columns=list(self.levels))
        labels = np.array(self.levels, dtype=object)[np.where(dead, 0, logs.argmax(axis=1))]
        labels[dead] = None
        classes = pd.Series(labels, index=index, name="class", dtype=object)
        return classes if dead.any() else classes.infer_objects()

    @np.errstate(all="ignore")
    def confusion(self, newdata: Any) -> pd.DataFrame:
        """True classes (rows) against predicted ones, counted on rows that you may show.

        Never call it on the private rows for release: the counts are exact.

        Parameters
        ----------
        newdata : table or dict
            Rows with the features' columns and the class column.
        """
        x, _, _ = predicted_rows(self.design, newdata, warns=False)
        k = len(self.levels)
        known = np.isfinite(x).all(axis=1)
        truth = x[known, :k].argmax(axis=1)
        logs = log_posterior(x[known, k:] @ self.back, self.scaled_means, self.prior, self.spread)
        table = np.zeros((k, k), dtype=int)
        np.add.at(table, (truth, logs.argmax(axis=1)), 1)
        if not known.any():
            raise SchemaError("no row of newdata can be classified and has a known class.")
        names = list(self.levels)
        return pd.DataFrame(
            table,
            index=pd.Index(names, name="true"),
            columns=pd.Index(names, name="predicted"),
        )

    def balanced_error(self, newdata: Any) -> float:
        """Mean over the classes of the share of rows misclassified, on rows that you may show."""
        table = self.confusion(newdata).to_numpy()
        rows = table.sum(axis=1)
        right = np.diag(table)[rows > 0] / rows[rows > 0]
        return float(1 - right.mean())
