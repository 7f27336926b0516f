"""A private kernel regression: one release, any number of predictions."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpstats.arguments import numbers, one_of, shown, spelled
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, NotReleasedError
from dpstats.frame import Design, predicted_rows
from dpstats.models.eptr_nw.bands import (
    CUT_DOUBT,
    SEEN,
    Cover,
    Scale,
    beyond_cut,
    beyond_range,
    critical,
    end_doubt,
    seen,
    smoothing_bias,
)
from dpstats.models.eptr_nw.estimate import (
    PolynomialCentre,
    Prediction,
    Smoothing,
    from_sums,
    interpolated,
)
from dpstats.models.eptr_nw.page import curve_table, plot_curve
from dpstats.models.eptr_nw.planning import Residuals
from dpstats.models.eptr_nw.public import CurveSetting
from dpstats.models.eptr_nw.releases import Curve, Features
from dpstats.models.eptr_nw.rows import kernel
from dpstats.propose_test.outcome import TestedResult
from dpstats.report.answers import Answers
from dpstats.report.bound import Bound
from dpstats.report.format import format_scalar
from dpstats.report.frames import WholeFrame, predicted
from dpstats.report.model import printed
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.result import limit_names, quantile
from dpstats.report.table import Page, Table
from dpstats.report.texts import Heading, KeyValues

KERNEL_METHODS = {
    "gp": "kernel sums with noise for the whole curve at once",
    "adaptive": "curve at nodes, noise for private bounds on their degrees",
    "ptr": "curve at nodes behind one private test of their degrees",
    "paper": "ePTR-NW (Algorithm 5 of the ePTR paper), point by point",
}
_POINTS_AT_ONCE = 4096
_NEAR = 0.5
"""Public rows with which a point is not empty."""
_SURFACE = 101


@dataclass(frozen=True)
class SumsCurve:
    """A curve that was released as sums in the coordinates of `Features`.

    ``doubt``: how far the polynomial may be off. ``covers`` and ``scale`` are made last. ``surely``:
    standard deviations of noise by which a sum of the kernel tells of rows. ``told``: the polynomial,
    where released sums told it, as far as they know where rows end.
    """

    features: Features
    sums: Curve
    residuals: Residuals
    doubt: float
    sigma: float
    covers: tuple[Cover, ...] = ()
    scale: Scale | None = None
    surely: float = SEEN
    told: PolynomialCentre | None = None

    @property
    def denominator(self) -> float:
        """Noise of the denominator over that of the numerator."""
        return self.sums.below_sd / self.sums.noise_sd

    def seen(self, prediction: Prediction) -> NDArray[np.bool_]:
        """Where private rows stand out of the noise."""
        return seen(prediction.degree, self.sums.below_sd, self.surely)

    def at(
        self,
        z: Floats,
        nodes: Floats,
        public: tuple[Floats, Floats],
        smoothing: Smoothing,
        errors: bool,
    ) -> Prediction:
        """The curve at points (k, d) in scaled units; without ``errors`` in less time.

        ``public``: the public fit there and its standard error.
        """
        parts = [
            self._at(z[a:b], nodes, (public[0][a:b], public[1][a:b]), smoothing, errors)
            for a in range(0, max(len(z), 1), _POINTS_AT_ONCE)
            for b in (a + _POINTS_AT_ONCE,)
        ]
        return Prediction(
            *(np.concatenate(column) for column in zip(*map(_columns, parts), strict=True))
        )

    def _at(
        self,
        z: Floats,
        nodes: Floats,
        public: tuple[Floats, Floats],
        smoothing: Smoothing,
        errors: bool,
    ) -> Prediction:
        above, below, squares, length = self.local_sums(z, nodes, errors)
        sd = self.sums.noise_sd * length
        centre, spread = public
        doubt = np.hypot(self.doubt, spread)

        def curve(sigma: Floats | float) -> Prediction:
            return from_sums(
                above,
                below,
                sd,
                centre,
                smoothing,
                self.sums.noise_sd,
                sigma,
                doubt,
                self.denominator,
            )

        first = curve(self.sigma)
        if self.scale is None:
            return first
        degree = np.maximum(below, 1e-150)  # noise over it must stay finite
        local, noise = squares / degree, self.sums.squares_sd / degree
        relative = self.scale.relative(np.clip(local, 0.0, 1.0), noise)
        shift = first.value - centre
        sigma = np.sqrt(self.scale.variance(relative, shift, first.noise_sd))
        found = curve(sigma)
        lost, doubted = beyond_cut(self.residuals, smoothing.bounds, np.sqrt(relative))
        share = found.weight / smoothing.slope
        value = found.value + share * lost
        bias: Floats = np.zeros(len(z))
        if errors and self.covers:
            error = np.hypot(found.noise_sd, sigma / np.sqrt(np.maximum(below, 1.0)))
            bias = found.weight * smoothing_bias(self.covers, z, value - centre, error)
            if self.told is not None:
                bias = bias + end_doubt(self.covers[0], z, self.told)
        return replace(
            found,
            value=value,
            sampling_sd=np.hypot(found.sampling_sd, CUT_DOUBT * share * doubted),
            bias=bias,
            cut=share * doubted,
        )

    def local_sums(
        self, z: Floats, nodes: Floats, errors: bool
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Numerator, denominator and sum of squares at points, and the lengths of their features."""
        both = np.column_stack([self.sums.above, self.sums.below, self.sums.squares])
        weights = kernel(nodes, np.ascontiguousarray(z.T))
        # phi(x)'v = K_Q(x)'M'v
        above, below, squares = (weights.T @ (self.features.matrix.T @ both)).T
        length = self.features.lengths(weights) if errors else np.zeros(len(above))
        return above, below, squares, length


