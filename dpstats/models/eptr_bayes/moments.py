"""A classifier from released second moments: what they say, averaged with public rows, and notes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.models.eptr_bayes.discriminant import (
    Axes,
    Choice,
    ClassView,
    Discriminant,
    Mismatch,
    blind_candidate,
    candidate,
    choose_discriminant,
    likeliest_kind,
    mismatch,
    public_view,
    together,
    trusted,
)
from dpstats.models.eptr_bayes.estimate import LabelledRows
from dpstats.models.eptr_bayes.planning import MomentCut
from dpstats.models.eptr_bayes.releases import ClassMoments
from dpstats.models.eptr_bayes.tails import CutTails, allowance, tail_notes

_BEHIND = 2.0
"""Standard errors by which public rows alone must classify better to be said to do so."""
_KNOWN = 10.0
"""Public rows of a class that tell where it lies."""
_UNLIKE, _SURE = 0.5, 5.5
"""Standard deviations of the public rows by which private class means differ that are unlike them, or
part of the rarer of a class and the rest; and how many standard errors say that it is no chance."""
_USEFUL = 10.0
"""Rows per feature that a release is worth when it tells enough without public ones."""
_LITTLE = 3.0
"""Times the public rows that a release is worth when it certainly helps."""


@dataclass(frozen=True)
class MomentsFit:
    """A classifier, where it comes from, and covariances (K, p, p) of the errors of its means.

    Attributes
    ----------
    kind : str
    kept : (K,) array
        Weight of the released means; the rest are public ones.
    """

    rule: Discriminant
    kind: str
    prior_sd: Floats
    errors: Floats
    kept: Floats
    notes: tuple[str, ...]


def released_view(
    released: ClassMoments, centres: Floats, cut: MomentCut, scale: Floats, guess: ClassView | None
) -> tuple[ClassView, Floats]:
    """What a release says, and the number of rows of each class; ``guess`` steadies the shares."""
    classes, p = centres.shape
    n = max(float(released.counts.sum()), float(classes))
    share: Floats = np.maximum(released.counts, 0.0) / max(
        float(np.maximum(released.counts, 0).sum()), 1.0
    )
    typical = (1 - 1 / classes) / classes
    share_rows = 1 / ((released.counts_sd / n) ** 2 / typical + 1 / n)
    steady = share
    if guess is not None:
        chance = 1 / share_rows + 1 / guess.share_rows
        apart = ((guess.share - share) ** 2).sum() / (classes * typical)
        worth = 1 / (1 / guess.share_rows + max(float(apart) - chance, 0.0))
        steady = (share * share_rows + guess.share * worth) / (share_rows + worth)
    rows = np.maximum(n * steady, 1.0)
    shift = released.sums / rows[:, None]
    length = np.linalg.norm(shift, axis=1)  # means of cut rows lie in the ball
    shift *= np.minimum(1.0, cut.radius / np.maximum(length, 1e-300))[:, None]
    noise = (released.sums_sd / rows) ** 2
    means = centres + (shift - cut.moved) / cut.slope
    outer = shift[:, :, None] * shift[:, None, :] - noise[:, None, None] * np.eye(p)
    entries = np.outer(scale, scale)
    means_rows = _worth(released.sums_sd / cut.slope, rows, cut.moved_variance, scale)
    pooled, pooled_rows = np.zeros((p, p)), np.zeros((p, p))
    spread: Floats = np.zeros((classes, p, p))
    spread_rows: Floats = np.zeros((classes, p, p))
    if cut.by_class:
        spread = released.squares / rows[:, None, None] - outer + cut.lost
        spread_rows = _worth(released.squares_sd, rows, cut.doubt, entries)
    else:
        weight = (rows / n)[:, None, None]
        pooled = released.squares[0] / n + (weight * (cut.lost - outer)).sum(axis=0)
        doubt = ((rows / n) ** 2 * cut.doubt).sum(keepdims=True)
        pooled_rows = _worth(released.squares_sd, np.array([n]), doubt, entries)[0]
    view = ClassView(share, share_rows, means, means_rows, spread, spread_rows, pooled, pooled_rows)
    return view, rows


def _worth(noise_sd: float, rows: Floats, doubt: Floats, variance: Floats) -> Floats:
    """Rows that noisy means over ``rows`` rows are worth; ``variance``: of what is averaged.

    Noise and doubt are alike in all entries, which matters most where the variance is small.
    """
    kept = np.maximum(rows, 1.0)
    wrong = (noise_sd / kept) ** 2 + doubt
    each = (slice(None),) + (None,) * variance.ndim
    result: Floats = 1 / (wrong[each] / variance + 1 / kept[each])
    return result


def fit_moments(
    released: ClassMoments,
    centres: Floats,
    cut: MomentCut,
    public: LabelledRows,
    kinds: tuple[str, ...],
    axes: Axes,
) -> MomentsFit:
    """The classifier that does best on public rows, of the kinds that are asked for."""
    seen = public_view(public.z, public.code, centres)
    told, rows = released_view(released, centres, cut, axes.scale, seen)
    n = max(int(rows.sum()), 1)
    differ = mismatch(seen, told, axes.scale)
    choice = choose_discriminant(public.z, public.code, centres, told, differ, kinds, n, axes)
    believed = trusted(told, *choice.source)
    both = together(seen, believed, differ)
    rule = candidate(both, choice.kind, choice.pull, n, axes)
    kept = believed.means_rows / both.means_rows
    own = candidate(both, "qda", 1.0, n, axes).spread  # errors are those of each class
    from_public = (1 - kept) / np.sqrt(seen.means_rows)
    from_private = kept / (cut.slope * np.sqrt(rows[:, None]))
    sampling = _outer(from_public) + _outer(from_private)
    noise = (kept * (released.sums_sd / rows / cut.slope)[:, None]) ** 2
    noise = noise + kept**2 * cut.moved_variance[:, None] + (1 - kept) ** 2 * differ.means
    errors = sampling * own + noise[:, :, None] * np.eye(len(axes.scale))
    errors += _outer(kept) * _noise_of_numbers(told, centres, rows, released.counts_sd)
    return MomentsFit(
        rule,
        choice.kind,
        _prior_sd(rule.prior, seen, told, both, differ, released.counts_sd / n),
        errors,
        kept,
        _notes(choice, told, seen) + unlike_note(told, seen, axes.scale),
    )


def _noise_of_numbers(told: ClassView, centres: Floats, rows: Floats, counts_sd: float) -> Floats:
    """What noise of the numbers of rows adds to the errors of means: these are sums over numbers.

    A mean is its distance from the centre off by the relative noise of its number, all features
    together. That is most of the error of a rare class, far from a centre that all classes share.
    """
    return _outer((told.means - centres) * (counts_sd / rows)[:, None])


def fit_alone(
    released: ClassMoments,
    centres: Floats,
    cut: MomentCut,
    kinds: tuple[str, ...],
    axes: Axes,
    tails: CutTails,
) -> MomentsFit:
    """The classifier without public rows; its kind by the likelihood of what is released.

    ``tails``: of features in units of their scales.
    """
    told, rows = released_view(released, centres, cut, axes.scale, None)
    n = max(int(rows.sum()), 1)
    kind = likeliest_kind(told, kinds, n, axes)
    rule = blind_candidate(told, kind, n, axes)
    own = blind_candidate(told, "qda", n, axes).spread
    noise = (released.sums_sd / rows) ** 2
    errors = own / rows[:, None, None] + noise[:, None, None] * np.eye(len(axes.scale))
    errors += _noise_of_numbers(told, centres, rows, released.counts_sd)
    variance = np.diagonal(errors, axis1=1, axis2=2)
    allowed = allowance(tails, released, rows, cut)
    more = variance + allowed.variance / rows[:, None] + allowed.lost**2 - variance
    errors = errors + more[:, :, None] * np.eye(len(axes.scale))
    prior_sd = np.sqrt(rule.prior * (1 - rule.prior) / n + (released.counts_sd / n) ** 2)
    seen = told.spread_rows if cut.by_class else told.pooled_rows
    worth = min(float(np.median(told.means_rows)), float(np.median(seen)))
    notes: tuple[str, ...] = ()
    if worth < _USEFUL * len(axes.scale):
        notes = (
            "With its noise, the release of covariances or means is worth about "
            f"{in_prose(max(worth, 0.1))} rows: too few for so many features. Ask for a larger budget, "
            "or fewer features, or add public rows.",
        )
    notes += tail_notes(allowed, tails, variance)
    return MomentsFit(rule, kind, prior_sd, errors, np.ones_like(told.means), notes)


def unlike_note(told: ClassView, seen: ClassView, scale: Floats) -> tuple[str, ...]:
    """Where means, or shares, of private classes lie far from public ones, and chance does not say why.

    Classes of few public rows say nothing.
    """
    known = seen.means_rows >= _KNOWN
    chance = 1 / seen.means_rows + 1 / np.maximum(told.means_rows, 1e-9)
    away = (told.means - seen.means) ** 2 / scale
    far = known & (away > np.maximum(_UNLIKE**2, _SURE**2 * chance))
    parts = []
    if far.any():
        most = float(np.sqrt(away[far].max()))
        parts.append(
            f"class means by up to {in_prose(most)} standard deviations of the public rows"
        )
    each = np.maximum(seen.share * (1 - seen.share), 1e-12)
    apart = np.abs(told.share - seen.share)
    sure = _SURE * np.sqrt(each * (1 / seen.share_rows + 1 / told.share_rows))
    shares = apart > np.maximum(_UNLIKE * np.minimum(seen.share, 1 - seen.share), sure)
    if shares.any():
        most = 100 * float(apart[shares].max())
        parts.append(f"the share of a class by {in_prose(most)} % of all rows")
    if not parts:
        return ()
    return (
        f"Private rows are unlike the public ones: they differ in {' and '.join(parts)}. Rows are cut "
        "about the public means, by public scales: means, covariances and their errors may be off. "
        "Choose public rows at random, or leave them out.",
    )


def _outer(rows: Floats) -> Floats:
    return rows[:, :, None] * rows[:, None, :]


def _prior_sd(
    prior: Floats, seen: ClassView, told: ClassView, both: ClassView, differ: Mismatch, noise: float
) -> Floats:
    kept = told.share_rows / both.share_rows
    public = (1 - kept) ** 2 * (1 / seen.share_rows + differ.share)
    n = 1 / max(1 / told.share_rows - noise**2, 1e-300)
    result: Floats = np.sqrt(prior * (1 - prior) * (public + kept**2 / n) + (kept * noise) ** 2)
    return result


def _notes(choice: Choice, told: ClassView, seen: ClassView) -> tuple[str, ...]:
    """What public rows and known noise say against the release."""
    notes = []
    if choice.score - choice.public_score > _BEHIND * choice.apart_sd:
        notes.append(
            "Public rows that were left out are classified better by the other public rows alone (mean "
            f"squared error of probabilities {choice.public_score:.3f}) than with the private ones "
            f"({choice.score:.3f}): there is too much noise for so many features and classes, or public "
            "and private rows are not alike. Ask for a larger budget, or fewer features."
        )
    worth, public = float(np.median(told.means_rows)), float(np.median(seen.means_rows))
    if worth < _LITTLE * public:
        notes.append(
            f"With its noise, the release for a class is worth about {in_prose(max(worth, 0.1))} rows, "
            f"beside {in_prose(public, 3)} public ones: the classifier may be no better than one of "
            "public rows alone. Ask for a larger budget, or fewer features."
        )
    return tuple(notes)
