"""The verbs of a fit on the scale of the response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
import pandas as pd

from dpstats.arguments import require_known, require_one_of, spelled
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, NotReleasedError, without_frames
from dpstats.frame import new_rows, warn_of_left_out
from dpstats.margins.adapter import marginaleffects_model
from dpstats.margins.averages import Fitted, PrivateMargins, ReleaseOptions, private_averages
from dpstats.margins.emmeans import MarginalMeans, marginal_means
from dpstats.margins.lines import ResponseScale, of_response
from dpstats.margins.new_rows import (
    Margins,
    Predictors,
    changes,
    difference,
    itself,
    log_ratio,
    offset_alone,
    table_of,
    variables_of,
    with_errors,
)
from dpstats.margins.rows import identity
from dpstats.margins.simulate import simulated
from dpstats.report.result import law_letter
from dpstats.score_rounds.hypotheses import constraints
from dpstats.score_rounds.result import Model

_OPTIONS = tuple(ReleaseOptions.__annotations__)


def _averages_of(verb: str, shown: str = "public") -> str:
    """How averages over rows are asked for: first what costs nothing."""
    return (
        f"{verb}({shown}), which averages over rows that you may show and costs nothing; or "
        f"{verb}(data=private, mu=0.5)"
    )


@dataclass(frozen=True, repr=False, eq=False)
class MarginalModel(Model):
    """A fit that predicts, on the scale of the response."""

    _other_names: ClassVar[dict[str, str]] = Model._other_names | {
        "get_prediction": "predict(newdata, interval='confidence')",
        **dict.fromkeys(
            ("t_test", "lincom", "glht", "linear_combination"), "hypotheses('x1 = x2')"
        ),
        **dict.fromkeys(("contrast", "contrasts", "pairs"), "emmeans('g').contrasts()"),
        **dict.fromkeys(
            ("avg_slopes", "margins", "get_margeff", "margeff", "marginal_effects"),
            _averages_of("slopes"),
        ),
        **dict.fromkeys(
            ("risk_ratio", "risk_ratios", "risk_difference", "avg_risk_ratio"),
            "comparisons(public, {'x': (0, 1)}, comparison='ratio'), or 'difference'",
        ),
        **dict.fromkeys(
            ("plot_effects", "plot_predictions", "plot_slopes", "allEffects", "ggpredict"),
            "predictions(rows).plot(), slopes(rows).plot()",
        ),
        "emtrends": "slopes(public, 'x1', by='g'), which averages over rows that you may show",
        "avg_comparisons": _averages_of("comparisons"),
        "avg_predictions": _averages_of("predictions", "public, by=True"),
    }

    @spelled
    def hypotheses(self, hypothesis: Any, level: float = 0.95) -> Margins:
        """Linear combinations of coefficients with their errors; no further privacy spent.

        Such as the effect in a subgroup, ``"treated + treated:female = 0"``. Each by itself; `wald_test`
        tests several together.

        Parameters
        ----------
        hypothesis : str, list of str, or matrix
            ``"x1 = x2"``, ``["x1 + x2", "g[T.b] = 1"]``, or R of R b = 0. The estimate is the left side
            less the right one.
        level : float
            Of the intervals.

        Examples
        --------
        >>> from dpstats import dp_lm
        >>> from dpstats.datasets import fair
        >>> public, private = fair()
        >>> fit = dp_lm("rate_marriage ~ age * religious", private, public=public, mu=1, seed=1)
        >>> at_four = fit.hypotheses("age + 4 * age:religious = 0")
        >>> at_four.frame.columns[:3].tolist()
        ['hypothesis', 'estimate', 'std_error']
        """
        c = self.coefficients
        each = hypothesis if isinstance(hypothesis, list | tuple) else [hypothesis]
        texts = bool(each) and all(isinstance(one, str) for one in each)
        named, rows, values = list[str](), list[Floats](), list[float]()
        for one in each if texts else [hypothesis]:
            self._require_no_factor(one)
            matrix, right, text = constraints(one, c.terms)
            several = len(matrix) > 1
            named += [f"{text} ({k + 1})" if several else text for k in range(len(matrix))]
            rows += list(matrix)
            values += right.ravel().tolist()
        at = np.array(rows)
        estimate = at @ np.where(np.isnan(c.coef), 0.0, c.coef) - values
        estimate = np.where((at != 0) @ np.isnan(c.coef), np.nan, estimate)
        frame = pd.DataFrame({"hypothesis": named, "estimate": estimate})
        frame = with_errors(frame, c, at, level)
        return self._margins(frame, "Linear combinations of coefficients")

    def _scale(self) -> ResponseScale:
        """How the mean of the response follows from the linear predictor."""
        return ResponseScale(identity)

    def predictions(
        self,
        newdata: Any = None,
        by: bool | str | Sequence[str] = False,
        level: float = 0.95,
        *,
        data: Any = None,
        **release: Unpack[ReleaseOptions],
    ) -> Margins | PrivateMargins:
        """Means of the response at rows that you may show; or their average over private rows.

        Parameters
        ----------
        newdata : table or dict
            Rows that may be shown to anybody: what is printed of them is not protected, not even
            averages. Private rows are never given here.
        by : bool, str or list of str
            False: a line for each row; True: their average; a column: an average for each of its values.
        level : float
            Of the intervals: of a row that of its linear predictor, on the scale of the response; of
            averages that of the delta method.
        data : table, path, blocks of rows, or Dask DataFrame
            Instead: private rows, whose average alone is released, at a cost of its own besides
            that of the fit: ``mu=``, ``rho=``, or ``epsilon=`` with ``delta=``; and ``budget=``,
            ``person=``, ``rows_per_person=``, ``executor=``, ``progress=``, ``seed=``, all as in
            `dp_lm`. Errors include those of the coefficients, the noise for privacy, and the
            sampling of the rows; each row counts once, whatever weights the fit had.

        Examples
        --------
        >>> from dpstats import dp_lm
        >>> from dpstats.datasets import fair
        >>> public, private = fair()
        >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
        >>> len(fit.predictions(public, by="religious").frame)
        4
        >>> mean = fit.predictions(data=private, mu=0.5, seed=1)
        >>> bool(abs(mean.frame.estimate[0] - private.rate_marriage.mean()) < 0.1)
        True
        """
        require_known("predictions", release, ["newdata", "by", "level", "data", *_OPTIONS])
        if data is not None or release:
            return self._averages("predictions", newdata, data, None, by, level, release)
        rows = new_rows(newdata, "predictions")
        c, mean = self.coefficients, self._scale().mean
        at = Predictors.of(self.design, c.coef, rows)
        frame = table_of([({}, (at.mean(mean),))], itself, c, rows, by, level, tested=False)
        if by is False or by is None:
            frame["conf_low"], frame["conf_high"] = at.interval(c, mean, level)
        warn_of_left_out(c.terms, c.left_out, at.x)
        title = "Predictions" if by is False else "Average predictions"
        return self._margins(frame, title + of_response(self.design) + self._lacking())

    def slopes(
        self,
        newdata: Any = None,
        variables: str | Sequence[str] | None = None,
        by: bool | str | Sequence[str] = True,
        level: float = 0.95,
        *,
        data: Any = None,
        **release: Unpack[ReleaseOptions],
    ) -> Margins | PrivateMargins:
        """What a small change of each column does to the mean of the response: marginal effects.

        For a number the derivative, for a category each level against the first. Averages over the
        rows that you give, unless ``by=False``; `predictions` has the other parameters, and those
        of averages over private rows: ``fit.slopes(data=private, mu=0.5)``. The range of a logit's
        slopes follows from the coefficients, so that their average has next to no noise; where it
        does not follow, a part of the total finds it. A column of the offset alone has no
        coefficient, and no line.

        Examples
        --------
        >>> from dpstats import dp_glm
        >>> from dpstats.datasets import fair
        >>> public, private = (t.assign(affair=t.affairs > 0) for t in fair())
        >>> fit = dp_glm("affair ~ age + religious", private, public=public, mu=1, seed=1)
        >>> found = fit.slopes(data=private, mu=0.5, seed=1)
        >>> list(found.frame.term)
        ['age', 'religious']
        >>> found.privacy.mu
        0.5
        """
        return self._changes("slopes", newdata, data, variables, by, level, release)

    def comparisons(
        self,
        newdata: Any = None,
        variables: str | Sequence[str] | Mapping[str, Any] | None = None,
        by: bool | str | Sequence[str] = True,
        level: float = 0.95,
        *,
        comparison: str = "difference",
        data: Any = None,
        **release: Unpack[ReleaseOptions],
    ) -> Margins | PrivateMargins:
        """What one unit more of each column does to the mean of the response; else as `slopes`.

        A number that is zero or one goes from 0 to 1 in every row: by ``limits={"x": (0, 1)}``, in all
        of 20 public rows or more, or in all of ``newdata`` where neither tells; categories and truth
        values as in `slopes`. Other comparisons are asked for by name: ``variables={"x": 10}`` raises x
        by ten, ``{"x": (20, 30)}`` takes it from 20 to 30 in every row; of a category
        ``{"g": ("a", "b")}`` compares b with a, ``"pairwise"`` all levels, ``"sequential"`` each with
        the one before it. ``comparison="ratio"``, for rows that you show: the average mean after the
        change over that before it, as a risk ratio, and of every row with ``by=False``.

        Examples
        --------
        >>> from dpstats import dp_lm
        >>> from dpstats.datasets import fair
        >>> public, private = fair()
        >>> fit = dp_lm("rate_marriage ~ age * religious", private, public=public, mu=1, seed=1)
        >>> list(fit.comparisons(public, {"age": 10, "religious": (1, 4)}).frame.contrast)
        ['+10', '4 - 1']
        """
        require_one_of("comparison", comparison, ("difference", "ratio"))
        if comparison == "ratio" and (data is not None or release):
            raise ArgumentError(
                "ratios are of averages over rows that you may show, comparisons(public, "
                "comparison='ratio'); over private rows there are differences."
            )
        if comparison == "ratio" and self._lacking():
            raise NotReleasedError(
                f"ratios are of means, and those of this fit are{self._lacking()}, which were not "
                "released. Differences need no effects: leave comparison= out."
            )
        return self._changes(
            "comparisons", newdata, data, variables, by, level, release, comparison == "ratio"
        )

    def _changes(
        self,
        what: str,
        newdata: Any,
        data: Any,
        variables: str | Sequence[str] | Mapping[str, Any] | None,
        by: bool | str | Sequence[str],
        level: float,
        release: ReleaseOptions,
        ratio: bool = False,
    ) -> Margins | PrivateMargins:
        known = ["newdata", "variables", "by", "level", "data", *_OPTIONS]
        known += ["comparison"] if what == "comparisons" else []
        require_known(what, release, known)
        if what == "slopes" and isinstance(variables, Mapping):
            raise ArgumentError(
                "slopes takes names of columns: variables=['x', 'g']. What a larger change does, "
                "or one level beside another, is comparisons(variables={'x': 10, 'g': ('a', 'b')})."
            )
        if data is not None or release:
            return self._averages(what, newdata, data, variables, by, level, release)
        rows = new_rows(newdata, what)
        asked = variables_of(self.design, variables, self._absorbed())
        unknown = self._perhaps_marks() if what == "comparisons" else frozenset()
        marks = {name for name in unknown & {*asked} if rows[name].isin((0, 1)).all()}
        asked = {n: (0, 1) if how is None and n in marks else how for n, how in asked.items()}
        coef = self.coefficients.coef
        made = changes(self.design, coef, self._scale().mean, rows, asked, what == "slopes")
        named = [
            ({"term": name, "contrast": how.replace(" - ", " / ") if ratio else how}, ends)
            for name, how, ends in made
        ]
        kind = log_ratio if ratio else difference
        frame = table_of(named, kind, self.coefficients, rows, by, level, tested=True)
        title = what.capitalize() if by is False else f"Average {what}"
        if ratio:
            title = "Ratios of means" if by is False else "Ratios of average means"
        title += of_response(self.design)
        offsets = offset_alone(self.design) if variables is None else []
        if offsets:
            title += f" (none for {', '.join(offsets)}, in the offset alone)"
        return self._margins(frame, title)

    def _margins(self, frame: pd.DataFrame, title: str) -> Margins:
        return Margins(frame, title, self.privacy.derived, law_letter(self.coefficients.freedom))

    @without_frames
    def _averages(
        self,
        what: str,
        newdata: Any,
        data: Any,
        variables: str | Sequence[str] | Mapping[str, Any] | None,
        by: bool | str | Sequence[str],
        level: float,
        release: ReleaseOptions,
    ) -> PrivateMargins:
        if newdata is not None or data is None:
            raise ArgumentError(
                f"private rows are given as data=, with what their average may cost: fit.{what}("
                "data=private, mu=0.5). newdata= is for rows that may be shown, and costs nothing."
            )
        if not isinstance(by, bool):
            raise ArgumentError(
                "averages over private rows are over all of them: how many have a value of a column is "
                "private. by= is for rows that you may show."
            )
        asked = variables_of(self.design, variables) if what != "predictions" else {}
        privacy, moments = self.privacy, np.asarray(self.estimate.moments)
        perhaps = self._perhaps_marks()
        fit = Fitted(self.design, self.coefficients, self._scale(), moments, privacy, perhaps)
        return private_averages(fit, data, what, asked, level, release)

    @spelled
    def emmeans(
        self,
        factors: str | Sequence[str],
        at: Mapping[str, Any] | None = None,
        type: str = "link",
        level: float = 0.95,
        by: str | Sequence[str] | None = None,
    ) -> MarginalMeans:
        """Estimated marginal means of factors, as R's ``emmeans``; no further privacy spent.

        Levels of other factors have equal weights, numbers are held at their means: those of the
        public rows, or of the released moments where there are none; the page says which. A number
        that enters by a function alone, as ``log(x)``, needs ``at=``.

        Parameters
        ----------
        factors : str or list of str
            Whose levels, or combinations of levels, have a line each; or numbers, at the values that
            ``at`` names.
        at : mapping, optional
            Other values of numbers, and levels of other factors: ``{"x": 2.0, "h": "b"}``; of several,
            ``{"x": [1, 2]}``, means are averages unless the column stands in ``factors`` or ``by``.
        type : {"link", "response"}
            Means of the linear predictor, or these on the scale of the response; contrasts are then
            odds ratios of a logit, and ratios of a log link.
        level : float
            Of the intervals.
        by : str or list of str, optional
            Factors within whose levels ``contrasts()`` compares the others, as R's ``g | h``.

        Examples
        --------
        >>> from dpstats import dp_lm
        >>> from dpstats.datasets import fair
        >>> public, private = (t.assign(child=t.children > 0) for t in fair())
        >>> fit = dp_lm("rate_marriage ~ age + child", private, public=public, mu=1, seed=1)
        >>> means = fit.emmeans("child")
        >>> list(means.frame.child)
        [False, True]
        >>> list(means.contrasts().frame.contrast)
        ['False - True']
        """
        public = self.public is not None
        whose = "the public rows" if public else "released, of the private rows"
        moments = self._design_moments(), whose
        args = self.design, self.coefficients, self._scale(), moments, factors, at, type, level, by
        return marginal_means(*args, self.privacy.derived)

    def _perhaps_marks(self) -> frozenset[str]:
        """Numbers that may be zero or one for all that is known: no public row and no limit tells."""
        if self.public is not None:
            return frozenset()
        every = self.design.columns.items()
        numbers = {name for name, column in every if column.kind == "number" and not column.levels}
        return frozenset(numbers - {*self.design.boxes})

    def _absorbed(self) -> tuple[str, ...]:
        """Columns of which effects were taken out."""
        return ()

    def _lacking(self) -> str:
        """What predictions lack, for their title."""
        return ""

    def _design_moments(self) -> Floats | None:
        """Second moments of the design: of the public rows, else as they were released."""
        return self.estimate.moments if self.public is None else self.public

    def _law(self) -> tuple[str, float, float | None]:
        """The family of the responses, its dispersion, and alpha of the negative binomial."""
        found = self.estimate.dispersion
        return "gaussian", float("nan") if found is None else found, None

    @spelled
    def simulate(
        self, n: int | None = None, newdata: Any = None, *, seed: int | None = None
    ) -> pd.DataFrame:
        """Rows drawn from the fitted model, for power and teaching; no further privacy spent.

        Parameters
        ----------
        n : int, optional
            How many, from ``newdata`` with replacement; by default each row of it once.
        newdata : table or dict
            Rows that you may show, such as public ones: a fit holds none, and no distribution of
            columns.
        seed : int, optional
            Reproducible rows.

        Returns
        -------
        DataFrame
            The rows with a response, as if the coefficients were the true ones. Of a left-hand side
            such as ``log(y)``, y.

        Examples
        --------
        >>> from dpstats import dp_lm
        >>> from dpstats.datasets import fair
        >>> public, private = fair()
        >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
        >>> fit.simulate(1000, public, seed=1).shape[0]
        1000
        """
        c = self.coefficients.coef
        return simulated(self.design, c, self._scale().mean, self._law(), n, newdata, seed)

    @spelled
    def to_marginaleffects(self, newdata: Any) -> Any:
        """The fit as a model of the Python package marginaleffects, with rows that you may show.

        ``avg_slopes(fit.to_marginaleffects(public))``, and all else that the package does with models.
        Needs ``pip install marginaleffects``.
        """
        return marginaleffects_model(self.design, self.coefficients, self._scale().mean, newdata)
