"""Error bounds for private generalised linear models fitted by noisy Newton steps.

Sources: "ridge paper" is Cao, Bi, Zhang, *Differentially Private Truncation of Unbounded Data Via
Public Second Moments* (Statistica Sinica), which treats logistic regression; "preprint" is its earlier
version, which adds other families. Their bounds hold up to unstated constants: here the constants are
set to 1, released values stand for unknown ones, and the result is labelled a rate. The privacy
parameter of the rates is the papers', total/sqrt(2): T score mechanisms share one such mu, T
information mechanisms the other. L = 1 + log(2n/eta) throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.linear.bounds import truncation_radius, whitened_second_moment
from dpstats.numerics.matrices import spectral_norm
from dpstats.report.bound import Bound, Premise
from dpstats.score_rounds.bounds import (
    SUB_GAUSSIAN,
    CallFacts,
    ReleasedSystem,
    enough_public,
    noise_below_half,
    noise_bounds,
)

LAST_STEP = "noise alone: distance of the last Newton step to the same without"
_FIT = "distance to the non-private fit (method='pmt')"
_FIT_WHITENED = "distance to the non-private fit, whitened (method='pmt')"


@dataclass(frozen=True)
class GlmFacts(CallFacts):
    """What the theorems ask for; everything public or released.

    Attributes
    ----------
    n, d, m, mu, eta, ridge
        As in `CallFacts`.
    steps : int
        Newton steps T.
    public : (d, d) array
        Public second moment S.
    released : (d, d) array
        Released information (1/n) sum h x x', in the user's coordinates, without the ridge.
    whitened : (d, d) array
        The same in whitened coordinates, S^-1/2 (.) S^-1/2.
    c1, c2 : float or None
        Bounds of the score |b'(eta) - y| and of the weight b''(eta); None where there is none.
    """

    steps: int
    public: Floats
    released: Floats
    whitened: Floats
    c1: float | None
    c2: float | None

    @property
    def rate(self) -> float:
        """sqrt(T d^3 log(2Td/eta)) / (mu n), mu of one mechanism."""
        return self.rate_of(self.steps)

    @property
    def gamma(self) -> float:
        """Gamma of Theorem 11: smallest eigenvalue of the released whitened Hessian, with the ridge.

        The paper's is tau L (1 - ...)^2 + ridge/|S| with unknown tau; the release stands for its
        first term.
        """
        return _smallest(self.whitened) + self.ridge / spectral_norm(self.public)

    @property
    def gamma_plain(self) -> float:
        """Smallest eigenvalue without whitening, in the user's coordinates."""
        return _smallest(self.released) + self.ridge

    @property
    def bounded(self) -> bool:
        """Whether scores and weights of the family are bounded."""
        return self.c1 is not None and self.c2 is not None

    @property
    def logistic(self) -> bool:
        """Whether Theorem 11 covers the family: scores at most 1, weights at most 1/4."""
        return self.c1 is not None and self.c2 is not None and self.c1 <= 1 and self.c2 <= 0.25


def _smallest(matrix: Floats) -> float:
    return float(np.linalg.eigvalsh(matrix)[0])


def _error(noise: float, gamma: float, most: float = math.inf) -> float:
    """noise / gamma^2, one gamma capped at ``most``; infinite where the loss is not convex."""
    curved = gamma * min(gamma, most) if gamma > 0 else 0.0
    return noise / curved if curved > 0 else math.inf


# |gradient| <= min(gamma r, gamma^2 / Lipschitz constant) at the start. Both radius and constant are
# those of the private sample, and with Lemma 5.2's constant the region is far smaller than what
# works in practice, so that "not known" is all that can be said.
_START = Premise("start inside the region where Newton's method converges", None)


def _enough_steps(facts: GlmFacts) -> Premise:
    """T = O(log log n), from below: steps beyond it only cost the sqrt(T) that the rate contains."""
    least = math.log(math.log(max(facts.n, 3)))
    return Premise("T of the order log log n", facts.steps >= least)


def _logistic(facts: GlmFacts) -> Premise:
    return Premise("scores at most 1 and weights at most 1/4 (logistic)", facts.logistic)


def _rate(facts: GlmFacts, statement: str, value: float, source: str, *premises: Premise) -> Bound:
    """A distance by a theorem on Newton's method, which asks for more than its own premises."""
    usual = (_START, _enough_steps(facts), SUB_GAUSSIAN)
    return Bound(statement, "l2", value, 1 - facts.eta, source, "rate", (*premises, *usual))


