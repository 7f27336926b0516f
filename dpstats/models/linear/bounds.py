"""Error bounds for private linear models.

Sources: "ridge paper" is Cao, Bi, Zhang, *Differentially Private Truncation of Unbounded Data Via
Public Second Moments* (Statistica Sinica); "OLS paper" is its sibling under zCDP. Their bounds hold
up to unstated constants and contain unknown norms of the private sample: here the constants are set
to 1, released values stand for the norms, and the result is labelled a rate. The privacy parameter of
the rates is that of each of the two mechanisms, total/sqrt(2) in mu and total/2 in rho.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpstats.arguments import in_prose
from dpstats.arrays import Floats
from dpstats.numerics.matrices import spectral_norm
from dpstats.report.bound import Bound, Premise
from dpstats.score_rounds.bounds import (
    SUB_GAUSSIAN,
    CallFacts,
    ReleasedSystem,
    enough_public,
    noise_below_half,
    noise_bounds,
    whitening_range,
)


@dataclass(frozen=True)
class LinearFacts(CallFacts):
    """What the theorems ask for; everything public or released.

    Attributes
    ----------
    n, d, m, mu, eta, ridge
        As in `CallFacts`.
    public : (d, d) array
        Public second moment S.
    released : (d, d) array
        Released second moment of the private design.
    coef : (d,) array
        Released coefficients.
    """

    public: Floats
    released: Floats
    coef: Floats

    @property
    def rate(self) -> float:
        """sqrt(d^3 log(2d/eta)) / (mu n), mu of one mechanism."""
        return self.rate_of(1)

    @property
    def rate_zcdp(self) -> float:
        """d^(3/2) log(1/eta) / (sqrt(rho) n), rho of one mechanism."""
        each = self.mu**2 / 4
        return float(self.d**1.5 * math.log(1 / self.eta) / (math.sqrt(each) * self.n))


def whitened_second_moment(facts: CallFacts) -> tuple[Bound, ...]:
    """Theorem 3 of the ridge paper, Theorem 1 of the OLS paper: L I <= S^-1/2 Sigma S^-1/2 <= U I."""
    out = []
    for source, log_term in (
        ("ridge paper, Theorem 3", math.log(1 / facts.eta)),
        ("OLS paper, Theorem 1", 2 * math.log(1 / facts.eta)),
    ):
        limits = whitening_range(facts, log_term)
        if limits is None:
            continue
        out.append(
            Bound(
                f"condition number of the whitened second moment (U/L, L = {in_prose(limits[0], 3)})",
                "spectral",
                limits[1] / limits[0],
                1 - 2 * facts.eta,
                source,
                "rate",
                (enough_public(facts, log_term), SUB_GAUSSIAN),
            )
        )
    return tuple(out)


def truncation_radius(facts: CallFacts) -> Bound:
    """Corollary 1 (ridge), Corollary 2 (OLS): no whitened row is longer than sqrt(d(1+log(2n/eta)))."""
    return Bound(
        "length of the longest whitened row",
        "l2",
        math.sqrt(facts.d * facts.log_factor),
        1 - 3 * facts.eta,
        "ridge paper, Corollary 1",
        "rate",
        (SUB_GAUSSIAN,),
    )


def moment_noise(facts: LinearFacts) -> tuple[Bound, Bound]:
    """Theorem 4 (ridge paper) and Theorem 2 (OLS paper): spectral norm of the papers' noise matrix.

    (3.1) of the ridge paper has L under the root, as have the conditions of its Theorems 5 and 8; the
    noise, whose sd is proportional to d L, and equation (3.2) of the same paper put it outside.
    """
    ridge = facts.rate * facts.log_factor
    ols = facts.rate_zcdp * facts.log_factor
    text = "noise on the whitened second moment (method='pmt')"
    return (
        Bound(text, "spectral", ridge, 1 - facts.eta, "ridge paper, Theorem 4", "rate"),
        Bound(text, "spectral", ols, 1 - facts.eta, "OLS paper, Theorem 2", "rate"),
    )


def _inverted(facts: LinearFacts, statement: str, norm: str, size: float, source: str) -> Bound:
    """What noise of the moment does to its inverse, times ``size``, over L (1 - ...)^4."""
    log_term = math.log(1 / facts.eta)
    limits = whitening_range(facts, log_term)
    lower = 1.0 if limits is None else limits[0]
    ridge = facts.ridge / spectral_norm(facts.public)
    noise = facts.rate * facts.log_factor
    gap = lower * facts.sample_factor**2 + ridge
    floor = lower**2 * facts.sample_factor**4 + ridge**2
    value = noise * size / floor if floor > 0 else math.inf
    premises = (enough_public(facts, log_term), noise_below_half(noise, gap), SUB_GAUSSIAN)
    return Bound(statement, norm, value, 1 - facts.eta, source, "rate", premises)


def inverse_moment(facts: LinearFacts) -> Bound:
    """Theorem 5 (ridge paper): error of the inverse second moment, in the user's coordinates."""
    statement = "error of the inverse second moment (method='pmt')"
    inverse = spectral_norm(np.linalg.inv(facts.public))
    return _inverted(facts, statement, "spectral", inverse, "ridge paper, Theorem 5")


