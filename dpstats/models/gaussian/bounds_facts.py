"""From the numbers of a call to the statements of `dpstats.models.gaussian.bounds`."""

from __future__ import annotations

from collections.abc import Sequence

from dpstats.models.gaussian.bounds import (
    GaussianFacts,
    ReleasedMoments,
    gaussian_bounds,
)
from dpstats.models.gaussian.mean_bounds import (
    MeanFacts,
    mean_bounds,
)
from dpstats.models.gaussian.planning import (
    GaussianPlan,
    NoiseLevel,
)
from dpstats.models.gaussian.public_range import (
    PublicRange,
)
from dpstats.models.gaussian.rounds import Moments
from dpstats.models.mixture.bounds import (
    MixtureFacts,
    mixture_bounds,
)
from dpstats.report.bound import Bound


def _released(found: Moments) -> ReleasedMoments:
    values = tuple(float(v) for v in found.values)
    rows = min(found.mean_rows, found.spread_rows)
    return ReleasedMoments(rows, values, found.spread_sd, found.mean_sd, found.bias + found.lost)


def bounds_of_gaussian(
    plan: GaussianPlan,
    planned: tuple[float, float],
    noise: NoiseLevel,
    found_range: PublicRange,
    gamma: float,
    eta: float,
    m: int,
    found: Moments,
) -> tuple[Bound, ...]:
    """What is known of the errors of a mean and a covariance, before and after their release."""
    return gaussian_bounds(
        GaussianFacts(
            n=plan.n,
            d=plan.d,
            m=m,
            eta=eta,
            rho=noise.rho,
            epsilon=noise.epsilon,
            gamma=gamma,
            lower=found_range.lower,
            upper=found_range.upper,
            centre=found_range.centre,
            range_source=found_range.source,
            planned_noise=planned[0],
            planned_mean_noise=planned[1],
            planned_bias=plan.bias,
            released=_released(found),
        )
    )


def bounds_of_mean(
    n: int, d: int, m: int, noise: NoiseLevel, gamma: float, eta: float, sd: float
) -> tuple[Bound, ...]:
    """What is known of the error of a mean whose covariance was stated."""
    return mean_bounds(MeanFacts(n, d, m, eta, noise.rho, noise.epsilon, gamma, sd))


def bounds_of_mixture(
    n: int,
    m: int,
    components: Sequence[tuple[Moments, float, float, float, int]],
    public_clusters: bool,
    w_min: float,
    noise: NoiseLevel,
    eta: float,
    overlap: float,
    separation: float | None,
) -> tuple[Bound, ...]:
    """What is known of the errors of components: moments, rows, their sd, weight and public rows."""
    moments, rows, rows_sd, weights, public = zip(*components, strict=True)
    return mixture_bounds(
        MixtureFacts(
            n=n,
            d=len(moments[0].mean),
            m=m,
            k=len(moments),
            eta=eta,
            rho=noise.rho,
            epsilon=noise.epsilon,
            delta=None,
            public_clusters=public_clusters,
            least_weight=w_min,
            components=tuple(_released(f) for f in moments),
            counts=rows,
            counts_sd=rows_sd,
            weights=weights,
            fewest_public=min(public),
            separation=separation,
            overlap=overlap,
        )
    )
