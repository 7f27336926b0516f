"""Means and covariances of classes from public rows and released moments, and the choice between them.

Features are scaled as in `estimate`: pooled within classes, public rows have variance one. So one
number says how much a released mean or covariance is worth: as many rows as would have its error. Public
rows and the release are averaged by their worth, and what differs more between them than chance
allows makes the public rows worth less. Covariances are then naive (a variance for each class and
feature), pooled (lda) or by class (qda), each moved towards the pooled ones by its worth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from dpstats.arrays import Floats
from dpstats.models.eptr_bayes.estimate import log_joint
from dpstats.numerics.matrices import floored

KINDS = ("naive", "lda", "qda")
_PULLS = (0.25, 1.0, 4.0)
"""Rows per free number of a class's covariance that the pooled one stands for."""
_LEAST_VARIANCE, _LEAST_SEEN = 1e-3, 0.25
"""Least variance of a class in any direction, as a share of the pooled one; the second is divided by the
root of the rows that its covariance is worth."""
_BLIND = 0.5
"""`_LEAST_SEEN` without public rows, to be multiplied by the root of p: in halves of the largest
eigenvalue of noise."""
_SOURCES = ((1.0, 1.0), (0.1, 1.0), (0.01, 0.1))
"""Weights of released covariances and means, in what their noise makes them worth entry by entry: an
inverse suffers more from noise than each entry does."""
_ALONE = (0.0, 0.0)
"""Public rows alone."""
_FOLDS = 5
_ALIKE = 0.5
"""Standard errors by which scores may differ that are taken to be the same."""


@dataclass(frozen=True)
class Axes:
    """Coordinates z = back'x along the principal axes of public rows within classes.

    Attributes
    ----------
    back : (p, p) array
    scale : (p,) array
        Variances of z.
    """

    back: Floats
    scale: Floats


@dataclass(frozen=True)
class ClassView:
    """What one source says of K classes, and how many rows each number is worth.

    Attributes
    ----------
    share, share_rows : (K,) array and float
    means, means_rows : (K, p) arrays
    spread, spread_rows : (K, p, p) arrays
        Covariances by class.
    pooled, pooled_rows : (p, p) arrays
        What is known of the pooled covariance besides.
    """

    share: Floats
    share_rows: float
    means: Floats
    means_rows: Floats
    spread: Floats
    spread_rows: Floats
    pooled: Floats
    pooled_rows: Floats


@dataclass(frozen=True)
class Discriminant:
    """A classifier: priors (K,), means (K, p) and covariances (K or 1, p, p) in scaled coordinates."""

    prior: Floats
    means: Floats
    spread: Floats

    def log_joint(self, z: Floats) -> Floats:
        """Log prior and density (k, K) of scaled rows."""
        return log_joint(z, self.means, self.prior, self.spread)


@dataclass(frozen=True)
class Mismatch:
    """Variance of public numbers about the private ones beyond that of sampling, per row's variance."""

    share: float = 0.0
    means: float = 0.0
    spread: float = 0.0


def public_view(z: Floats, code: np.ndarray, centres: Floats) -> ClassView:
    """What rows say; ``centres`` stand for the mean of a class of which there are none."""
    classes, p = centres.shape
    counts = np.bincount(code, minlength=classes).astype(np.float64)
    means = np.array(
        [z[code == k].mean(axis=0) if counts[k] else centres[k] for k in range(classes)]
    )
    rest = [z[code == k] - means[k] for k in range(classes)]
    degrees = np.maximum(counts - 1, 1e-3)
    spread = np.array([r.T @ r / d for r, d in zip(rest, degrees, strict=True)])
    return ClassView(
        counts / max(len(z), 1),
        float(len(z)),
        means,
        np.broadcast_to(np.maximum(counts, 1e-3)[:, None], means.shape),
        spread,
        np.broadcast_to(degrees[:, None, None], spread.shape),
        np.zeros((p, p)),
        np.zeros((p, p)),
    )


def mismatch(public: ClassView, released: ClassView, scale: Floats) -> Mismatch:
    """By how much both differ beyond chance, as one variance of shares, of means, of covariances."""
    typical = np.maximum(public.share * (1 - public.share), 1e-12).sum()
    apart = ((public.share - released.share) ** 2).sum() / typical
    chance = 1 / public.share_rows + 1 / released.share_rows
    entries = np.outer(scale, scale) * (1 + np.eye(len(scale)))
    return Mismatch(
        max(float(apart - chance), 0.0),
        _excess(
            (public.means - released.means) ** 2 / scale, public.means_rows, released.means_rows
        ),
        _excess(
            (public.spread - released.spread) ** 2 / entries,
            public.spread_rows,
            released.spread_rows,
        ),
    )