def privacy(facts: GlmFacts) -> Bound:
    """Theorem 10 (ridge paper), Theorems 5.2 and 5.5 (preprint): the steps compose to sqrt(2) mu.

    Each of T steps releases a score and an information matrix at mu/sqrt(T) each: 2 T mu^2/T = 2 mu^2,
    which is the total of the call squared. With ``|x| <= sqrt(dL)`` the sensitivities are 2 sqrt(dL)
    c1/n and at most 2 dL c2/n, so that sigma2 = 2 sqrt(T d L) c1/(mu n) and sigma1 = 2 sqrt(T) d L
    c2/(mu n). Algorithm 3 as printed runs over t = 0, ..., T: its guarantee is for the T updates that
    its output uses. c1 and c2 must hold at every iterate, also at those that noise throws far out.
    """
    return Bound(
        f"privacy of {facts.steps} Newton steps, two mechanisms each",
        "mu",
        math.hypot(facts.each, facts.each),
        None,
        "ridge paper, Theorem 10; preprint, Theorems 5.2 and 5.5",
        "identity",
        (
            Premise(
                "scores and weights bounded, by the family or by truncation of each row",
                True if facts.bounded else None,
            ),
        ),
    )


def equivalence(facts: GlmFacts) -> Bound:
    """Theorem 9 (ridge paper), Corollary 5.1 (preprint): Newton's iterates do not see the whitening.

    With Lw(b) = L(S^-1/2 b) the gradient is S^-1/2 times and the Hessian S^-1/2 (.) S^-1/2 of that of
    L, ridge included, so that a step from S^1/2 b in the whitened space is S^1/2 times the step from b.
    """
    return Bound(
        "distance of noiseless Newton iterates with and without whitening",
        "l2",
        0.0,
        1.0,
        "ridge paper, Theorem 9; preprint, Theorem 5.1 and Corollary 5.1",
        "identity",
        (
            Premise("public second moment positive definite", _smallest(facts.public) > 0),
            Premise("no row truncated", None),
        ),
    )


def strong_convexity(facts: GlmFacts) -> tuple[Bound, Bound]:
    """Lemma 5.1 (preprint): convexity of the loss, with whitening and without; larger is better.

    The two are in different coordinates and units: only with columns of comparable scale may they be
    compared.
    """
    source = "preprint, Lemma 5.1"
    public = (enough_public(facts, math.log(1 / facts.eta)), SUB_GAUSSIAN)
    return (
        Bound(
            "strong convexity of the whitened loss (from below)",
            "spectral",
            facts.gamma,
            1 - facts.eta,
            source,
            "rate",
            public,
        ),
        Bound(
            "strong convexity of the loss without whitening (from below)",
            "spectral",
            facts.gamma_plain,
            1 - facts.eta,
            source,
            "rate",
            (SUB_GAUSSIAN,),
        ),
    )


def hessian_lipschitz(facts: GlmFacts) -> Bound:
    """Lemma 5.2 (preprint): Lipschitz constant of the whitened Hessian, c2 (dL)^(3/2).

    ``|H(b) - H(b')| <= max|b'''| max|x|^3 |b - b'|``, and no truncated row is longer than sqrt(dL). For
    the logit and log links ``|b'''| <= b''`` everywhere, so that c2 serves.
    """
    value = math.inf if facts.c2 is None else facts.c2 * (facts.d * facts.log_factor) ** 1.5
    return Bound(
        "Lipschitz constant of the whitened Hessian (method='pmt')",
        "spectral",
        value,
        None,
        "preprint, Lemma 5.2",
        "rate",
        (Premise("third derivative of b at most its second (logit and log links)", None),),
    )


def convergence(facts: GlmFacts) -> Bound:
    """Theorem 11 (ridge paper), Theorem 5.3 (preprint): the T-th iterate, in whitened coordinates.

    sqrt(T d^3 log(2Td/eta)) L / (mu n gamma^2). The print has L under the root; the noise, whose sd is
    proportional to d L, and equation (3.2) of the same paper put it outside.
    """
    noise = facts.rate * facts.log_factor
    return _rate(
        facts,
        _FIT_WHITENED,
        _error(noise, facts.gamma),
        "ridge paper, Theorem 11; preprint, Theorem 5.3",
        _logistic(facts),
        enough_public(facts, math.log(1 / facts.eta)),
        noise_below_half(noise, facts.gamma),
    )


