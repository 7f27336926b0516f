"""A private kernel regression: one release, any number of predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arguments import naming, one_of, shown
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError, NotReleasedError
from dpstats.frame import Design, design_matrix
from dpstats.models.eptr_nw.estimate import (
    Prediction,
    Smoothing,
    from_sums,
    interpolated,
)
from dpstats.models.eptr_nw.page import curve_table, plot_curve
from dpstats.models.eptr_nw.public import CurveSetting
from dpstats.models.eptr_nw.releases import Features
from dpstats.models.eptr_nw.rows import kernel
from dpstats.propose_test.outcome import TestedResult
from dpstats.report.answers import Answers
from dpstats.report.bound import Bound
from dpstats.report.format import format_scalar
from dpstats.report.model import printed
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic
from dpstats.report.result import limit_names, quantile
from dpstats.report.table import Heading, KeyValues, Page, Table

KERNEL_METHODS = {
    "gp": "kernel sums with noise for the whole curve at once",
    "adaptive": "curve at nodes, noise for private bounds on their degrees",
    "ptr": "curve at nodes behind one private test of their degrees",
    "paper": "ePTR-NW (Algorithm 5 of the ePTR paper), point by point",
}
_POINTS_AT_ONCE = 4096
_SURFACE = 101


@dataclass(frozen=True)
class SumsCurve:
    """A curve that was released as sums in the coordinates of `Features`."""

    features: Features
    above: Floats
    below: Floats
    noise_sd: float
    sigma: float
    doubt: float

    def at(
        self,
        z: Floats,
        nodes: Floats,
        public: tuple[Floats, Floats],
        smoothing: Smoothing,
        errors: bool,
    ) -> Prediction:
        """The curve at points (k, d) in scaled units; without ``errors`` at a fraction of the time.

        ``public``: the public fit there and its standard error.
        """
        matrix = self.features.matrix
        both = np.column_stack([self.above, self.below])
        sums = matrix.T @ both  # phi(x)'v = K_Q(x)'M'v
        parts = []
        for a in range(0, len(z), _POINTS_AT_ONCE):
            weights = kernel(nodes, np.ascontiguousarray(z[a : a + _POINTS_AT_ONCE].T))
            above, below = (weights.T @ sums).T
            length = self.features.lengths(weights) if errors else np.zeros(len(above))
            parts.append((above, below, self.noise_sd * length))
        above, below, sd = (np.concatenate(column) for column in zip(*parts, strict=True))
        centre, spread = public
        doubt = np.hypot(self.doubt, spread)
        return from_sums(above, below, sd, centre, smoothing, self.noise_sd, self.sigma, doubt)


@dataclass(frozen=True)
class NodesCurve:
    """A curve that was released at nodes; NaN where too few rows were near, or there was no reply."""

    axes: tuple[Floats, ...] | None
    shift: Floats
    noise_sd: Floats
    sampling_sd: Floats
    degree: Floats

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
        False when no test passed: the public fit stands in.

    Examples
    --------
    >>> from dpstats import eptr_nw
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = eptr_nw("rate_marriage ~ age", private, public, epsilon=1, delta=1e-5, seed=1)
    >>> fit.predict(public.head(2), interval="confidence").columns.tolist()
    ['fit', 'lwr', 'upr']
    """

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
        sd = np.hypot(prediction.noise_sd, prediction.sampling_sd)
        half = quantile(level) * sd
        frame = pd.DataFrame(z * self.setting.smoothing.bandwidth, columns=list(self.covariates))
        return frame.assign(
            fit=prediction.value,
            std_error=sd,
            lwr=prediction.value - half,
            upr=prediction.value + half,
        )

    def _at(self, z: Floats, errors: bool = True) -> Prediction:
        of = self.setting
        inside = np.clip(z, of.low, of.high)
        columns = np.ascontiguousarray(inside.T)
        spread = of.centre.spread(columns) if errors else np.zeros(len(inside))
        public = of.centre(columns), spread
        return self.values.at(inside, of.nodes, public, of.smoothing, errors)

    @np.errstate(all="ignore")  # what overflows is not finite, and shown as such
    def predict(
        self, newdata: Any = None, interval: str | None = None, level: float = 0.95
    ) -> pd.Series | pd.DataFrame:
        """The curve at rows that you may show: any number of them, free of privacy cost.

        Parameters
        ----------
        newdata : table
            Rows with the covariates. Beyond the public range the curve is taken at its edge; a row that
            cannot be encoded gets NaN.
        interval : {None, "confidence"}
            None gives a Series; otherwise a frame with R's columns fit, lwr, upr. Intervals cover the
            privacy noise and the sampling error, not the bias of smoothing.
        level : float
        """
        if interval is not None and not one_of(interval, ("none", "confidence")):
            raise ArgumentError(f"interval must be None or 'confidence', not {shown(interval)}.")
        if newdata is None:
            raise NotReleasedError(
                "predict() needs newdata: fitted values of the private rows are not released. The "
                "released curve itself is .curve."
            )
        with naming("newdata"):
            x, _ = design_matrix(self.design, newdata)
        index = newdata.index if isinstance(newdata, pd.DataFrame) else None
        z = x[:, 1:] / self.setting.smoothing.bandwidth
        alive = np.isfinite(z).all(axis=1)
        fit, sd = np.full(len(z), np.nan), np.full(len(z), np.nan)
        plain = interval in (None, "none")
        if alive.any():
            prediction = self._at(z[alive], errors=not plain)
            fit[alive] = prediction.value
            sd[alive] = np.hypot(prediction.noise_sd, prediction.sampling_sd)
        if plain:
            return pd.Series(fit, index=index, name="fit")
        half = quantile(level) * sd
        return pd.DataFrame({"fit": fit, "lwr": fit - half, "upr": fit + half}, index=index)

    def tidy(self) -> pd.DataFrame:
        """The curve in broom's words: covariates, estimate, std_error, conf_low, conf_high."""
        names = {"fit": "estimate", "lwr": "conf_low", "upr": "conf_high"}
        return self.curve.rename(columns=names)

    def glance(self) -> pd.DataFrame:
        """One row that describes the fit as a whole."""
        sizes = {f"bandwidth_{name}": [h] for name, h in self.bandwidth.items()}
        own = {"nodes": [len(self.setting.nodes)], "released": [self.released]}
        return pd.DataFrame(sizes | own | self._glance_items())

    def _curve_table(self, main: bool = False) -> Table:
        low, high = limit_names(0.95)
        names = {"std_error": "std. error", "lwr": low, "upr": high}
        return curve_table(self.curve.rename(columns=names), main)

    @property
    def _bandwidths(self) -> str:
        sizes = ", ".join(f"{name} {format_scalar(h, 3)}" for name, h in self.bandwidth.items())
        return sizes + (" (chosen on public rows)" if self.setting.chosen else "")

    def _printed(self) -> Page:
        bandwidth = KeyValues((("Bandwidth", self._bandwidths),))
        parts = (bandwidth, Heading("Curve"), self._curve_table())
        return printed(self.call, parts, self.privacy, self.notes)

    def summary(self) -> Page:
        """The curve with the privacy spent, the error's parts and diagnostics."""
        terms, degree = (
            len(self.setting.centre.powers),
            max(sum(p) for p in self.setting.centre.powers),
        )
        polynomial = f"a public polynomial of degree {degree} ({terms} terms)"
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
