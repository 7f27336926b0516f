"""What the bounds of all private regressions share: the numbers of a call, rates, ranges, premises.

And the distance of what was solved to the fit with the same cuts and without noise, which needs no
theorem of a model: a system of linear equations, and the law of its noise. What cuts did is not in it,
and cannot be bounded: nothing released says how long the longest score is. It is estimated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpstats.arrays import Floats
from dpstats.numerics.matrices import spectral_norm, with_inverse
from dpstats.report.bound import Bound, Premise

SUB_GAUSSIAN = Premise("rows sub-Gaussian, public and private of one law", None)


@dataclass(frozen=True)
class CallFacts:
    """The numbers of a call that every theorem asks for; all public.

    Attributes
    ----------
    n, d : int
    m : int or None
        Public rows, None when only a published matrix is known.
    mu : float
        Total of the call.
    eta, ridge : float
    """

    n: int
    d: int
    m: int | None
    mu: float
    eta: float
    ridge: float

    @property
    def each(self) -> float:
        """The papers' mu, that of one of two mechanisms: total/sqrt(2)."""
        return self.mu / math.sqrt(2)

    @property
    def log_factor(self) -> float:
        """1 + log(2n/eta), the square of the papers' radius per dimension."""
        return 1 + math.log(2 * self.n / self.eta)

    @property
    def sample_factor(self) -> float:
        """1 - sqrt(d/n) - sqrt(log(1/eta)/n), at least 0."""
        return max(1 - math.sqrt(self.d / self.n) - math.sqrt(math.log(1 / self.eta) / self.n), 0.0)

    def rate_of(self, steps: int) -> float:
        """sqrt(T d^3 log(2Td/eta)) / (mu n), mu of one mechanism shared by T steps."""
        logarithm = math.log(2 * steps * self.d / self.eta)
        return float(math.sqrt(steps * self.d**3 * logarithm) / (self.each * self.n))


def whitening_range(facts: CallFacts, log_term: float) -> tuple[float, float] | None:
    """L and U of Theorem 3 (ridge paper), None without a number of public rows."""
    if facts.m is None:
        return None
    root, shift = math.sqrt(facts.m), math.sqrt(facts.d) + math.sqrt(log_term)
    upper = facts.m / (root - shift) ** 2 if root > shift else math.inf
    return facts.m / (root + shift) ** 2, upper


def enough_public(facts: CallFacts, log_term: float) -> Premise:
    """The theorems' condition on the number of public rows."""
    text = "sqrt(m) >= sqrt(d) + sqrt(log(1/eta))"
    if facts.m is None:
        return Premise(text, None)
    return Premise(text, math.sqrt(facts.m) >= math.sqrt(facts.d) + math.sqrt(log_term))


def noise_below_half(noise: float, gap: float) -> Premise:
    """The theorems' condition for inverting a noisy matrix."""
    return Premise(
        "noise at most half the smallest eigenvalue", bool(gap > 0 and noise / gap <= 0.5)
    )


@dataclass(frozen=True)
class ReleasedSystem:
    """The noisy linear system that was solved, in whitened coordinates.

    (U + P) move = s + g - P anchor, where U stands for the noiseless moment A = ``released`` - G.

    Attributes
    ----------
    released, used : (d, d) arrays
        The moment as released and as used.
    moments_sd : float
        Noise sd on the diagonal of G.
    isometric : bool
        Off-diagonal noise sd/sqrt(2) (True) or sd (False, the papers').
    penalty : (d, d) array
    move : (d,) array
        What the solution moved from its anchor(s).
    noise_sd : float
        Noise sd per coordinate of g.
    back : (d, d) array
        S^(-1/2): whitened coefficients to the user's.
    turn : (d, d) array, optional
        g is this times noise that is alike in all directions.
    moved : float or None
        How far cuts may have moved the solution, by the tail that was released, and what steps left of
        the way; in the user's coordinates. None where nothing was released that tells.
    """

    released: Floats
    used: Floats
    moments_sd: float
    isometric: bool
    penalty: Floats
    move: Floats
    noise_sd: float
    back: Floats
    turn: Floats | None = None
    moved: float | None = None


NOISELESS_FIT = "distance to the fit with the same cuts, without noise"
UNCUT_FIT = "distance to the fit without noise and without cuts"