def convergence_private_only(facts: GlmFacts) -> Bound:
    """Theorem 5.4 (preprint): the same from private data alone, in the user's coordinates.

    The mean of the eigenvalues of S stands for that of the private second moment, which no release
    shows. For comparison only: the theorem's radius is taken from the private rows.
    """
    mean = float(np.trace(facts.public)) / facts.d
    noise = facts.rate * (mean + math.log(facts.n / facts.eta))
    gamma = facts.gamma_plain
    return _rate(
        facts,
        "the same from private data alone",
        _error(noise, gamma),
        "preprint, Theorem 5.4",
        _logistic(facts),
        noise_below_half(noise, gamma),
    )


def convergence_family(facts: GlmFacts) -> Bound:
    """Theorem 5.5 (preprint): the T-th iterate for a family with constants c1 and c2, whitened.

    sqrt(T d log(2Td/eta)) (c2 d L + c1 sqrt(d L)) / (mu n gamma^2): the norms of the two noises of
    Algorithm 4. With c1 <= 1, c2 <= 1/4 and gamma <= 1 it is at most Theorem 11's as soon as d L >=
    16/9. A score noise is divided by gamma once only, so that gamma stands for gamma^2 where it
    exceeds 1. The constants depend on n for unbounded weights: over predictors up to B sqrt(dL), the
    Poisson c2 is exp(B sqrt(dL)), and a declared range of the predictor must replace it.
    """
    gamma, size = facts.gamma, facts.d * facts.log_factor
    if facts.c1 is None or facts.c2 is None:
        information = noise = math.inf
    else:
        unit = facts.rate / facts.d
        information = unit * facts.c2 * size
        noise = information + unit * facts.c1 * math.sqrt(size)
    return _rate(
        facts,
        _FIT_WHITENED,
        _error(noise, gamma, most=1.0),
        "preprint, Theorem 5.5",
        Premise("scores and weights bounded by c1 and c2", facts.bounded),
        enough_public(facts, math.log(1 / facts.eta)),
        noise_below_half(information, gamma),
    )


def recovered(bound: Bound, facts: GlmFacts) -> Bound:
    """Remark 5 (ridge paper), Remark 5.3 (preprint): a whitened bound in the user's coordinates.

    By Theorem 9 the coefficients are S^-1/2 times the whitened ones.
    """
    smallest = _smallest(facts.public)
    return replace(
        bound,
        statement=_FIT,
        value=bound.value / math.sqrt(smallest) if smallest > 0 else math.inf,
        source=f"{bound.source}; ridge paper, Remark 5",
    )


def last_step_bounds(system: ReleasedSystem, eta: float) -> tuple[Bound, ...]:
    """What noise did in the last Newton step, given everything before it, and what cuts may have done.

    The first bound is exact. Let b be the last anchor, s the mean truncated score there, A the
    truncated information. The step released solves (U + P)(step) = s + g - P b, with U made from
    A + G; without noise it would solve (A + P)(step) = s - P b. This is the system of
    `distance_to_noiseless_fit`, and its proof carries over word for word: given the earlier releases,
    b, s and A are fixed and g and G have their nominal laws, and on the event that neither is larger
    than its quantile the rest is algebra. As that event needs no independence of G and b, an
    information matrix released at an earlier anchor may be used again; A is then that anchor's, and
    the probability is over the noise since then.

    It bounds what noise did in the last step. It does not bound the quadratic remainder that Newton's
    method leaves from b, which holds the noise of the earlier steps, nor the effect of truncation.

    A step shortened to a share c of the solution solves the system with U replaced by (U + P)/c - P:
    the bound then refers to the full step without noise, and holds with that matrix as ``used``.
    The simulated quantile is of noise alone: what flooring or shortening took is not in it.
    """
    return noise_bounds(system, eta, LAST_STEP)


def _rates(facts: GlmFacts) -> tuple[Bound, ...]:
    """The papers' rates that speak of this family; none without bounds of scores and weights."""
    general = (convergence_family(facts),) if facts.bounded else ()
    theirs = (convergence(facts),) if facts.logistic else ()
    alone = (convergence_private_only(facts),) if facts.logistic else ()
    main = theirs + general
    # the first is what a page shows, hence in the user's coordinates and ahead of its comparison
    return (*(recovered(bound, facts) for bound in main), *alone, *main)


def glm_bounds(facts: GlmFacts, system: ReleasedSystem) -> tuple[Bound, ...]:
    """Everything that can be said about a private generalised linear fit, the sharpest first."""
    lipschitz = () if facts.c2 is None else (hessian_lipschitz(facts),)
    return (
        *last_step_bounds(system, facts.eta),
        *_rates(facts),
        equivalence(facts),
        *strong_convexity(facts),
        *lipschitz,
        *whitened_second_moment(facts),
        truncation_radius(facts),
        privacy(facts),
    )