def _columns(prediction: Prediction) -> tuple[Floats, ...]:
    shape = np.shape(prediction.value)
    return tuple(np.broadcast_to(getattr(prediction, f.name), shape) for f in fields(prediction))


@dataclass(frozen=True)
class NodesCurve:
    """A curve that was released at nodes; NaN where too few rows were near, or there was no reply."""

    axes: tuple[Floats, ...] | None
    shift: Floats
    noise_sd: Floats
    sampling_sd: Floats
    degree: Floats
    degree_sd: float = 0.0

    def at(
        self,
        z: Floats,
        nodes: Floats,
        public: tuple[Floats, Floats],
        smoothing: Smoothing,
        errors: bool,
    ) -> Prediction:
        """Interpolated corrections to the public fit; none where a node was dropped."""
        centre, spread = public
        silent = np.isnan(self.shift)
        columns = (
            np.where(silent, 0.0, self.shift),
            np.where(silent, 0.0, self.noise_sd),
            self.sampling_sd,
            self.degree,
            (~silent).astype(np.float64),
        )
        shift, noise, sampling, degree, weight = (
            interpolated(self.axes, nodes, column, z) for column in columns
        )
        sampling = np.hypot(sampling, (1 - weight * smoothing.mended) * spread)
        return Prediction(centre + shift, noise, sampling, degree, weight)

    def seen(self, prediction: Prediction) -> NDArray[np.bool_]:
        """Where private rows stand out of the noise."""
        return seen(prediction.degree, self.degree_sd)


def blanked(
    prediction: Prediction, seen: NDArray[np.bool_], z: Floats, setting: CurveSetting
) -> Prediction:
    """NaN where no private row was ``seen``, and no public row is near."""
    empty = np.flatnonzero(~seen)
    if setting.public is not None:
        rows = setting.public[:, :-1] / setting.smoothing.bandwidth
        for a in range(0, len(empty), _POINTS_AT_ONCE):
            part = empty[a : a + _POINTS_AT_ONCE]
            mass = kernel(rows, np.ascontiguousarray(z[part].T)).sum(axis=0)
            seen = seen.copy()
            seen[part] = mass >= _NEAR
    return replace(prediction, value=np.where(seen, prediction.value, np.nan))


def _errors(prediction: Prediction, level: float) -> tuple[Floats, Floats]:
    """Standard errors, and half the length of intervals that allow for what smoothing moved."""
    sd = np.hypot(prediction.noise_sd, prediction.sampling_sd)
    half = quantile(level) * sd
    biased = np.flatnonzero(np.asarray(prediction.bias) > 0)
    if len(biased):
        part = np.maximum(sd[biased], 1e-300)
        half[biased] = part * critical(np.asarray(prediction.bias)[biased] / part, level)
    nothing = np.isnan(prediction.value)
    return np.where(nothing, np.nan, sd), np.where(nothing, np.nan, half)