def distance_to_noiseless_fit(
    system: ReleasedSystem, eta: float, statement: str = NOISELESS_FIT
) -> Bound:
    """Exact a-posteriori bound on the distance to the fit that the same cut rows give without noise.

    With H = A + P and any solution of (U + P) move = s + g - P anchor, subtracting H move0 = s - P
    anchor gives move - move0 = H^-1 (g - (U - A) move), and U - A = (U - M) + G for the released M =
    A + G. Hence, with probability at least 1 - eta over the noise alone,

        |move - move0| <= (g_eta + |(U - M) move| + G_eta |move|) / (lambda_min(M + P) - G_eta),

    whenever the denominator is positive: no hidden constant, every term released or known. g_eta =
    sd sqrt(d + 2 sqrt(d log(2/eta)) + 2 log(2/eta)) (Laurent, Massart) and G_eta = sd_G (sqrt(2d) +
    sqrt(2 log(4/eta))) for svec noise: the largest eigenvalues of G and of -G each have a mean of at
    most sd_G sqrt(2d) (Gordon) and are 1-Lipschitz in the svec coordinates, eta/4 for each. With sd_G
    in every entry the matrix is sqrt(2) times svec noise less a diagonal of variance sd_G^2, hence at
    most sqrt(2) larger in both terms. In the user's coordinates the bound is multiplied by |S^-1/2|.
    ``statement`` says what the noiseless solution is to the caller.
    """
    d = len(system.move)
    t = math.log(2 / eta)
    vector = system.noise_sd * math.sqrt(d + 2 * math.sqrt(d * t) + 2 * t)
    if system.turn is not None:
        vector *= spectral_norm(system.turn)
    spread = system.moments_sd * (1.0 if system.isometric else math.sqrt(2))
    matrix = spread * (math.sqrt(2 * d) + math.sqrt(2 * math.log(4 / eta)))
    smallest = float(np.linalg.eigvalsh(system.released + system.penalty)[0])
    shrunk = float(np.linalg.norm((system.used - system.released) @ system.move))
    top = vector + shrunk + matrix * float(np.linalg.norm(system.move))
    room = smallest - matrix
    value = top / room * spectral_norm(system.back) if room > 0 else math.inf
    return Bound(
        statement,
        "l2",
        value,
        1 - eta,
        "exact, a posteriori",
        "bound",
        (Premise("noise below the smallest released eigenvalue", room > 0),),
    )


def simulated_distance(
    system: ReleasedSystem, eta: float, draws: int = 2000, statement: str = NOISELESS_FIT
) -> Bound:
    """The (1 - eta) quantile of the same distance under the known noise law, by simulation.

    Post-processing with a fixed public seed; H is taken at the matrix that was used. G move is drawn
    as it is distributed, without G: with variance s^2 off the diagonal of G and 2 s^2 on it, its
    covariance is s^2 (|move|^2 I + move move'); with s^2 on the diagonal s^2 move_i^2 less of entry i.
    """
    rng = np.random.default_rng(20240501)
    move, d = system.move, len(system.move)
    inverse = with_inverse(system.used + system.penalty)[1]
    off = system.moments_sd / (math.sqrt(2) if system.isometric else 1.0)
    score = rng.normal(size=(draws, d)) * system.noise_sd
    if system.turn is not None:
        score = score @ system.turn.T
    with np.errstate(all="ignore"):  # a fit that is lost may be of any size
        others = move @ move - (0.0 if system.isometric else move**2)
        own = np.sqrt(np.maximum(others, 0.0))
        score -= off * (own * rng.normal(size=(draws, d)) + move * rng.normal(size=(draws, 1)))
        error = score @ inverse @ system.back.T
        value = float(np.quantile(np.linalg.norm(error, axis=1), 1 - eta))
    return Bound(
        statement,
        "l2",
        value,
        1 - eta,
        "noise law through the released moments",
        "simulated",
    )


def estimated_distance(system: ReleasedSystem, noise: Bound) -> tuple[Bound, ...]:
    """Distance to the fit without privacy: a bound of the noise, and what cuts may have moved.

    The first part is that of ``noise``, a quantile. The second is the mean length of what was cut off
    the scores, as the released histogram lets expect it, carried to the coefficients as if all of it
    had the worst direction. It is no bound: rows fewer than the noise of a count are not seen.
    """
    if system.moved is None:
        return ()
    return (
        Bound(
            UNCUT_FIT,
            noise.norm,
            noise.value + system.moved,
            None,
            "noise, and the released tail of scores",
            "estimated",
            (Premise("the tail of the scores is as the histogram lets expect", None),),
        ),
    )


def noise_bounds(
    system: ReleasedSystem, eta: float, statement: str = NOISELESS_FIT
) -> tuple[Bound, ...]:
    """What noise did, by a bound and by simulation, and what cuts may have done as well."""
    simulated = simulated_distance(system, eta, statement=statement)
    exact = distance_to_noiseless_fit(system, eta, statement)
    return exact, simulated, *estimated_distance(system, simulated)