def _excess(squares: Floats, public_rows: Floats, released_rows: Floats) -> float:
    chance = 1 / public_rows + 1 / np.maximum(released_rows, 1e-9)
    weight = chance**-2 / (chance**-2).sum()
    return max(float((weight * (squares - chance)).sum()), 0.0)


def together(public: ClassView, released: ClassView, differ: Mismatch) -> ClassView:
    """Public and released moments, averaged by their worth; public ones lose by what they differ."""
    share_rows = 1 / (1 / public.share_rows + differ.share)
    means_rows = 1 / (1 / public.means_rows + differ.means)
    spread_rows = 1 / (1 / public.spread_rows + differ.spread)
    return replace(
        released,
        share=_average(public.share, share_rows, released.share, released.share_rows),
        share_rows=share_rows + released.share_rows,
        means=_average(public.means, means_rows, released.means, released.means_rows),
        means_rows=means_rows + released.means_rows,
        spread=_average(public.spread, spread_rows, released.spread, released.spread_rows),
        spread_rows=spread_rows + released.spread_rows,
    )


def _average(a: Floats, a_rows: Floats | float, b: Floats, b_rows: Floats | float) -> Floats:
    return a + (b - a) * (b_rows / (a_rows + b_rows))


def candidate(
    view: ClassView, kind: str, pull: float, n: int, axes: Axes, unseen: float = _LEAST_SEEN
) -> Discriminant:
    """A classifier of a kind; a class's covariance is pulled to the pooled one.

    ``unseen``: the share of the noise of covariances below which they have no eigenvalue.
    """
    p, rows = view.means.shape[1], view.spread_rows
    total = rows.sum(axis=0) + view.pooled_rows
    pooled = ((rows * view.spread).sum(axis=0) + view.pooled_rows * view.pooled) / total
    if kind == "naive":
        kept = rows / (rows + 2 * pull)
        root = np.linalg.inv(axes.back)
        mixed = kept * view.spread + (1 - kept) * pooled
        variances = np.einsum("ij,kil,lj->kj", root, mixed, root)
        typical = np.median(rows + 2 * pull, axis=(1, 2))[:, None]
        least = np.maximum(_LEAST_VARIANCE, unseen / np.sqrt(typical))
        least = least * np.einsum("ij,i,ij->j", root, axes.scale, root)
        spread = np.einsum("ji,kj,jl->kil", axes.back, np.maximum(variances, least), axes.back)
    else:
        kept = total / (total + p)
        pooled = kept * pooled + (1 - kept) * np.diag(np.diag(pooled))
        if kind == "lda":
            spread = _positive(pooled, total, axes.scale, unseen)[None]
        else:
            kept = rows / (rows + pull * p)
            mixed = kept * view.spread + (1 - kept) * pooled
            spread = np.array(
                [_positive(s, r, axes.scale, unseen) for s, r in zip(mixed, rows, strict=True)]
            )
    prior = np.maximum(view.share, 1 / n)
    return Discriminant(prior / prior.sum(), view.means, spread)


def _positive(matrix: Floats, rows: Floats, scale: Floats, unseen: float) -> Floats:
    """The matrix with variances that are not next to nothing, or less than can be seen."""
    size = np.sqrt(np.outer(scale, scale))
    least = max(_LEAST_VARIANCE, unseen / float(np.sqrt(np.median(rows) + 1)))
    result: Floats = floored(matrix / size, least) * size
    return result


def trusted(released: ClassView, spread: float, means: float) -> ClassView:
    """Released moments whose covariances and means are taken to be worth fewer rows."""
    return replace(
        released,
        means_rows=means * released.means_rows,
        spread_rows=spread * released.spread_rows,
        pooled_rows=spread * released.pooled_rows,
    )


def balanced_scores(logs: Floats, code: np.ndarray) -> Floats:
    """Half the squared distance from probabilities to the truth (Brier), each class weighted alike."""
    classes = logs.shape[1]
    with np.errstate(all="ignore"):
        chances = np.nan_to_num(np.exp(logs), nan=1 / classes)
    apart = ((chances - np.eye(classes)[code]) ** 2).sum(axis=1) / 2
    counts = np.bincount(code, minlength=classes)
    weight: Floats = len(code) / (np.count_nonzero(counts) * counts[code])
    return np.asarray(weight * apart)


