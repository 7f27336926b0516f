"""Which numbers of a row are averaged, and what is known of them before a row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.frame import Change, Changes, Design
from dpstats.frame.formula.grammar import STEPS
from dpstats.margins.contrasts import Asked, Contrast, contrasts_of
from dpstats.margins.rows import Lines, Mean

_STEP = 1e-4
"""Half the step of a slope, as a share of the number."""


@dataclass(frozen=True)
class ResponseScale:
    """The mean of a response, from the linear predictor.

    Attributes
    ----------
    mean : callable
    link : str
    binary : bool
        Whether means lie between 0 and 1.
    """

    mean: Mean
    link: str = "identity"
    binary: bool = False

    @property
    def steepest(self) -> float | None:
        """The largest derivative of the mean, where there is one: a quarter for a logit."""
        known = {"logit": 0.25, "probit": 1 / math.sqrt(2 * math.pi), "cloglog": 1 / math.e}
        return {**known, "identity": 1.0}.get(self.link)

    def farthest(self, change: float) -> float | None:
        """The largest difference of means, for a change of the linear predictor."""
        if self.link == "identity":
            return change
        if self.link == "logit":  # largest about 0, by symmetry: 2 L(t/2) - 1
            return math.tanh(change / 4)
        if self.link == "probit":
            return float(2 * special.ndtr(change / 2) - 1)
        return math.copysign(1.0, change) if self.binary else None


def of_response(design: Design) -> str:
    """The response, for a title, where it is a function of a column, such as a logarithm."""
    response = design.response
    return "" if response is None or response in design.columns else f" of {response}"


@dataclass(frozen=True)
class Averaged:
    """One line of a table of averages.

    Attributes
    ----------
    labels : dict
        Term and contrast; empty of a prediction.
    bounds : pair of float or None
        Between which the value of every row lies; None: not known.
    """

    labels: dict[str, str]
    bounds: tuple[float, float] | None

    @property
    def constant(self) -> bool:
        """Whether every row has the same value."""
        return self.bounds is not None and self.bounds[0] == self.bounds[1]


@dataclass(frozen=True)
class Task:
    """Lines, and how they are computed of a row."""

    lines: tuple[Averaged, ...]
    changes: Changes
    compute: Lines


def spreads(design: Design, moments: Floats) -> dict[str, float]:
    """Standard deviations of columns that stand in the design by themselves, by released moments."""
    out = {}
    for name, j in design.bare.items():
        square = float(moments[j, j])
        if design.constant is not None:
            c = design.constant
            whole = float(moments[c, c])
            square -= float(moments[c, j]) ** 2 / whole if whole > 0 else 0.0
            square /= whole if whole > 0 else 1.0
        out[name] = math.sqrt(square) if square > 0 and math.isfinite(square) else 1.0
    return out


def require_slope(design: Design, name: str) -> None:
    """Raise where a number enters the formula by steps: it has no slope there."""
    read = [(text, factor.expr) for text, factor in design.factors.items()]
    read += zip(design.offsets, design.offset_factors, strict=True)
    for text, expr in read:
        for node in expr.walk():
            if node.op in STEPS and name in node.columns:
                raise ArgumentError(
                    f"`{name}` enters in steps, `{text}`, and has no slope: comparisons() shows "
                    "the effect of one more; or name other columns, variables=['x']."
                )


def task_of(
    design: Design,
    coef: Floats,
    root: Floats,
    scale: ResponseScale,
    what: str,
    asked: Asked,
    units: dict[str, float],
) -> Task:
    """The lines of predictions, slopes or comparisons."""
    lines: list[Averaged] = []
    every: list[Change] = []
    widths: list[int] = []
    pairs: list[tuple[int | None, int, int | None]] = []

    def encoding(change: Change | None) -> int:
        """Which encoding a changed row is: the first is that of the row as it is."""
        if change is None:
            return 0
        if change not in every:
            every.append(change)
        return 1 + every.index(change)

    if what == "predictions":
        lines.append(Averaged({}, (0.0, 1.0) if scale.binary else None))
        pairs.append((None, 0, None))
    for name, how in asked.items():
        if what == "slopes" and design.columns[name].levels is None:
            require_slope(design, name)
            unit = units.get(name, 1.0)
            ends = [encoding(Change(name, relative=s * _STEP, unit=unit)) for s in (-1, 1)]
            pairs.append((ends[0], ends[1], len(widths)))
            widths.append(ends[1] - 1)
            bounds = _of_slope(scale, _by_one(design, coef, name))
            lines.append(Averaged({"term": name, "contrast": "dY/dX"}, bounds))
            continue
        for one in contrasts_of(design, name, how):
            pairs.append((encoding(one.low), encoding(one.high), None))
            bounds = _of_change(scale, _added(design, coef, one))
            lines.append(Averaged({"term": name, "contrast": one.label}, bounds))
    compute = Lines(coef, root, scale.mean, tuple(pairs), 1 + len(every))
    return Task(tuple(lines), Changes(design, tuple(every), tuple(widths)), compute)


def _added(design: Design, coef: Floats, contrast: Contrast) -> float | None:
    """What a comparison adds to every linear predictor; None where that differs by row."""
    if design.columns[contrast.name].levels is not None:
        assert contrast.low is not None
        return _between_levels(design, coef, contrast.name, contrast.low, contrast.high)
    one = _by_one(design, coef, contrast.name)
    return None if one is None else one * contrast.step


def columns_read(design: Design) -> list[set[str]]:
    """Columns of the table that each column of the design reads."""
    return [
        {name for text, _ in column.parts for name in design.factors[text].expr.columns}
        for column in design.program
    ]


def _alone(design: Design, name: str) -> list[int] | None:
    """Columns of the design that read a column of the table, where none of them reads another."""
    if any(name in factor.columns for factor in design.offset_factors):
        return None
    found = {j: read for j, read in enumerate(columns_read(design)) if name in read}
    if any(len(design.program[j].parts) > 1 or read != {name} for j, read in found.items()):
        return None
    return list(found)


def _by_one(design: Design, coef: Floats, name: str) -> float | None:
    """What one more of a number adds to every linear predictor; None where that differs by row."""
    if _alone(design, name) != [design.bare.get(name)]:
        return None
    return float(coef[design.bare[name]])


def _between_levels(
    design: Design, coef: Floats, name: str, low: Change, high: Change
) -> float | None:
    """What a level adds to every linear predictor, beside another; None where that differs."""
    at = _alone(design, name)
    if at is None:
        return None
    total = 0.0
    for j in at:
        text, part = design.program[j].parts[0]
        coding = design.factors[text].fields.coding
        if coding is None:
            return None
        codes = np.asarray(coding[part], dtype=float)
        total += float(coef[j] * design.program[j].scale * (codes[high.level] - codes[low.level]))
    return total


def _of_change(scale: ResponseScale, eta: float | None) -> tuple[float, float] | None:
    """Between which a difference of means lies."""
    if eta is None:
        return (-1.0, 1.0) if scale.binary else None
    far = scale.farthest(eta)
    if far is None:
        return None
    return (far, far) if scale.link == "identity" else (min(far, 0.0), max(far, 0.0))


def _of_slope(scale: ResponseScale, eta: float | None) -> tuple[float, float] | None:
    """Between which the derivative of a mean lies."""
    if eta is None or scale.steepest is None:
        return None
    far = scale.steepest * eta
    return (far, far) if scale.link == "identity" else (min(far, 0.0), max(far, 0.0))
