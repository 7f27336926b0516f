"""Averages of predictions, slopes and comparisons over private rows: a release with its own total.

A call goes as every other does (`dpstats.call`). Values whose range follows from the coefficients are
cut nowhere: a logit's slope lies within |b|/4. Of others a part of the total finds where they lie
(`dpstats.column_search`) and how long their tails are; then sums are released, and averages follow.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import in_prose, returning_text
from dpstats.arrays import Floats
from dpstats.budget.budget import Budget
from dpstats.call import Call
from dpstats.column_search.releases import ColumnSession
from dpstats.column_search.scales import find_scales
from dpstats.errors import ArgumentError
from dpstats.frame import Design, SpentOn
from dpstats.margins.contrasts import Asked
from dpstats.margins.lines import ResponseScale, Task, of_response, spreads, task_of
from dpstats.margins.new_rows import margins_page
from dpstats.margins.releases import AverageSession, AverageShares, ReleasedSums
from dpstats.margins.rows import Cuts, ValueSource
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.numerics.histogram import LogHistogram
from dpstats.public_input import both_together, same_unit
from dpstats.report.estimates import Plotted
from dpstats.report.format import format_scalar
from dpstats.report.frames import WholeFrame
from dpstats.report.model import diagnostics_table, privacy_blocks, privacy_line
from dpstats.report.privacy import PrivacyStatement
from dpstats.report.released import Diagnostic, Released
from dpstats.report.result import Coefficients, law_letter, quantile, two_sided
from dpstats.report.table import Page
from dpstats.report.texts import Heading, Paragraph, Preformatted
from dpstats.score_rounds.cuts import Seen, cut_for_intervals
from dpstats.score_rounds.notes import later_rows_named, not_used
from dpstats.score_rounds.tails import tail_of

Mask = NDArray[np.bool_]

_LENGTHS, _GRADIENTS, _COUNTS, _SQUARES = 0.05, 0.08, 0.03, 0.06
"""Shares of the total, or of what a search has left of it; the values have the rest."""
_LEAST = 100.0
"""n mu, for each root of a line, below which a search would find little but noise."""
_FAR = 3.0
"""Where gradients are cut, in 90 % quantiles."""
_WINDOW = (-3, 17)
"""Octaves, in scales, in which values are counted by their distance from the location."""
_NORMAL90 = 1.645
_CARE = 2.0
"""Weight of what a cut may move, beside noise: tails of values are on one side as a rule."""
_NOTED, _MUCH = 1.0, 0.06
"""What a cut moves at most, in standard errors and of an average, from which it is spoken of."""
_COUNTED = 1 / 3
"""Share of it that standard errors count, if more is not expected."""
_STREAM = 1
"""Of seeded noise: a fit before has the same seed as a rule, and errors are added up."""


class ReleaseOptions(TypedDict, total=False):
    """What pays for averages of private rows, and how these are read; as in `dp_lm`."""

    mu: float | None
    rho: float | None
    epsilon: float | None
    delta: float | None
    budget: Budget | None
    rows_per_person: int | None
    person: str | None
    executor: Executor | None
    progress: bool | None
    seed: int | None


@dataclass(frozen=True)
class Fitted:
    """What is read of a fit: all of it released or public."""

    design: Design
    coefficients: Coefficients
    scale: ResponseScale
    moments: Floats
    privacy: PrivacyStatement
    perhaps_marks: frozenset[str] = frozenset()


@dataclass(frozen=True, repr=False, eq=False)
class PrivateMargins(Plotted, Released):
    """Averages over private rows, with the privacy that they cost beside their fit.

    Attributes
    ----------
    frame : DataFrame
        A line for each average: its estimate, error and interval.
    title : str
    privacy : PrivacyStatement
        Of this call alone.
    n : int
        Private rows.

    See Also
    --------
    LinearModel.predictions, LinearModel.slopes, LinearModel.comparisons : What makes one.
    """

    _other_names: ClassVar[dict[str, str]] = Released._other_names | dict.fromkeys(
        ("confint", "conf_int", "ci"), "tidy(): conf_low and conf_high"
    )
    _instead_of_rows = ""
    call: str
    title: str
    frame: pd.DataFrame
    privacy: PrivacyStatement
    n: int
    details: tuple[Diagnostic, ...]
    notes: tuple[str, ...]
    law: str = "z"
    method: str = "average"
    m: None = None
    error: tuple[()] = ()

    def _printed(self) -> Page:
        table = margins_page(self.frame, self.title, self.law).parts
        notes = [Paragraph(f"Note: {note}") for note in self.notes]
        return Page((*table, Preformatted(privacy_line(self.privacy)), *notes))

    def _summary(self) -> Page:
        """The averages, the privacy that they cost, and diagnostics."""
        return Page(
            (
                Heading("Call"),
                Preformatted(self.call),
                *margins_page(self.frame, self.title, self.law).parts,
                *[Paragraph(f"Note: {note}") for note in self.notes],
                *privacy_blocks(self.privacy),
                Heading("Diagnostics"),
                diagnostics_table(self.details),
            )
        )

    @returning_text
    def to_markdown(self) -> str:
        """The page as Markdown."""
        return str(self._printed().to_markdown())

    def tidy(self) -> pd.DataFrame:
        """A copy of ``frame``."""
        return self.frame.copy()

    def glance(self) -> pd.DataFrame:
        """One row: n and privacy in its units."""
        return WholeFrame(self._glance_items())


def private_averages(
    fit: Fitted,
    data: Any,
    what: str,
    variables: Asked,
    level: float,
    options: ReleaseOptions,
) -> PrivateMargins:
    """Averages over private rows, at the cost that ``options`` name."""
    freedom = fit.coefficients.freedom
    half = quantile(level, freedom)
    call = _call(fit.privacy.protected, what, options)
    task, left_out = _task(fit, what, variables)
    given: dict[str, Any] = {**call.given}
    told = {line.labels["term"] for line in task.lines if line.labels}
    asked = {name: how for name, how in variables.items() if name in told}
    if asked:
        plain = all(how is None for how in asked.values())
        given["variables"] = list(asked) if plain else asked
    with call.charged(call.text(fit.design.formula, given), data) as charged:
        rows = charged.rows(task.changes)
        _check_size(rows.n, task, call)
    found, session = _averages(task, rows, call.per_row, call.noise(_STREAM))
    found = found.clustered(call.unit)
    statement = charged.statement(session.releases, session.seeded or fit.privacy.seeded)
    frame = found.frame(task, half, freedom, tested=what != "predictions")
    notes = (
        *left_out,
        *(_raised_note(fit, asked) if what == "comparisons" else ()),
        *found.notes,
        *_unused(found, rows.n, fit.design, call.unit),
        *_together(fit.privacy, statement, call.unit),
        *charged.notes(rows.n, None),
    )
    title = f"Average {what}{of_response(fit.design)} over {rows.n} private rows"
    made = PrivateMargins(
        charged.text, title, frame, statement, rows.n, found.details, notes, law_letter(freedom)
    )
    return charged.released(made)


def _raised_note(fit: Fitted, asked: Asked) -> tuple[str, ...]:
    """A note on numbers that were raised by one, and may be zero or one."""
    names = [name for name, how in asked.items() if how is None and name in fit.perhaps_marks]
    if not names:
        return ()
    first = ", ".join(f"`{name}`" for name in names)
    what = "is" if len(names) == 1 else "are"
    return (
        f"{first} {what} raised by one in every row. Of a number that is zero or one ask for both: "
        f"comparisons(variables={{'{names[0]}': (0, 1)}}).",
    )


def _call(unit: PrivacyUnit, what: str, options: ReleaseOptions) -> Call[Any]:
    """The call; who is protected is as in the fit, unless it is said otherwise."""
    rest: dict[str, Any] = dict(options)
    given = {name: rest.pop(name, None) for name in ("mu", "rho", "epsilon", "delta")}
    person = rest.pop("person", None) or unit.person
    rows = rest.pop("rows_per_person", None)
    if rows is None:
        if unit.rows is None:
            raise ArgumentError(
                f"the fit protects all rows of a person, by `{unit.person}`; averages use only the "
                "first rows of each, and their noise grows with that number: give "
                "rows_per_person=."
            )
        rows = unit.rows
    return Call.gaussian(what, given, rows_per_person=rows, person=person, **rest)


def _task(fit: Fitted, what: str, variables: Asked) -> tuple[Task, tuple[str, ...]]:
    """The lines whose values differ between rows, and a note on the others."""
    covariance = fit.coefficients.vcov_of_others
    if not fit.coefficients.known:
        raise ArgumentError(
            "the fit has coefficients without a standard error: fit again without their terms, or with "
            "fewer or broader levels."
        )
    # columns of every unit keep their digits
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    root = size[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    units = spreads(fit.design, fit.moments)

    def made(asked: Asked) -> Task:
        return task_of(fit.design, fit.coefficients.coef, root, fit.scale, what, asked, units)

    if what == "predictions":
        return made({}), ()
    each = {name: made({name: how}).lines for name, how in variables.items()}
    alike = [name for name, lines in each.items() if all(line.constant for line in lines)]
    if len(alike) == len(variables):
        raise ArgumentError(
            f"these {what} are the same in every row: fit.{what}(newdata) gives them, at no cost, "
            "for any rows that you may show."
        )
    note = f"The {what} of {', '.join(alike)} are the same in every row, and cost nothing: "
    note += f"fit.{what}(newdata) gives them for any rows that you may show."
    others = {name: how for name, how in variables.items() if name not in alike}
    return made(others), (note,) if alike else ()


def _check_size(n: int, task: Task, call: Call[Any]) -> None:
    """Refuse, before a row is read, what would be little but noise."""
    k = len(task.lines)
    least = _LEAST * math.sqrt(k)
    mu = call.per_row.mu
    if n * mu < least:
        several = k > 1
        raise ArgumentError(
            f"{n} private rows at mu = {in_prose(mu, 3)} are too few for {k} average{'s' * several}: "
            f"{'they' if several else 'it'} would be little but noise. mu = {in_prose(least / n, 3)} "
            f"would do, or {math.ceil(least / mu)} rows{', or fewer variables' * several}."
        )


@dataclass(frozen=True)
class _Found:
    """Released averages, and the parts of their variances."""

    mean: Floats
    privacy: Floats
    sampling: Floats
    coefficients: Floats
    lost: Floats
    used: float
    count_sd: float
    details: tuple[Diagnostic, ...]
    notes: tuple[str, ...]

    def clustered(self, unit: PrivacyUnit) -> _Found:
        """With rows of one person taken to be alike: no sampling of persons varies more.

        A mean over clusters of at most k rows has a variance of at most k times that of as many
        independent rows. Which rows are whose is not known where values are added up.
        """
        rows = unit.rows
        if rows is None or rows == 1:
            return self
        note = (
            f"Standard errors take the {rows} rows of a person to be alike, as no others vary more from "
            "sample to sample: they are too long where rows of one differ. rows_per_person=1 has errors "
            "of independent rows."
        )
        return replace(self, sampling=rows * self.sampling, notes=(*self.notes, note))

    def frame(self, task: Task, half: float, freedom: float, tested: bool) -> pd.DataFrame:
        """A line for each average."""
        error = np.sqrt(self.privacy + self.sampling + self.coefficients + self.lost**2)
        error = np.where(np.isnan(self.mean), np.nan, error)
        frame = pd.DataFrame([line.labels for line in task.lines])
        frame["estimate"], frame["std_error"] = self.mean, error
        if tested:
            frame["statistic"] = self.mean / error
            frame["p_value"] = two_sided(frame.statistic, freedom)
        return frame.assign(conf_low=self.mean - half * error, conf_high=self.mean + half * error)


def _averages(
    task: Task, rows: RowSource, total: Any, noise: Noise
) -> tuple[_Found, AverageSession]:
    """Spend the total on the averages of the lines."""
    k = len(task.lines)
    source = ValueSource(task.compute, rows)
    centre, scale = np.zeros(k), np.ones(k)
    unknown = [j for j, line in enumerate(task.lines) if line.bounds is None]
    for j, line in enumerate(task.lines):
        if line.bounds is not None:
            low, high = line.bounds
            centre[j], scale[j] = (low + high) / 2, (high - low) / 2 or 1.0
    before, lost_way = None, np.zeros(k, dtype=bool)
    if unknown:
        with ColumnSession(source, unknown, False, total, noise) as before:
            seen, columns = find_scales(before, len(unknown), {})
        for j, one in zip(unknown, columns, strict=True):
            # where most rows have the same value, or none that counts, no scale is seen
            lost_way[j] = not one.scale or seen < rows.n / 2
            centre[j] = one.location
            scale[j] = one.scale or 1e-3 * (abs(one.location) or 1.0)
    with AverageSession(source, k, total, noise, after=before) as session:
        share = _LENGTHS if unknown else _LENGTHS / 2
        # gradients are measured in errors of the coefficients: of about any size
        windows = [*[(-120, 160)] * k, *[_WINDOW for _ in unknown]]
        histograms = session.lengths(share, centre, scale, unknown, windows)
        gradients, lengths = histograms[:k], histograms[k:]
        shares = AverageShares(
            1 - share - _SQUARES - _GRADIENTS - _COUNTS, _SQUARES, _GRADIENTS, _COUNTS
        )
        half, lost, most = scale.copy(), np.zeros(k), np.zeros(k)
        mu = session.total.mu * math.sqrt(shares.values / k)
        for j, histogram in zip(unknown, lengths, strict=True):
            half[j], lost[j], most[j] = scale[j] * np.array(_cut(histogram, rows.n, mu))
        usual = [one.quantile(0.9) for one in gradients]
        longest = np.array(
            [
                one.peak() if far is None else _FAR * far
                for one, far in zip(gradients, usual, strict=True)
            ]
        )
        sums = session.sums(shares, Cuts(centre, half, longest))
    return _found(sums, rows.n, centre, half, (lost, most), lost_way), session


def _cut(lengths: LogHistogram, n: int, mu: float) -> tuple[float, float, float]:
    """Where values are cut, in scales, and what that takes off their mean: as errors count it, at most.

    Noise and twice what may be lost are smallest together, as for the scores of a fit.
    """
    tail = tail_of(lengths, _NORMAL90, n)
    cut = cut_for_intervals(tail, n, 1, mu, _CARE)
    most = Seen(lengths, tail, n).lost(cut)[1]
    return cut.length, max(cut.excess, _COUNTED * most), most


def _found(
    sums: ReleasedSums,
    n: int,
    centre: Floats,
    half: Floats,
    moved: tuple[Floats, Floats],
    lost_way: Mask,
) -> _Found:
    """Averages and variances, from released sums; ``moved`` by cuts, as errors count it and at most."""
    lost, most = moved
    used = min(max(sums.used, 0.05 * n), float(n))
    off = np.clip(sums.values / used, -half, half)
    privacy = (sums.values_sd**2 + (off * sums.count_sd) ** 2) / used**2
    # a square that noise makes small is taken to be larger by that noise
    spread = np.clip((sums.squares + sums.squares_sd) / used - off**2, 0.0, half**2)
    sampling = spread / used
    coefficients = ((sums.gradients / used) ** 2).sum(axis=1)
    error = np.sqrt(privacy + sampling + coefficients)
    empty = 1 - sums.used / n
    details = (
        Diagnostic("empty rows", empty, sums.count_sd / n, "share that cannot be used"),
        Diagnostic(
            "cut rows", sums.cut / n, sums.count_sd / n, "share with a value beyond the cut"
        ),
        *[
            Diagnostic(
                f"noise of line {j + 1}" if len(half) > 1 else "noise of the average",
                float(math.sqrt(variance)),
                None,
                "standard deviation of the noise for privacy; values are cut to "
                f"{format_scalar(float(centre[j]), 3)} +- {format_scalar(float(half[j]), 3)}",
            )
            for j, variance in enumerate(privacy)
        ],
    )
    notes: tuple[str, ...] = ()
    if lost_way.any():
        notes += (
            "No average is given where most rows have the same value, such as zero: the size of "
            "the others could not be found. Use rows that you may show: newdata=.",
        )
    noted = (most > np.maximum(_NOTED * error, _MUCH * np.abs(centre + off))) & ~lost_way
    if noted.any():
        worst = float((most / error)[noted].max())
        notes += (
            "Values have a long tail, or noise may hide one: cutting it may have moved an average "
            f"towards most values by {in_prose(worst)} standard errors, and by more if a few values "
            "are most of it. A larger budget helps, or rows that you may show: newdata=.",
        )
    mean = np.where(lost_way, np.nan, centre + off)
    counted = sums.used, sums.count_sd
    return _Found(mean, privacy, sampling, coefficients, lost, *counted, details, notes)


def _unused(found: _Found, n: int, design: Design, unit: PrivacyUnit) -> tuple[str, ...]:
    """Notes where rows are not used, and why."""
    return later_rows_named(not_used(found.used, found.count_sd, n, design, alone=False), unit)


def _together(fit: PrivacyStatement, own: PrivacyStatement, unit: PrivacyUnit) -> tuple[str, ...]:
    """What the fit and its averages cost together, where they are of the same rows."""
    rows = fit.protected.rows
    if rows is None or fit.protected.jointly:
        whose = "all rows of a person" if rows is None else "a person whose rows it sums up"
        return (
            f"The fit protects {whose}, and treats only the number of persons as public; here the "
            "number of rows is public as well. The two costs do not simply add up.",
        )
    spent = SpentOn(fit.mu, rows, fit.protected.person)
    both = both_together(spent, own.mu, unit)
    if both is None or math.isnan(both) or (fit.slack and not same_unit(spent, unit)):
        return ("This cost is added to that of the fit if both use the same rows.",)
    slack = f" up to delta0 = {format_scalar(fit.slack, 3)}" if fit.slack else ""
    return (
        f"For the rows of the fit, the two together have cost mu = {format_scalar(both, 4)}{slack}.",
    )
