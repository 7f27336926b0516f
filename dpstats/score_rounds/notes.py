"""Notes and diagnostics of several models: rows that are not used, tails and directions out of sight."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import in_prose, listed
from dpstats.arrays import Floats
from dpstats.frame import Design, PublicMoments
from dpstats.numerics.histogram import SURE
from dpstats.report.released import Diagnostic
from dpstats.score_rounds.estimate import Estimate, Moved
from dpstats.score_rounds.releases import RowSummary

_NAMED = 3
_HIDDEN = 0.004
"""Share of the rows, as noise of a count, from which tails are out of sight: with less noise than that
intervals of lognormal and exponential errors cover."""
_CLEAR = 5.0
"""Standard errors that cuts are expected to have moved, from which a tail is there to be seen: of normal
errors the noise of counts makes up to 4."""
_OTHERWISE = 15.0
"""Condition number of whitened moments from which public rows are poor coordinates."""
_TWICE = 2.0
"""Times as far from its public size as any other column, from where one may have another unit."""
CUT_ALLOWANCE = "cut allowance"
MOSTLY = 0.5
"""Share of a printed variance that allows for cuts, from which cuts are what the interval is about."""
MEAN_MOSTLY, MEAN_FAR = 0.6, 2.5
"""Of means: the same share; and errors, of what cuts hardly take off, from which on rows that nobody
sees are spoken of."""
_SEEN = 0.1
"""Share of such a variance from which it is said what makes it less."""
_SEEN_LEANING = 0.005
"""Share of a variance below which nobody needs to know of long scores that point one way."""
UNUSED = "of the private rows are not used:"
_UNUSED_LEAST = 0.02
_OF_PERSONS, _WITH_UNUSED = 0.1, 0.2
"""Share of rows that do not count, for sure, from which it is said."""
_MORE = 2.5
"""Noise standard deviations by which more scores were cut than foreseen; by chance in 1 fit of 160."""
_OUTSIDE, _OVERWEIGHT, _HEAVY = 0.002, 0.03, 5.0
"""Shares of rows beyond declared limits, and of weights above a bound of public rows, that are said."""


_PARTIAL = ("log", "log2", "log10", "log1p", "sqrt")
"""Functions of formulas that have no value for some numbers."""
TOO_LITTLE = (
    "The rows hold too little information for a fit: hardly any can be used, or their responses "
    "hardly differ, or are too large to square. No coefficients are given. Look at missing values, at "
    "levels that were not declared, and at limits that most values exceed.",
)


def all_alike(location: float, others: float, response: str | None) -> tuple[str, ...]:
    """Why there is no fit of responses of which no more than the share ``others`` seems to differ."""
    helps = "More rows or a larger budget help."
    if location in (0, 1):
        limits = f"limits={{{response!r}: (0, 1)}}" if response else "limits= of the response"
        helps = (
            f"Of zeros and ones {limits} says by how much, and dp_glm() with family='binomial' is made "
            "for them; else more rows or a larger budget help."
        )
    return (
        f"Next to all responses seem to be {in_prose(location)}: noise hides whether up to "
        f"{in_prose(100 * others, 2)}% are others, and by how much. No coefficients are given. {helps}",
    )


def average_condition(matrix: Floats) -> float | None:
    """(1/d) sum lambda_i / lambda_min, None unless positive definite."""
    values = np.linalg.eigvalsh(matrix)
    return float(values.mean() / values[0]) if values[0] > 0 else None


_LEFT_OUT = (
    "The public rows were left out, and what they would have told was found in the private ones, as "
    "without public rows."
)
FAR_FROM_PUBLIC = (
    "Private rows lie far from the public ones, or vary far less than these in some direction: other "
    f"units, or another population. {_LEFT_OUT}",
)
FEW_FAR = (
    "A few public rows lie so far out that they are most of what public rows vary by in some direction, "
    f"and private rows vary far less there: codes for missing values, or a long tail. {_LEFT_OUT}",
)
_LEARNT = (
    "What bs(), poly() or scale() in the formula have learnt is still of the public rows: predictions "
    "are off where private rows lie outside these. Without public=, limits= says where they lie.",
)


def few_have(mark: str) -> tuple[str, ...]:
    """Why public rows are left out, of which few have a mark."""
    return (f"Few public rows have `{mark}`, and hardly tell of its slopes. {_LEFT_OUT}",)


def left_out_note(design: Design, why: tuple[str, ...] = FAR_FROM_PUBLIC) -> tuple[str, ...]:
    """Notes why public rows were no guide, and on what is still taken from them."""
    return why + (_LEARNT if design.states else ())


def size_note(terms: Sequence[str], times: Floats) -> tuple[str, ...]:
    """Which one column is out of proportion in private rows, ``times`` as large as in public ones."""
    apart = np.abs(np.log(np.where(times > 0, times, 1.0)))
    most = int(np.argmax(apart))
    if apart[most] < np.log(_TWICE) + np.delete(apart, most).max(initial=0.0):
        return ()
    return (
        f"In private rows `{terms[most]}` is about {in_prose(times[most])} times as large as in public "
        "ones, more out of proportion than other columns: check its unit.",
    )


def coordinates_note(after: float | None) -> tuple[str, ...]:
    """A note where private columns vary far otherwise than public ones, by the whitened moments."""
    if after is None or after < _OTHERWISE:
        return ()
    return (
        "Private columns vary far more, or far less, than public ones (condition after "
        f"{in_prose(after)}): privacy noise is larger than it needs to be, and may leave no standard "
        "errors. Check that both have the same units; else use a public sample that is more like the "
        "private rows, or none.",
    )


def hardly_seen_note(columns: Sequence[str]) -> tuple[str, ...]:
    """A note on columns in which private rows vary far less than public ones."""
    return (
        f"Noise hides how much private rows vary in {listed(columns, '`', 6)}, or "
        "they vary far less than public ones there, as where these are in other units or a few of them "
        "far out. Coefficients are near those of the public rows and not to be quoted, and no standard "
        "errors are given. More rows or budget help; else check the units and codes of both, or leave "
        "the public rows out.",
    )


def matrix_notes(matrix: str, verb: str, positive: bool, resolved: bool) -> tuple[str, ...]:
    """What a reader must know of the released matrix before the digits."""
    out = []
    if not positive:
        out.append(
            f"The released {matrix} {verb} NOT positive definite: the privacy noise is as large as the "
            "information in some direction."
        )
    if not resolved:
        out.append(
            f"Standard errors are not given: in some direction the noise of the released {matrix} "
            "drowns the design. Ask for a larger budget, more rows, or fewer columns; check that public "
            "rows, if there are any, are in the units of the private ones."
        )
    return tuple(out)


def ridge_note(ridge: float) -> tuple[str, ...]:
    """A note on the bias of a ridge."""
    if ridge <= 0:
        return ()
    return (
        "Ridge estimates are shrunk towards zero, the intercept too: standard errors describe "
        "their spread, not that bias.",
    )


def out_of_sight(noise_sd: float, n: int) -> bool:
    """Whether the noise of a histogram hides so many rows that skewed errors would not be seen."""
    return noise_sd > _HIDDEN * n


def tail_note(
    terms: Sequence[str],
    moved: Moved,
    share: float,
    allowed: float,
    formula: str = "",
    *,
    in_sight: bool = True,
    families: bool = True,
) -> tuple[str, ...]:
    """Where what was cut may move coefficients by more than their intervals allow for.

    ``share`` says how many scores were cut; from ``allowed`` standard errors on, of what the cuts
    hardly exceed, a note is printed. It says that noise may hide a tail where counts show little of
    one and do not exclude it, or are not ``in_sight``; and names other ``families`` where a function has
    some. Intervals allow for what is expected beyond a cut
    (`allowance_line`); they fail where more is there, as a few rows that noise hides.
    """
    doubtful = moved.most > allowed
    if not doubtful.any():
        return ()
    most, worst = float(np.max(moved.expected[doubtful])), float(np.max(moved.most[doubtful]))
    named = listed([terms[k] for k in np.argsort(-moved.most) if doubtful[k]], "`", _NAMED)
    cut = f"{in_prose(100 * share)}%" if share > 1e-4 else "a few"
    clear, helps = in_sight and most > _CLEAR, "A larger budget helps."
    rare = any("[T." in term for term in terms)
    if not _is_logarithm(formula):
        other = "a logarithm of the response, where it is positive" + (
            ", or another family" if families else ""
        )
        helps = (
            f"{other.capitalize()}, or a larger budget, helps."
            if clear
            else f"More rows or a larger budget would show whether there is one; if so, {other} helps."
        )
    whose = "residuals, or of rows of rare levels" if rare else "residuals"
    seen = f"There is a long tail of {whose}" if clear else f"Noise may hide a long tail of {whose}"
    return (
        f"{seen}: cutting {cut} of the scores may have moved {named} by {in_prose(most)} standard "
        f"errors, at the worst by {in_prose(worst)}. {helps}",
    )


def allowance_line(terms: Sequence[str], moved: Floats, widening: float) -> tuple[Diagnostic, ...]:
    """How much of a printed variance allows for what cutting may have moved, at most."""
    share = np.minimum((widening * moved) ** 2, 1.0)
    if widening <= 0 or not len(share):
        return ()
    if np.isnan(share).all():
        return (Diagnostic(CUT_ALLOWANCE, None, None, "there are no standard errors"),)
    most = int(np.nanargmax(share))
    note = (
        f"share of a printed variance, at most (`{terms[most]}`), that allows for what cuts moved"
    )
    if share[most] > _SEEN:
        note += "; a larger budget, or a response with a shorter tail, shortens intervals"
    return (Diagnostic(CUT_ALLOWANCE, float(share[most]), None, note),)


def leaning_line(
    terms: Sequence[str], moved: Floats | None, estimate: Estimate
) -> tuple[Diagnostic, ...]:
    """Where long scores point one way: for which coefficient, and what of its error allows for that.

    ``moved``: by how much their cuts may have moved coefficients; None where they point to all sides.
    """
    if moved is None or len(terms) != len(estimate.coef):
        return ()
    share = moved**2 / np.diag(estimate.vcov)
    if not np.nanmax(share, initial=0.0) > _SEEN_LEANING:
        return ()
    most = int(np.nanargmax(share))
    name = terms[most]
    note = f"share of the variance of `{name}` that allows for long scores, which point one way"
    if name != "Intercept" and "[T." not in name:
        note += (
            "; if it has many values, and the mean is not linear in it, a logarithm or a spline "
            "shortens intervals"
        )
    return (Diagnostic("leaning scores", min(float(share[most]), 1.0), None, note),)


def unseen_line(noise_sd: float, persons: str | None = None) -> tuple[Diagnostic, ...]:
    """How many rows, or persons, far from all others noise may hide: no interval or note knows of them.

    Of counts, more than `SURE` noise standard deviations are hardly ever noise.
    """
    who = "rows" if persons is None else "persons"
    note = f"far {who} that noise may hide: an interval is wrong where so few decide"
    return (Diagnostic(f"unseen {who}", float(round(SURE * noise_sd)), None, note),)


def hidden_note(
    terms: Sequence[str],
    unknown: NDArray[np.bool_],
    nothing: NDArray[np.bool_] | None,
    *,
    within: bool = False,
) -> tuple[str, ...]:
    """Where coefficients lean on directions that the noise hides, or on columns that are not there.

    ``nothing``: those, of a fit without public rows; ``within``: effects of persons are taken out.
    """
    absent = np.zeros(len(terms), dtype=np.bool_) if nothing is None else nothing
    notes = []
    if absent.any() and within:
        notes.append(
            f"Within persons hardly any row seems to differ in {_some(terms, absent)}: their effects "
            "absorb it, or too few persons have it for this budget. It is left out, with a coefficient "
            "of zero; of a factor, as of years, the others have no errors, since they are differences "
            "from the reference and what is left out together."
            + _as_marks(terms, absent, "persons")
        )
    elif absent.any():
        notes.append(
            f"Hardly any row seems to differ in {_some(terms, absent)}: left out, with a "
            "coefficient of zero. Others are those of a fit without it: the constant has its average "
            "effect, and columns that go with it some of the rest." + _as_marks(terms, absent)
        )
    if (unknown & ~absent).any():
        public = "" if nothing is None else " public rows that differ in it,"
        absorbed = " within persons (what never changes in one is absorbed)" if within else ""
        notes.append(
            f"The noise hides {_some(terms, unknown & ~absent)}: too few rows differ in it{absorbed}, "
            "other columns say nearly the same, or a few rows lie so far out in one that these hide the "
            "others. No standard errors are given there, and the estimates may be little but noise. "
            f"More rows or budget,{public} fewer or broader levels, or the logarithm of a column with a "
            "long tail, help." + _powers(terms, unknown) + _first_levels(terms, unknown)
        )
    return tuple(notes)


def _as_marks(terms: Sequence[str], absent: NDArray[np.bool_], counted: str = "rows") -> str:
    """What lets fewer rows be seen: a column by itself, or by levels, that is declared as a mark."""
    columns = (
        part for term, out in zip(terms, absent, strict=True) if out for part in term.split(":")
    )
    name = next(filter(str.isidentifier, columns), None)
    helps = f" A larger budget or more {counted} help"
    if name is None:
        return f"{helps}."
    return f"{helps}; and limits={{'{name}': (0, 1)}} if it is zero or one."


def _powers(terms: Sequence[str], unknown: NDArray[np.bool_]) -> str:
    """A sentence where a power of a number is hidden: far from zero it is nearly the number itself."""
    lost = (re.match(r"I\((\w+) ?\*\* ?\d", t) for t, u in zip(terms, unknown, strict=True) if u)
    name = next((found[1] for found in lost if found), None)
    if name is None:
        return ""
    return (
        f" Far from zero a power of `{name}` is nearly a line: subtract a value c in its middle, "
        f"I({name} - c) + I(({name} - c)**2)."
    )


def _first_levels(terms: Sequence[str], unknown: NDArray[np.bool_]) -> str:
    """A sentence where the constant and all levels of a factor are hidden: its first one may be rare."""
    hidden = {term for term, lost in zip(terms, unknown, strict=True) if lost}
    factors = dict.fromkeys(term.partition("[T.")[0] for term in terms if "[T." in term)
    lost = [name for name in factors if {t for t in terms if t.startswith(f"{name}[T.")} <= hidden]
    if "Intercept" not in hidden or not lost:
        return ""
    first = ", ".join(f"`{name}`" for name in lost)
    return (
        f" Where hardly any row has the first level of {first}, all others are compared with "
        "nothing: put a level that many rows have first."
    )


def _some(terms: Sequence[str], which: NDArray[np.bool_]) -> str:
    """The first six of these terms."""
    return listed([term for term, chosen in zip(terms, which, strict=True) if chosen], "`", 6)


def _is_logarithm(formula: str) -> bool:
    """Whether the response is a logarithm already."""
    return re.match(r"(np\.)?log(2|10|1p)?\(", formula.partition("~")[0].strip()) is not None


FEW_DIFFER = (
    "A few public rows make most of the mean square of the public residuals, and noise hides how far "
    "such private rows lie: they are cut where public rows let expect it. If most responses are alike, "
    "as the zeros of an amount that few spend, coefficients may be nearer to 0 than their errors say. "
    "A larger public sample or budget helps, or a model of whether a response differs (zeros and ones).",
)


def unseen_note(noise_sd: float, n: int, formula: str | None = None) -> tuple[str, ...]:
    """Where tails are `out_of_sight`; ``formula``: of a model that a logarithm of the response suits."""
    if not out_of_sight(noise_sd, n):
        return ()
    return (
        "The budget is too small to see how long the tails of the residuals are: if they are "
        "skewed, as those of prices and costs are, coefficients may be moved by more than their "
        "errors say. "
        + (
            "A larger budget shows it."
            if formula is None or _is_logarithm(formula)
            else "Take a logarithm of such a response, or give a larger budget."
        ),
    )


def more_cut_note(rest: RowSummary, foreseen: float, formula: str = "") -> tuple[str, ...]:
    """Where surely more scores were cut than counts of their lengths foresee, a share.

    They lie farther out, each in a place where noise hides so few, and nothing tells how far.
    """
    unforeseen = rest.cut_share - foreseen
    if unforeseen < _MORE * rest.share_sd:
        return ()
    other = (
        "" if _is_logarithm(formula) else "a logarithm of the response, where it is positive, or "
    )
    return (
        f"About {in_prose(100 * rest.cut_share)}% of the scores were cut, more than counts foresee: "
        "some rows lie far out, where noise hides how far, and may decide coefficients by more than "
        f"errors say. Codes for missing values? Else {other}a larger budget helps.",
    )


def outside_note(design: Design, outside: float | None, noise_sd: float) -> tuple[str, ...]:
    """Where surely some rows lie outside limits, as the released share of these and its noise tell.

    Of weights a few are: public rows, which give the bound, do not have the largest.
    """
    least, bound = _OUTSIDE if design.boxes else _OVERWEIGHT, design.weight_bound
    if outside is None or outside - 3 * noise_sd < least:
        return ()
    share = 100 * min(outside, 0.99)
    if design.boxes:
        limits = [
            f"`{name}` ({in_prose(low, 4)} to {in_prose(high, 4)})"
            for name, (low, high) in design.boxes.items()
        ]
        weights = f", or weights above {in_prose(bound, 4)}" if bound else ""
        return (
            f"About {in_prose(share)}% of the private rows have values outside the limits of "
            f"{', '.join(limits)}{weights}; they were cut to these limits, and the fit is that of "
            "the cut values. Wide limits cost next to nothing.",
        )
    return (
        f"About {in_prose(share)}% of the private rows have weights above the public bound "
        f"{in_prose(bound or 0.0, 4)}, which they get instead: the fit is not weighted as asked. Give "
        "the bound, limits={'(weights)': (0, largest)}.",
    )


def largest_weight_note(moments: PublicMoments | None) -> tuple[str, ...]:
    """Where one row may weigh so much that noise is that of far fewer rows; by public rows."""
    if moments is None or moments.design.weight_bound is None or moments.design.constant is None:
        return ()
    constant, bound = moments.design.constant, moments.design.weight_bound
    if moments.gram[constant, constant] == 1.0:  # public rows without weights count as one each
        return ()
    times = bound / max(float(moments.gram[constant, constant]), 1e-300)
    if times < _HEAVY:
        return ()
    return (
        f"The largest weight, {in_prose(bound, 4)}, is {in_prose(times)} times the mean one of the "
        f"public rows: noise for privacy is about that of one row in {in_prose(times)} without weights, "
        "and where few rows of large weights differ from the others, cuts may move coefficients beyond "
        "their errors. A smaller bound helps, to which weights are cut: "
        "limits={'(weights)': (0, bound)}.",
    )


def unused_note(
    rest: RowSummary,
    design: Design,
    persons: str | None = None,
    alone: bool = False,
    domain: str | None = None,
) -> tuple[str, ...]:
    """Notes where surely some of the rows do not count; or of ``persons``.

    What a row may lack is read off the design, which is public. ``alone``: without public rows;
    ``domain``: the responses that the model has.
    """
    if persons is not None:
        return _unused_of_persons(rest, row_causes(design, alone, domain), persons)
    return _unused(rest.empty_share, rest.share_sd, row_causes(design, alone, domain))


def _unused_of_persons(rest: RowSummary, causes: str, persons: str) -> tuple[str, ...]:
    """Where persons have no row that counts, and where they have others besides."""
    notes: tuple[str, ...] = ()
    if rest.empty_share - 3 * rest.share_sd > _OF_PERSONS:
        share = in_prose(100 * min(rest.empty_share, 0.99))
        why = {"within": "one row, or ", "all": ""}[persons]
        notes += (
            f"About {share}% of the persons contribute nothing: they have {why}none that can be used "
            f"({causes}).",
        )
    if rest.partly is not None and rest.partly - 3 * rest.share_sd > _WITH_UNUSED:
        share = in_prose(100 * min(rest.partly, 0.99))
        notes += (
            f"About {share}% of the persons have rows that are not used, beside others that are "
            f"({causes}). Estimates are those of the rows that are used.",
        )
    return notes


def not_used(
    count: float, count_sd: float, n: int, design: Design, alone: bool, others: str = ""
) -> tuple[str, ...]:
    """A note where a released ``count`` is surely less than n rows, by a part that matters; and why.

    ``others``: a cause that a design does not tell.
    """
    causes = row_causes(design, alone) + (f", or {others}" if others else "")
    return _unused(1 - count / n, count_sd / n, causes)


def _unused(share: float, noise_sd: float, causes: str) -> tuple[str, ...]:
    if share - 3 * noise_sd < _UNUSED_LEAST:
        return ()
    return (f"About {in_prose(100 * min(share, 0.99))}% {UNUSED} {causes}.",)


_ANCHORED = "method='anchored'"


def with_clusters(
    notes: tuple[str, ...], unit: PrivacyUnit, errors: str, clustered: str = _ANCHORED
) -> tuple[str, ...]:
    """The notes of a fit, and where rows of one person count as if they were somebody else's.

    Examples
    --------
    >>> with_clusters((), PrivacyUnit(2, "who"), "hetero")[0][:33]
    'Standard errors are not clustered'
    >>> with_clusters((), PrivacyUnit(2, "who", jointly=True), "hetero")
    ()
    """
    return (*later_rows_named(notes, unit), *unclustered(unit, errors, clustered))


def unclustered(unit: PrivacyUnit, errors: str, clustered: str = _ANCHORED) -> tuple[str, ...]:
    """That errors are not clustered, where persons have several rows and errors do not know of it.

    ``clustered``: what has errors that are.
    """
    if unit.rows == 1 or (unit.jointly and errors != "iid"):
        return ()
    short = "so that errors are too short where rows of one are alike"
    if unit.jointly:
        return (
            f"Standard errors are iid, not clustered: rows of a `{unit.person}` count as independent, "
            f"{short}. vcov='hetero' is clustered.",
        )
    if unit.person is None:
        return (
            "Standard errors are not clustered: nothing says which rows belong to one person, and each "
            f"counts as if it were somebody else's, {short}. Name the column of persons: person=.",
        )
    return (
        f"Standard errors are not clustered: each of the first {unit.rows} rows of a `{unit.person}` "
        f"counts as if it were somebody else's, {short}. Those of {clustered} are clustered; "
        "rows_per_person=1 needs no clusters.",
    )


def later_rows_named(notes: tuple[str, ...], unit: PrivacyUnit) -> tuple[str, ...]:
    """Notes of rows that are not used, with a person's later rows, and what that makes of estimates.

    Examples
    --------
    >>> notes = ("About 50% of the private rows are not used: missing values.",)
    >>> unused, estimates = later_rows_named(notes, PrivacyUnit(1, "who"))
    >>> unused.split(": ")[1]
    'rows after the first of each `who`, or missing values.'
    >>> estimates[:33]
    'Estimates are those of first rows'
    """
    if unit.person is None or unit.jointly or unit.rows is None:
        return notes
    several = f" {unit.rows}" if unit.rows > 1 else ""
    later = f"{UNUSED} rows after the first{several} of each `{unit.person}`,"
    if not any(UNUSED in note for note in notes):
        return notes
    return (
        *(note.replace(UNUSED, later if " or " in note else f"{later} or", 1) for note in notes),
        "Estimates are those of first rows: where these are unlike later ones (the first year of a "
        "panel), or persons with many rows unlike others, all rows would give others. dp_lm, dp_glm and "
        "dp_feols sum up all rows of a person, a mean by 'x ~ 1'.",
    )


def row_causes(design: Design, alone: bool, domain: str | None = None) -> str:
    """Why a row may not count, as far as a design tells.

    Examples
    --------
    >>> from dpstats.frame import declare_design
    >>> design = declare_design("log(y) ~ x + g", {"y": float, "x": float, "g": ["a", "b"]})
    >>> row_causes(design, alone=True)
    'missing values, values where log() has none, or levels that were not declared'
    """
    formula = design.formula
    functions = [name for name in _PARTIAL if re.search(rf"\b{name}\(", formula)]
    causes = ["missing values"]
    if functions:
        causes.append(f"values where {', '.join(f'{name}()' for name in functions)} has none")
    if re.search(r"\bcut\(", formula):
        causes.append("values outside the breaks of cut()")
    coded = [
        one for one in design.columns.values() if one.levels is not None and one.kind != "bool"
    ]
    if not all(alone or one.declared for one in coded):
        causes.append("levels that no public row has")
    if any(alone or one.declared for one in coded):
        causes.append("levels that were not declared")
    if design.weights is not None:
        causes.append("weights of zero or less")
    if domain is not None:
        causes.append(f"responses other than {domain}")
    *first, last = causes
    return ", ".join(first) + (f"{',' * (len(first) > 1)} or {last}" if first else last)