@dataclass(frozen=True, repr=False, eq=False)
class KernelModel(TestedResult):
    """A private curve (or surface); what every method returns is released or computed from releases.

    Attributes
    ----------
    curve : DataFrame
        The points of ``at=`` with fit, std_error and a 95 % interval.
    bandwidth : Series
        One per covariate.
    privacy : PrivacyStatement
    released : bool
        False when no test passed: the public fit is shown instead.
    call, method : str
        The call as it was typed, and the method that it used.
    n, m : int or None
        Private rows (or persons) and public rows; both numbers are public.
    notes : tuple of str
        What a reader must know before the numbers.

    See Also
    --------
    eptr_nw : What makes one.

    Examples
    --------
    >>> from dpstats import eptr_nw
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = eptr_nw("rate_marriage ~ age", private, public, epsilon=1, delta=1e-5, seed=1)
    >>> fit.predict(public.head(2), interval="confidence").columns.tolist()
    ['fit', 'lwr', 'upr']
    """

    _other_names: ClassVar[dict[str, str]] = TestedResult._other_names | dict.fromkeys(
        ("confint", "conf_int", "ci"), "tidy(): conf_low and conf_high"
    )
    call: str
    method: str
    formula: str
    design: Design
    setting: CurveSetting
    values: SumsCurve | NodesCurve
    privacy: PrivacyStatement
    n: int
    m: int | None
    error: tuple[Bound, ...]
    details: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    answers: tuple[Answers, ...]
    released: bool

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the covariates."""
        return self.design.terms[1:]

    @property
    def bandwidth(self) -> pd.Series:
        """Standard deviation of the kernel, in each covariate's unit."""
        names = list(self.covariates)
        return pd.Series(self.setting.smoothing.bandwidth, index=names, name="bandwidth")

    @property
    def curve(self) -> pd.DataFrame:
        """The points of ``at=`` (or of the default grid) with fit, std_error and a 95 % interval."""
        return self._band(self.setting.shown, 0.95)

    def _band(self, z: Floats, level: float) -> pd.DataFrame:
        """Points in scaled units as a table in the covariates', with the curve and its errors."""
        prediction = self._at(z)
        sd, half = _errors(prediction, level)
        frame = pd.DataFrame(z * self.setting.smoothing.bandwidth, columns=list(self.covariates))
        fit, lwr, upr = self._ends(prediction.value, half)
        return frame.assign(fit=fit, std_error=sd, lwr=lwr, upr=upr)

    def _ends(self, fit: Floats, half: Floats) -> tuple[Floats, ...]:
        """The curve and its interval; between 0 and 1 where responses are no more and no less."""
        found = fit, fit - half, fit + half
        marks = isinstance(self.values, SumsCurve) and self.values.residuals.marks
        if marks or self.design.response_kind == "bool":
            return tuple(np.clip(values, 0.0, 1.0) for values in found)
        return found

    def _at(self, z: Floats, errors: bool = True) -> Prediction:
        """The curve, and nothing where no row is: none released, none public, and none taken in."""
        of = self.setting
        near = ((z >= of.low - 1) & (z <= of.high + 1)).all(axis=1)  # as of private rows
        inside = np.clip(z, of.low, of.high)
        columns = np.ascontiguousarray(inside.T)
        spread = of.centre.spread(columns) if errors else np.zeros(len(inside))
        public = of.centre(columns), spread
        found = self.values.at(inside, of.nodes, public, of.smoothing, errors)
        found = blanked(found, self.values.seen(found), inside, of)
        if errors:
            moved = of.centre(np.ascontiguousarray(z.T)) - public[0]
            distance = np.linalg.norm(z - inside, axis=1)
            bias = beyond_range(np.asarray(found.bias), distance, moved)
            found = replace(found, bias=bias)
        return replace(found, value=np.where(near, found.value, np.nan))

    @np.errstate(all="ignore")  # what overflows is not finite, and shown as such
    @spelled
    def predict(
        self,
        newdata: Any = None,
        interval: str | None = None,
        level: float = 0.95,
        se_fit: bool = False,
    ) -> pd.Series | pd.DataFrame:
        """The curve at rows that you may show: any number of them, free of privacy cost.

        Parameters
        ----------
        newdata : table or dict
            Rows with the covariates. Up to a bandwidth beyond the public range the curve is taken at its
            edge; farther out, where neither private nor public rows are seen, and for a row that cannot
            be encoded, it is NaN.
        interval : {None, "confidence"}
            None gives a Series; otherwise a frame with R's columns fit, lwr, upr. By default intervals
            cover privacy noise, sampling error, and what smoothing would do to a function as curved
            as the fit; the methods that release nodes leave out the last.
        level : float
        se_fit : bool
            Add the standard error as a column (R's ``se.fit``): of noise and sampling, not of what
            smoothing moved.
        """
        if interval is not None and not one_of(interval, ("none", "confidence")):
            raise ArgumentError(f"interval must be None or 'confidence', not {shown(interval)}.")
        if newdata is None:
            raise NotReleasedError(
                "predict() needs newdata: fitted values of the private rows are not released. The "
                "released curve itself is .curve."
            )
        self._require_table(newdata)
        x, _, index = predicted_rows(self.design, newdata)
        z = x[:, 1:] / self.setting.smoothing.bandwidth
        alive = np.isfinite(z).all(axis=1)
        fit, sd, half = np.full((3, len(z)), np.nan)
        plain = interval in (None, "none")
        if alive.any():
            prediction = self._at(z[alive], errors=se_fit or not plain)
            fit[alive] = prediction.value
            sd[alive], half[alive] = _errors(prediction, level)
        fit, lwr, upr = self._ends(fit, half)
        return predicted(fit, None if plain else (lwr, upr), sd if se_fit else None, index)

    def _require_table(self, newdata: Any) -> None:
        """Refuse bare numbers, and say how they are given."""
        plain = (int, float, list, tuple, range, np.ndarray, pd.Series)
        if isinstance(newdata, plain) and numbers(newdata) is not None:
            names = ", ".join(f"{name!r}: [...]" for name in self.covariates)
            raise ArgumentError(
                f"predict() takes a table, or values by name: predict({{{names}}}); at= of the call "
                "takes bare numbers."
            )

    def tidy(self) -> pd.DataFrame:
        """The curve in broom's words: covariates, estimate, std_error, conf_low, conf_high."""
        names = {"fit": "estimate", "lwr": "conf_low", "upr": "conf_high"}
        return self.curve.rename(columns=names)

    def glance(self) -> pd.DataFrame:
        """One row that describes the fit as a whole."""
        sizes = {f"bandwidth_{name}": [h] for name, h in self.bandwidth.items()}
        own = {"nodes": [len(self.setting.nodes)], "released": [self.released]}
        return WholeFrame(sizes | own | self._glance_items())

    def _curve_table(self, main: bool = False) -> Table:
        low, high = limit_names(0.95)
        names = {"std_error": "std. error", "lwr": low, "upr": high}
        return curve_table(self.curve.rename(columns=names), main)

    @property
    def _bandwidths(self) -> str:
        sizes = ", ".join(f"{name} {format_scalar(h, 3)}" for name, h in self.bandwidth.items())
        whence = "from released scales" if self.setting.m is None else "chosen on public rows"
        return sizes + (f" ({whence})" if self.setting.chosen else "")

    def _printed(self) -> Page:
        bandwidth = KeyValues((("Bandwidth", self._bandwidths),))
        parts = (bandwidth, Heading("Curve"), self._curve_table())
        return printed(self.call, parts, self.privacy, self.notes)

    def _summary(self) -> Page:
        """The curve with the privacy spent, the error's parts and diagnostics."""
        terms, degree = (
            len(self.setting.centre.powers),
            max(sum(p) for p in self.setting.centre.powers),
        )
        whose = "released" if self.setting.m is None else "public"
        polynomial = f"a {whose} polynomial of degree {degree} ({terms} terms)"
        facts = (
            ("Method", KERNEL_METHODS[self.method]),
            ("Kernel", "Gaussian, 1 at its middle"),
            ("Bandwidth", self._bandwidths),
            ("Correction to", polynomial if degree else "a constant"),
            ("Rows", self._rows_line()),
        )
        return self._summary_of(facts, (Heading("Curve"), self._curve_table(main=True)))

    def plot(self, level: float = 0.95, ax: Any = None) -> Any:
        """The curve with its interval and the public rows, or a heat map; returns matplotlib's axes.

        Parameters
        ----------
        level : float
            Of the band.
        ax : matplotlib Axes, optional
        """
        names, of = list(self.covariates), self.setting
        response = self.design.response or "fit"
        public = None
        if of.public is not None:
            public = pd.DataFrame(of.public, columns=[*names, response])
        curve, surface = self.curve, None
        if len(names) == 1:
            axis = np.linspace(of.low[0], of.high[0], 4 * _SURFACE)
            curve = self._band(axis[:, None], level)
        if len(names) == 2:
            axes = [np.linspace(a, b, _SURFACE) for a, b in zip(of.low, of.high, strict=True)]
            first, second = np.meshgrid(*axes, indexing="ij")
            points = np.column_stack([first.ravel(), second.ravel()])
            values = self._at(points, errors=False).value
            h = of.smoothing.bandwidth
            surface = axes[0] * h[0], axes[1] * h[1], values.reshape(first.shape).T
        return plot_curve(names, response, curve, public, surface, level, self.released, ax)
