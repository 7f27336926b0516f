"""The answer of a tested release of the user's own estimator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dpstats.arrays import Floats
from dpstats.propose_test.outcome import TestedResult
from dpstats.report.answers import Answers
from dpstats.report.bound import Bound
from dpstats.report.format import format_numbers, format_scalar
from dpstats.report.frames import WholeFrame
from dpstats.report.model import printed
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.table import Column, Page, Part, Table
from dpstats.report.texts import Heading, Preformatted


@dataclass(frozen=True, repr=False, eq=False)
class EptrResult(TestedResult):
    """The answer of `eptr`.

    Attributes
    ----------
    released : bool
        Whether the test passed; if not, `value` is the "no reply" answer.
    value : float, ndarray or None
        The noisy estimate; or ``no_reply``, None when nothing was given for it.
    noise_sd : float
        Per number.
    answers : Answers
        Probability of an answer by level of safety.
    call, method : str
        The call as it was typed, and the method that it used.
    n, m : int or None
        Private rows (or persons) and public rows; both numbers are public.
    notes : tuple of str
        What a reader must know before the numbers.
    privacy : PrivacyStatement
        What was spent, in all units, and what was released for it.

    See Also
    --------
    eptr : What makes one.

    Examples
    --------
    >>> from dpstats import eptr
    >>> answer = eptr(None, 3.2, 40.0, alpha=0.05, epsilon=1, delta=1e-5, target=40, seed=1)
    >>> answer.released
    True
    """

    _other_names: ClassVar[dict[str, str]] = TestedResult._other_names | {
        **dict.fromkeys(("coef", "coef_", "coefficients", "params"), "value"),
        **dict.fromkeys(("bse", "vcov", "cov_params", "confint", "conf_int", "ci"), "se()"),
    }
    _instead_of_rows = ""
    call: str
    method: str
    released: bool
    value: Any
    noise_sd: float
    size: int
    privacy: PrivacyStatement
    n: int | None
    m: int | None
    error: tuple[Bound, ...]
    details: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    answers: Answers

    def se(self) -> float:
        """Standard deviation of the noise alone; the estimator's sampling error is yours to add."""
        return self.noise_sd if self.released else math.nan

    def tidy(self) -> pd.DataFrame:
        """One row per number: estimate and the standard deviation of its noise."""
        values = np.ravel(np.asarray([] if self.value is None else self.value, dtype=float))
        return pd.DataFrame({"estimate": values, "noise_sd": self.se()})

    def glance(self) -> pd.DataFrame:
        """One row that describes the answer."""
        return WholeFrame(
            {"released": [self.released], "numbers": [self.size], **self._glance_items()}
        )

    def __float__(self) -> float:
        return float(np.asarray(self.value, dtype=float).reshape(()))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Floats:
        return np.asarray(self.value, dtype=dtype)

    def _answer(self) -> tuple[Part, ...]:
        if self.value is None:
            return Heading("Answer"), Preformatted("no reply")
        numbers = np.ravel(np.asarray(self.value, float)).tolist()
        shown = format_numbers(numbers, digits=5)
        names = [f"[{k + 1}]" for k in range(len(shown))]
        sd = format_scalar(self.noise_sd, 3) if self.released else ""
        columns = [
            Column("", names, align="l", csv_name="number"),
            Column("estimate" if self.released else "public answer", shown, numbers),
            Column("noise sd", [sd] * len(shown)),
        ]
        return Heading("Answer"), Table.from_columns(columns, main=True)

    def _printed(self) -> Page:
        return printed(self.call, self._answer(), self.privacy, self.notes)

    def _summary(self) -> Page:
        """The answer with the privacy spent, the error's parts and the probabilities of an answer."""
        return self._summary_of((), self._answer())
