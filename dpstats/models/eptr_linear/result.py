"""A linear model fitted by efficient Propose-Test-Release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import pandas as pd

from dpstats.errors import NotReleasedError
from dpstats.models.linear.page import LinearPage
from dpstats.models.linear.result import LinearModel
from dpstats.report.answers import Answers, answers_table
from dpstats.report.bound import Bound
from dpstats.report.table import Page
from dpstats.score_rounds.path import Path


@dataclass(frozen=True, repr=False, eq=False)
class EptrLinearModel(LinearModel):
    """A private linear model whose noise depends on the data set; answers as `LinearModel` does.

    Attributes
    ----------
    released : bool
        False when the test did not pass: `coef` is then the public answer.
    error : tuple of Bound
        The decomposition of the error that the summary shows.
    answers : Answers or None
        Probability of an answer by level of safety, where there is a test.
    moments_released : bool
        Whether second moments were released, so that `update` and `path` are possible.
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
    eptr_lm : What makes one.

    Examples
    --------
    >>> from dpstats import eptr_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = eptr_lm(
    ...     "rate_marriage ~ age + religious", private, public, epsilon=1, delta=1e-5, seed=1
    ... )
    >>> fit.released, list(fit.coef().index)
    (True, ['Intercept', 'age', 'religious'])
    """

    released: bool
    error: tuple[Bound, ...]
    answers: Answers | None
    moments_released: bool

    def _page(self, with_bounds: bool) -> LinearPage:
        answer = "" if self.released else "NO REPLY: what follows is the public fit"
        return replace(super()._page(with_bounds), answer=answer)

    def glance(self) -> pd.DataFrame:
        """One row that describes the fit, and whether there was an answer."""
        return super().glance().assign(released=self.released)

    def _summary(self) -> Page:
        """R's summary.lm, with the privacy spent, the error's parts and the test's probabilities."""
        page = super()._summary()
        if self.answers is None:
            return page
        return Page((*page.parts, *answers_table(self.answers, self.released)))

    def _r_squared(self) -> tuple[float, float] | None:
        return super()._r_squared() if self.moments_released else None

    def _bounds(self) -> tuple[Bound, ...]:
        return self.error or super()._bounds()

    def _require_moments(self, what: str) -> None:
        if not self.moments_released:
            raise NotReleasedError(
                f"{what} needs second moments, and method='{self.method}' releases coefficients only: "
                "use eptr_lm(..., method='adassp') or dp_lm."
            )

    def update(self, formula: str = "~ .", *, vcov: str | None = None) -> Self:
        """A sub-model, as `LinearModel.update`; where second moments were released."""
        self._require_moments("update()")
        return replace(super().update(formula, vcov=vcov), error=())

    def path(
        self, penalty: str = "lasso", lambdas: Sequence[float] | None = None, alpha: float = 0.5
    ) -> Path:
        """Coefficients along a penalty, as `LinearModel.path`; where second moments were released."""
        self._require_moments("path()")
        return super().path(penalty, lambdas, alpha)
