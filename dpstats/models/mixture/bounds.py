"""Error bounds for private Gaussian mixtures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from dpstats.models.gaussian.bounds import (
    DISTANCE,
    DISTANCE_SOURCE,
    ROWS_GAUSSIAN,
    ReleasedMoments,
    error_law,
    one_law,
    resolved,
)
from dpstats.models.gaussian.rates import THEOREM_1_4, THEOREM_1_6, Setting
from dpstats.report.bound import Bound, Premise

_LITTLE = 1e-3  # overlap that moves nothing by much


@dataclass(frozen=True)
class MixtureFacts(Setting):
    """Public and released numbers behind the bounds for a mixture.

    Attributes
    ----------
    k : int
        Components.
    public_clusters : bool
        Whether public rows alone decide which component a row belongs to.
    least_weight : float
        Smallest weight, as stated or assumed by the call.
    components : tuple of ReleasedMoments
    counts, counts_sd : tuple of float
        Released numbers of rows of the components, and their noise.
    weights : tuple of float
        As reported, normalised or not.
    fewest_public : int
        Public rows of the component with the fewest.
    separation : float or None
        Smallest distance of two means over the larger of their largest standard deviations.
    overlap : float or None
        Largest share of a component on another's side, from the released parameters.
    """

    k: int
    public_clusters: bool
    least_weight: float
    components: tuple[ReleasedMoments, ...]
    counts: tuple[float, ...]
    counts_sd: tuple[float, ...]
    weights: tuple[float, ...]
    fewest_public: int
    separation: float | None = None
    overlap: float | None = None


def clean_separation(facts: MixtureFacts) -> float:
    """Standard deviations between means at which no row of n is put into a wrong component.

    2 (sqrt(2 ln(4nk/eta)) + 2e), e the error of the public centres in the r = min(k, d) dimensions of
    their span: a mean is at least Delta/2 - 2e from the plane between two of them. Fails with eta/2.
    """
    public = max(facts.fewest_public, 1)
    dimensions = min(facts.k, facts.d)
    away = math.sqrt(2 * math.log(4 * facts.k / facts.eta) / public)
    centres = math.sqrt(dimensions / public) + away
    return 2 * (math.sqrt(2 * math.log(4 * facts.n * facts.k / facts.eta)) + 2 * centres)


def _clean(facts: MixtureFacts) -> Premise:
    """Certain from some distance on; below it, judged by the overlap of the released components."""
    needed = clean_separation(facts)
    met = None if facts.separation is None else facts.separation >= needed
    if met is False and facts.overlap is not None and facts.overlap < _LITTLE:
        met = None
    return Premise(f"hardly a row in another component's cell (certain {needed:.0f} sd apart)", met)


def _weight_errors(facts: MixtureFacts, eta: float) -> list[float]:
    """Bounds for all weights together, from intervals that hold for each with 1 - eta/k."""
    each = eta / (2 * facts.k)
    errors = []
    for weight, count, sd in zip(facts.weights, facts.counts, facts.counts_sd, strict=True):
        least = _least_weight(count, sd, facts.n, each)
        most = 1 - _least_weight(facts.n - count, sd, facts.n, each)
        errors.append(float(max(most - weight, weight - least)))
    return errors


def _least_weight(count: float, sd: float, n: int, p: float) -> float:
    """The weight at which a binomial count plus normal noise reaches ``count`` with probability p."""

    def log_tail(weight: float) -> float:
        middle, wide = n * weight, 9 * math.sqrt(n * weight * (1 - weight)) + 30
        counts = np.arange(max(math.floor(middle - wide), 0), min(math.ceil(middle + wide), n) + 1)
        chances = scipy.stats.binom.pmf(counts, n, weight)
        tail = float((chances * scipy.stats.norm.sf((count - counts) / sd)).sum())
        return math.log(max(tail, 1e-300) / p)

    high = min(max(count / n, 0.0), 1.0)
    if log_tail(0.0) >= 0:
        return 0.0
    if log_tail(high) < 0:  # the noise alone has taken the count beyond n
        return high
    return float(scipy.optimize.brentq(log_tail, 0.0, high, xtol=1e-3 / n, rtol=1e-6))


def component_errors(facts: MixtureFacts) -> tuple[Bound, ...]:
    """Total variation of each component (eta/(2k)), weights (eta/2), and alpha of the paper (eta).

    Its alpha bounds the components' distances and k times the errors of the weights.
    """
    clean, eta = _clean(facts), facts.eta
    each = eta / (2 * facts.k)
    bounds, largest = [], 0.0
    for j, moments in enumerate(facts.components):
        value = error_law(moments, each).distance
        largest = max(largest, value)
        premises = (ROWS_GAUSSIAN, clean, resolved(moments))
        text = f"{DISTANCE} of component {j + 1}"
        bounds.append(
            Bound(text, "total variation", value, 1 - each, DISTANCE_SOURCE, "bound", premises)
        )
    weight = max(_weight_errors(facts, eta / 2))
    bounds.append(
        Bound(
            "largest error of a weight",
            "absolute",
            weight,
            1 - eta / 2,
            "exact, binomial",
            "bound",
            (clean,),
        )
    )
    bounds.append(
        Bound(
            "alpha: components' total variation, and k times the errors of weights",
            "total variation",
            min(max(largest, facts.k * weight), 1.0),
            1 - eta,
            "union of the above",
            "bound",
            (ROWS_GAUSSIAN, clean),
        )
    )
    return tuple(bounds)


def overlap_share(facts: MixtureFacts) -> tuple[Bound, ...]:
    """Rows in a wrong component by the released parameters; nothing certain."""
    share = facts.overlap
    if share is None and facts.separation is not None:
        share = min(float(2 * scipy.stats.norm.sf(facts.separation / 2)), 1.0)
    if share is None:
        return ()
    text = "overlap: share of two components' rows on each other's side"
    return (Bound(text, "absolute", share, None, "released parameters", "rate", (ROWS_GAUSSIAN,)),)


def papers_mixture_rate(facts: MixtureFacts) -> Bound:
    """Theorem 1.4, or 1.6 where public rows alone give the components."""
    d, k, w = facts.d, facts.k, facts.least_weight
    needed = math.log(k / facts.eta) / w * (d if facts.public_clusters else 1)
    formula = "d log(k/eta)/w_min" if facts.public_clusters else "log(k/eta)/w_min"
    apart = math.sqrt(k) + 2 / math.sqrt(w)
    far = None if facts.separation is None else facts.separation >= apart
    rate = THEOREM_1_6 if facts.public_clusters else THEOREM_1_4
    return rate.bound(
        "alpha of the paper's algorithm",
        facts,
        ROWS_GAUSSIAN,
        Premise(f"m >= {formula} = {needed:.0f} public rows", facts.m >= needed),
        Premise(f"means {apart:.1f} standard deviations apart, condition (1)", far),
        one_law(facts.gamma),
    )


def mixture_bounds(facts: MixtureFacts) -> tuple[Bound, ...]:
    """All bounds for a mixture.

    Examples
    --------
    >>> one = ReleasedMoments(10_000, (1.0, 1.0), 1e-3, 1e-3)
    >>> facts = MixtureFacts(20_000, 2, 100, 0.05, 0.5, None, 0.0, 2, True, 0.25, (one, one),
    ...     (10_000.0, 10_000.0), (7.0, 7.0), (0.5, 0.5), 50, separation=20.0)
    >>> [round(b.value, 3) for b in mixture_bounds(facts)]
    [0.02, 0.02, 0.009, 0.02, 0.0, 0.029]
    """
    return (*component_errors(facts), *overlap_share(facts), papers_mixture_rate(facts))
