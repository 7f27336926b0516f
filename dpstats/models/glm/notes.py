"""Notes that only generalised linear fits have; all from public and from released numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.frame import Design
from dpstats.models.glm.family import Family
from dpstats.numerics.histogram import SURE
from dpstats.numerics.matrices import Curvature, quadratic_forms
from dpstats.score_rounds.estimate import Estimate
from dpstats.score_rounds.levels import effects_of_few
from dpstats.score_rounds.notes import matrix_notes, ridge_note

_EXPLAINED, _FEW_TELL, _ALL_EXPLAINED = 0.65, 40, 0.82
"""Share of the entropy of the responses beyond which rows are taken to be separated, if no more rows
than so many for each column tell the coefficients; and that beyond which they are in any case."""
_NOISELESS = 3.0
"""Budget from which on noise does not ask for more of these rows."""
_UNSURE, _LARGE = 0.5, 2.0
"""Standard error of a coefficient of zeros and ones from which all of their rows may have one outcome,
and the least size of such a coefficient."""
_STRAY = 0.001
"""Share of the rows that lie where no public row does, from which it is said."""
_ALIKE, _NOISY, _RARE = 0.05, 0.5, 0.2
"""Relative difference of mean and mean square of a column that is taken to be one of zeros and ones; the
same where private rows tell, with noise, that ones are rare; and what is rare."""

_FEW_EVENTS = 2.75
"""Times as many events as rows that noise hides, from which it hardly matters how these share them."""

SEPARATED = (
    "Standard errors are not given: at these coefficients the public rows are predicted nearly "
    "without error, as when a column separates the responses. Steps may still be long there, and few "
    "rows tell how long. More rows or a larger budget help; so does a call without public=, whose "
    "steps go farther. Where a column does separate the responses, leave it out or ask for a ridge.",
)


_OF_NOISE, _RARELY = 2.0, 0.05
"""Noise standard deviations of a count, up to which it may be all noise; and a share that is small."""
_ONE_OUTCOME = (
    "Standard errors are not given: noise hides whether any row has the rarer outcome. Check how the "
    "response is coded (as 1 and 2, or 0 and 100?); where the outcome is rare, more rows or a larger "
    "budget help.",
)


def one_outcome_note(
    family: Family, design: Design, rates: Floats, noise_sd: float, n: int
) -> tuple[str, ...]:
    """Where noise hides whether any row has the rarer outcome.

    ``rates`` as of `few_events_note`: with an intercept, the sum of p (1 - p), which is the number of
    rows with the rarer outcome where these are few; ``noise_sd`` that of counts of scores.
    """
    if not family.binary or design.constant is None or design.weights is not None:
        return ()
    rarer = rates[design.constant, design.constant]
    return _ONE_OUTCOME if rarer < min(_OF_NOISE * noise_sd, _RARELY * n) else ()


def separated(probability: Floats, n: int, mu: float, d: int) -> bool:
    """Whether a fit explains so much of the entropy of the responses that its errors are in doubt.

    Rounds that set out from public rows do not arrive at slopes that explain nearly all of it. At less,
    they do where enough rows tell them: n times the mean of p (1 - p), and more the more noise there is.
    """

    def entropy(p: Floats) -> Floats:
        p = np.clip(p, 1e-12, 1 - 1e-12)
        return np.asarray(-p * np.log(p) - (1 - p) * np.log(1 - p))

    total = float(entropy(np.atleast_1d(probability.mean()))[0])
    left = float(entropy(probability).mean()) / total if total > 0 else 0.0
    telling = n * min(mu, _NOISELESS) * float((probability * (1 - probability)).mean())
    return left < 1 - (_EXPLAINED if telling < _FEW_TELL * d else _ALL_EXPLAINED)


def unbounded_note(
    design: Design, estimate: Estimate, moments: Floats, family: Family, alone: bool
) -> tuple[str, ...]:
    """Where noise does not exclude that all rows with a one in a column have the same outcome.

    Of p near 0 or 1 the information of these rows, 1/v for a log odds of variance v without noise, is
    the number of those with the rarer outcome; the noise of a score is as many times that. So none may
    be there where two errors of both reach as far as that number: where the printed error is a half, or
    that which the coefficients imply for such rows, others at their means. Likelihood is then largest
    without end. Of counts the same holds for zeros, where b is negative. Of a level that has slopes of
    its own, as in g * x, all of this is asked at the means of its rows.
    """
    terms = design.terms
    if "Intercept" not in terms or not (family.binary or family.counts):
        return ()
    mean, square = moments[terms.index("Intercept")], np.diag(moments)
    noisy = alone & (square < _RARE)
    ones = np.abs(mean - square) < np.where(noisy, _NOISY, _ALIKE) * square
    ones |= effects_of_few(design)
    coef, effects = estimate.coef, _effects(design, moments)
    own = (effects != 0).sum(axis=1) > 1
    there = moments @ coef / np.maximum(square, 1e-300)
    predictors = np.where(own, there, mean @ coef + (1 - mean) * coef)
    rarer = np.array([family.information(eta) for eta in predictors])
    known = np.isfinite(np.diag(estimate.vcov))
    variance = quadratic_forms(effects, np.where(known & known[:, None], estimate.vcov, 0.0))
    error = np.where((effects != 0) @ ~known, np.nan, np.sqrt(variance))
    coef = effects @ coef
    if design.weights is None and not design.offsets:
        implied = 1 / np.sqrt(np.maximum(estimate.n * np.abs(mean) * rarer, 1e-300))
        error = np.maximum(error, implied)
    size = np.abs(coef) if family.binary else -coef
    found = ones & (error > _UNSURE) & (size > np.maximum(_LARGE, 2 * error))
    named = [term for term, one in zip(terms, found, strict=True) if one and term != "Intercept"]
    if not named:
        return ()
    outcome = "the same outcome" if family.binary else "a response of zero"
    rows = ", ".join(with_first_levels(named, terms))
    return (
        f"All rows with {rows} may have {outcome}: noise does not exclude it, and the coefficient then "
        "has no end. Quote the nearer end of its interval only. Broader levels, a ridge, more rows or a "
        "larger budget help.",
    )


def _effects(design: Design, moments: Floats) -> Floats:
    """What a one in each column adds, (d, d): its coefficient, and those of products at their means."""
    parts = [frozenset(column.parts) for column in design.program]
    effects = np.eye(len(parts))
    for j, own in enumerate(parts):
        for k, whole in enumerate(parts):
            if own and own < whole and moments[j, j] > 0:
                effects[j, k] = moments[j, k] / moments[j, j]
    return effects


def with_first_levels(named: Sequence[str], terms: Sequence[str]) -> list[str]:
    """Terms for a sentence; where all levels of a factor beside its first are named, it is that one."""
    out, said = [], set()
    for term in named:
        factor = term.partition("[T.")[0]
        levels = [other for other in terms if other.startswith(f"{factor}[T.") and ":" not in other]
        if term in levels and len(levels) > 1 and set(levels) <= set(named):
            out += [f"the first level of `{factor}`"] if factor not in said else []
            said.add(factor)
        else:
            out.append(f"`{term}`")
    return out


def stray_note(stray: float, noise_sd: float, n: int) -> tuple[str, ...]:
    """Where scores are longer than public rows let any be: of `_STRAY` of the rows, and surely."""
    if stray < max(_STRAY * n, SURE * noise_sd):
        return ()
    return (
        f"About {in_prose(stray)} private rows lie far outside the public ones, as codes for missing "
        "values or a long tail do: they are cut, and may count for less. Look for such codes "
        "in the public rows, give limits= to the columns, or fit without public rows.",
    )


def few_events_note(
    family: Family, design: Design, rates: Floats, hidden: float
) -> tuple[str, ...]:
    """Where noise hides whether the rows with a count have one event or several.

    ``rates``: the released sum of x w x' over rows, in the user's coordinates; with an intercept its
    entry there is the number of events, of which the Poisson law foresees one a row.
    """
    if not family.counts or design.constant is None or design.weights is not None:
        return ()
    events = float(rates[design.constant, design.constant])
    if not 0 < events < _FEW_EVENTS * hidden:
        return ()
    return (
        f"About {in_prose(events)} events make these rates, and noise may hide {in_prose(hidden)} "
        "rows with a long count: where events come several to a row, they are cut, and the rates may "
        "be too low by half or more. More rows or a larger budget show it; a model of zeros and ones "
        "(any event) does not need it.",
    )


def step_notes(curvature: Curvature, unsettled: bool, ridge: float) -> tuple[str, ...]:
    """What a reader must know of the released information and of the last step."""
    resolved = curvature.resolved
    notes = matrix_notes("information", "is", curvature.positive_definite, resolved)
    if unsettled:
        notes += (
            "The fit has not settled, and no standard errors are given: the last Newton step was "
            "long, as when a column separates the responses, an outcome or a level is very rare, "
            "or public columns are in other units than the private ones. A ridge, public rows "
            "with responses, or a larger budget helps.",
        )
    return notes + ridge_note(ridge)


def overdispersed_note(family: Family, pearson: float | None, sd: float | None) -> tuple[str, ...]:
    if family.dispersed or pearson is None or sd is None or pearson - 3 * sd < 1.2:
        return ()
    other = (
        "family='quasipoisson'" if family.name == "poisson" else "a quasi family or another alpha"
    )
    return (
        f"The Pearson dispersion is about {in_prose(pearson)}, but standard errors assume 1 and are too "
        f"small: use {other}, or vcov='hetero'.",
    )
