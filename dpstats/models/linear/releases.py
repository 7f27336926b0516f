"""The releases of a linear model: moments of the design, and scores of residuals."""

from __future__ import annotations

from dataclasses import dataclass

from dpstats.accounting.privacy import Cost, Privacy
from dpstats.arrays import Floats
from dpstats.mechanism.claims import COUNTS, GRAM, PRODUCT, VECTOR, Claim
from dpstats.mechanism.lattice import ExactMatrix
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import Integers, RowSource
from dpstats.mechanism.release import Release, release_vector
from dpstats.mechanism.session import RowSummary, Session, clamp_to_safe_range
from dpstats.models.linear.rows import LinearRows
from dpstats.numerics.histogram import LogHistogram


@dataclass(frozen=True)
class Score:
    """One released score round: the mean of z u."""

    value: Floats
    noise_sd: float


@dataclass(frozen=True)
class _Scores:
    """Which histogram of scores: at an anchor, over a window."""

    anchor: bytes
    lowest: int
    octaves: int

    @classmethod
    def of(cls, anchor: Floats, lowest: int, octaves: int) -> _Scores:
        return cls(anchor.tobytes(), lowest, octaves)


class LinearSession(Session[LinearRows]):
    """Spends a total on releases from the rows of a linear model.

    Parameters
    ----------
    source : RowSource
        The encoded private table.
    whitening : (d, d) array
        Public matrix applied to every row.
    shift : (d,) array
        Public coefficients whose fit is taken off every response.
    total : Privacy
        What the call may spend.
    noise : Noise
        Secure or seeded.
    prepared : ExactMatrix, optional
        Whitening and shift as `passes.coarse_map` has rounded them.
    """

    def __init__(
        self,
        source: RowSource,
        whitening: Floats,
        shift: Floats,
        total: Privacy,
        noise: Noise,
        prepared: ExactMatrix | None = None,
    ) -> None:
        super().__init__(LinearRows(source, whitening, shift, prepared), total, noise)

    def length_histogram(self, share: float, lowest: int, octaves: int) -> LogHistogram:
        """Where the lengths of the whitened rows lie. A replaced row moves two counts by one."""
        cost = self._spend(share)
        counts = self._rows.norm_counts(lowest, octaves)
        release = self._counts("histogram of row lengths", counts, cost)
        return LogHistogram.of(release, lowest, octaves)

    def gram(
        self,
        share: float,
        radius: float,
        *,
        what: str = "second moments of the design",
        papers: bool = False,
        prefetch: tuple[Floats, int, int] | None = None,
    ) -> Release:
        """Mean of z z' over the rows cut to ``radius``.

        ``prefetch`` is what `score_histogram` will be asked next, so that both take one reading of the
        rows; its counts stay here until then, unreleased.

        Sensitivity and the papers' variant: see `Session._moments`.
        """
        cost, radius = self._spend(share), clamp_to_safe_range(radius)
        self._rows.cut(radius)
        if prefetch is None:
            total = self._rows.gram()
        else:
            total, counts = self._rows.gram_and_score_counts(*prefetch)
            self._once(_Scores.of(*prefetch), lambda: counts)
        return self._moments(what, total, radius, cost, papers=papers)

    def cross(self, share: float, response_clip: float) -> Release:
        """Mean of z y, rows and responses cut separately: |z| <= R, |y| <= B.

        Sensitivity of the sum: two vectors of length at most R B differ by at most 2 R B.
        """
        cost, response_clip = self._spend(share), clamp_to_safe_range(response_clip)
        steps = self._rows.grid.steps
        unit = (self._rows.radius / steps) * (response_clip / steps)
        return self._record(
            release_vector(
                "moments of design and response",
                self._rows.cross(response_clip),
                2.0 * steps**2,
                unit / self.n,
                cost,
                self._noise,
            )
        )

    def score_histogram(
        self, share: float, anchor: Floats, lowest: int, octaves: int
    ) -> LogHistogram:
        """Where the lengths of the scores z e lie, e the residual at ``anchor``.

        A replaced row moves two counts by one.
        """
        cost = self._spend(share)
        window = anchor, lowest, octaves
        counts = self._once(_Scores.of(*window), lambda: self._rows.score_counts(*window))
        release = self._counts("histogram of score lengths", counts, cost)
        return LogHistogram.of(release, lowest, octaves)

    def score(self, share: float, anchor: Floats, clip: float, residual_clip: float) -> Score:
        """Mean of the scores at ``anchor``, each cut to length ``clip``.

        Sensitivity of the sum: two vectors of length at most ``clip`` differ by at most 2 clip.
        """
        cost = self._spend(share)
        clip, residual_clip = clamp_to_safe_range(clip), clamp_to_safe_range(residual_clip)
        sums = self._rows.score_sums(anchor, clip, residual_clip, residual_clip)
        return self._release_score(sums.score, cost, clip, residual_clip)

    def final_score(
        self,
        shares: tuple[float, float, float],
        anchor: Floats,
        clip: float,
        residual_clip: float,
        square_clip: float,
    ) -> tuple[Score, RowSummary]:
        """The last score with the mean squared residual and the shares of cut and empty rows.

        ``shares`` go to the score, to the squares and to the two counts together. Sensitivities:
        2 clip for the score; for the others see `Session._summary`.
        """
        costs = [self._spend(share) for share in shares]
        clip, residual_clip, square_clip = (
            clamp_to_safe_range(clip),
            clamp_to_safe_range(residual_clip),
            clamp_to_safe_range(square_clip),
        )
        sums = self._rows.score_sums(anchor, clip, residual_clip, square_clip)
        score = self._release_score(sums.score, costs[0], clip, residual_clip)
        totals = sums.squares, sums.cut, sums.empty
        rest = self._summary("mean squared residual", totals, square_clip, (costs[1], costs[2]))
        return score, rest

    def _release_score(
        self, total: Integers, cost: Cost, clip: float, residual_clip: float
    ) -> Score:
        steps = self._rows.grid.steps
        unit = (self._rows.radius / steps) * (residual_clip / steps)
        release = self._record(
            release_vector("mean score", total, 2 * clip / unit, unit / self.n, cost, self._noise)
        )
        return Score(release.value, release.noise_sd)


CLAIMS = (
    Claim("histogram of row lengths", COUNTS, "sqrt(2)", "LinearRows.norm_counts"),
    Claim("second moments of the design", GRAM, "sqrt(2) R^2 (papers: 2 R^2)", "Session._moments"),
    Claim("joint moments of design and response", GRAM, "sqrt(2) R^2", "Session._moments"),
    Claim("histogram of score lengths", COUNTS, "sqrt(2)", "LinearRows.score_counts"),
    Claim("mean score", VECTOR, "2 C", "LinearSession.score"),
    Claim("moments of design and response", PRODUCT, "2 R B", "LinearSession.cross"),
)