def inverse_moment_private_only(facts: LinearFacts) -> Bound:
    """Theorem 6 (ridge paper): the same without public data, for comparison."""
    values = np.linalg.eigvalsh(facts.released)
    smallest, mean = float(values[0]), float(values.mean())
    each = mean + math.log(facts.n / facts.eta)
    gap = smallest * facts.sample_factor**2 + facts.ridge
    floor = smallest**2 * facts.sample_factor**4 + facts.ridge**2
    value = facts.rate * each / floor if smallest > 0 and floor > 0 else math.inf
    return Bound(
        "the same from private data alone",
        "spectral",
        value,
        1 - facts.eta,
        "ridge paper, Theorem 6",
        "rate",
        (noise_below_half(facts.rate * each, gap),),
    )


def equivalence(facts: LinearFacts) -> Bound:
    """Theorem 7 (ridge paper): without noise and truncation the fit is the (ridge) fit itself."""
    return Bound(
        "distance to the ridge fit without noise and truncation",
        "l2",
        0.0,
        1 - facts.eta,
        "ridge paper, Theorem 7",
        "identity",
        (Premise("no row truncated", None),),
    )


def estimator_error(facts: LinearFacts) -> Bound:
    """Theorem 8 (ridge paper): |b_DP - b_hat| for Algorithm 2."""
    statement = "distance to the non-private fit (method='pmt')"
    size = spectral_norm(np.linalg.inv(facts.public)) * spectral_norm(facts.released)
    size *= float(np.linalg.norm(facts.coef))
    return _inverted(facts, statement, "l2", size, "ridge paper, Theorem 8")


def estimator_error_zcdp(facts: LinearFacts) -> Bound:
    """Theorem 3 (OLS paper): |b_DP - b_hat| for Algorithm 3."""
    log_term = 2 * math.log(1 / facts.eta)
    limits = whitening_range(facts, log_term)
    lower = 1.0 if limits is None else limits[0]
    shrink = max(1 - math.sqrt((facts.d + math.log(1 / facts.eta)) / facts.n), 0.0)
    noise = facts.rate_zcdp * facts.log_factor
    gap = lower * facts.sample_factor**2
    size = spectral_norm(np.linalg.inv(facts.public)) * spectral_norm(facts.released)
    size *= float(np.linalg.norm(facts.coef))
    floor = lower**2 * shrink**4
    return Bound(
        "distance to the non-private fit (method='pmt', ridge=0)",
        "l2",
        noise * size / floor if floor > 0 else math.inf,
        1 - facts.eta,
        "OLS paper, Theorem 3",
        "rate",
        (
            enough_public(facts, log_term),
            noise_below_half(noise, gap),
            SUB_GAUSSIAN,
        ),
    )


def estimator_error_private_only(facts: LinearFacts) -> Bound:
    """Theorem 4 (OLS paper): the same from private data alone (DP-OLSE), for comparison."""
    values = np.linalg.eigvalsh(facts.released)
    smallest = float(values[0])
    log_n = math.log(2 * facts.n / facts.eta)
    if smallest <= 0:
        value = math.inf
    else:
        kappa, average = float(values[-1]) / smallest, float(values.mean()) / smallest
        value = facts.rate_zcdp * float(np.linalg.norm(facts.coef)) * kappa
        value *= log_n / smallest + average
    return Bound(
        "the same from private data alone",
        "l2",
        value,
        1 - facts.eta,
        "OLS paper, Theorem 4",
        "rate",
        (noise_below_half(facts.rate_zcdp * (float(values.mean()) + log_n), smallest),),
    )


def linear_bounds(facts: LinearFacts, system: ReleasedSystem) -> tuple[Bound, ...]:
    """Everything that can be said about a private linear fit, the sharpest statements first."""
    return (
        *noise_bounds(system, facts.eta),
        estimator_error(facts),
        estimator_error_zcdp(facts),
        estimator_error_private_only(facts),
        equivalence(facts),
        inverse_moment(facts),
        inverse_moment_private_only(facts),
        *moment_noise(facts),
        *whitened_second_moment(facts),
        truncation_radius(facts),
    )