@dataclass(frozen=True)
class Choice:
    """A candidate, its score on public rows that were left out, and the best score of these alone.

    ``apart_sd`` is the standard error of the difference.
    """

    kind: str
    pull: float
    source: tuple[float, float]
    score: float
    public_score: float
    apart_sd: float


def choose_discriminant(
    z: Floats,
    code: np.ndarray,
    centres: Floats,
    released: ClassView,
    differ: Mismatch,
    kinds: tuple[str, ...],
    n: int,
    axes: Axes,
) -> Choice:
    """The candidate that classifies public rows best, each row left out of what is averaged.

    Of candidates that do so equally well, that under which the rows are likeliest.
    """
    fold = np.empty(len(z), dtype=np.intp)
    for k in range(len(centres)):
        fold[code == k] = np.arange(int((code == k).sum())) % _FOLDS
    forms = [(kind, pull) for kind in kinds for pull in (_PULLS if kind != "lda" else (1.0,))]
    sources = {one: (trusted(released, *one), differ) for one in _SOURCES}
    sources[_ALONE] = replace(trusted(released, 0.0, 0.0), share_rows=0.0), Mismatch()
    logs = {(*f, t): np.empty((len(z), len(centres))) for f in forms for t in sources}
    for f in range(int(fold.max()) + 1):
        out = fold == f
        seen = public_view(z[~out], code[~out], centres)
        views = {t: together(seen, *source) for t, source in sources.items()}
        for (kind, pull, t), found in logs.items():
            found[out] = candidate(views[t], kind, pull, n, axes).log_joint(z[out])
    rows = {
        key: balanced_scores(v - special.logsumexp(v, axis=1, keepdims=True), code)
        for key, v in logs.items()
    }
    best = min((key for key in rows if key[2] != _ALONE), key=lambda key: rows[key].mean())
    alike = [
        key
        for key in rows
        if key[2] != _ALONE
        and (rows[key] - rows[best]).mean() <= _ALIKE * _sd(rows[key], rows[best])
    ]
    likely = {key: float(logs[key][np.arange(len(z)), code].mean()) for key in alike}
    chosen = max(alike, key=likely.__getitem__)
    alone = min((key for key in rows if key[2] == _ALONE), key=lambda key: rows[key].mean())
    return Choice(
        *chosen,
        float(rows[chosen].mean()),
        float(rows[alone].mean()),
        _sd(rows[chosen], rows[alone]),
    )


def _sd(a: Floats, b: Floats) -> float:
    """Standard error of the difference of two mean scores, and a row's worth beside it."""
    return float(np.hypot((a - b).std(), 1 / np.sqrt(len(a))) / np.sqrt(len(a)))


def blind_candidate(view: ClassView, kind: str, n: int, axes: Axes) -> Discriminant:
    """A candidate without public rows: all of the noise is in it, and an inverse must stand it."""
    unseen = _BLIND * math.sqrt(len(axes.scale))
    return candidate(view, kind, _PULLS[-1], n, axes, unseen)


def likeliest_kind(view: ClassView, kinds: tuple[str, ...], n: int, axes: Axes) -> str:
    """The kind with the largest likelihood of the released moments, less the price of its parameters.

    The criterion of Schwarz (BIC), with as many rows as the moments are worth with their noise.
    """
    classes, p = view.means.shape
    by_class = bool((view.spread_rows > 0).all())
    seen = view.spread if by_class else view.pooled[None]
    rows = view.spread_rows if by_class else view.pooled_rows[None]
    rows = np.median(rows, axis=(1, 2))
    free = {"naive": classes * p, "lda": p * (p + 1) // 2, "qda": classes * p * (p + 1) // 2}

    def price(kind: str) -> float:
        spread = blind_candidate(view, kind, n, axes).spread
        total = free[kind] * np.log(rows.sum() + 1)
        for k in range(max(len(spread), len(seen))):
            own, some = spread[k % len(spread)], seen[k % len(seen)]
            apart = float(np.linalg.slogdet(own)[1] + np.trace(np.linalg.solve(own, some)))
            total += rows[k % len(rows)] * apart
        return float(total)

    return min(kinds, key=price)
