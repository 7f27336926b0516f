"""The releases of a generalised linear model: information and score at an anchor."""

from __future__ import annotations

from dpstats.accounting.privacy import Cost, Privacy
from dpstats.arrays import Floats
from dpstats.mechanism.claims import COUNTS, GRAM, SQUARE, VECTOR, Claim
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.release import Release, release_vector
from dpstats.mechanism.session import RowSummary, Session, clamp_to_safe_range
from dpstats.models.glm.rows import Family, FamilyRows, FamilySums
from dpstats.numerics.histogram import LogHistogram

Window = tuple[int, int]


class FamilySession(Session[FamilyRows]):
    """Spends a total on releases from the rows of a generalised linear model.

    Parameters
    ----------
    source : RowSource
        The encoded private table.
    family : Family
    whitening : (d, d) array
        Public matrix applied to every row.
    shift : (d,) array
        Public coefficients whose linear predictor is added to every offset.
    truncation : float or None
        Public radius to which whitened rows are cut before the family sees them (the papers').
    total : Privacy
        What the call may spend.
    noise : Noise
        Secure or seeded.
    """

    def __init__(
        self,
        source: RowSource,
        family: Family,
        whitening: Floats,
        shift: Floats,
        truncation: float | None,
        total: Privacy,
        noise: Noise,
    ) -> None:
        super().__init__(FamilyRows(source, family, whitening, shift, truncation), total, noise)
        self._source, self._family = source, family

    def whiten(self, whitening: Floats, shift: Floats) -> None:
        """Read the rows through another public or released matrix from now on."""
        self._rows.close()
        self._rows = FamilyRows(self._source, self._family, whitening, shift)

    def length_histograms(
        self, share: float, anchor: Floats, windows: tuple[Window, Window]
    ) -> tuple[LogHistogram, LogHistogram]:
        """Where the lengths of information rows and of scores at ``anchor`` lie.

        Replacing a row lowers and raises a count in each of the two: one vector of counts with l2
        sensitivity 2, split evenly.
        """
        costs = [self._spend(share / 2) for _ in windows]
        counts = self._rows.length_counts(anchor, windows)
        names = "histogram of information lengths", "histogram of score lengths"
        first, second = (
            LogHistogram.of(self._counts(name, count, cost), *window)
            for name, count, window, cost in zip(names, counts, windows, costs, strict=True)
        )
        return first, second

    def response_histogram(self, share: float, lowest: int, octaves: int) -> LogHistogram:
        """Where the absolute responses lie. A replaced row moves two counts by one."""
        cost = self._spend(share)
        counts = self._rows.response_counts(lowest, octaves)
        release = self._counts("histogram of responses", counts, cost)
        return LogHistogram.of(release, lowest, octaves)

    def moments(self, share: float, radius: float) -> Release:
        """Mean of z z' over rows cut to ``radius``; sensitivity in `Session._moments`."""
        cost, radius = self._spend(share), clamp_to_safe_range(radius)
        total = self._rows.moments(radius)
        return self._moments("second moments of the design", total, radius, cost)

    def round(
        self,
        shares: tuple[float, float],
        anchor: Floats,
        radius: float,
        clip: float,
        *,
        papers: bool = False,
    ) -> tuple[Release, Release]:
        """Mean information q q' and mean score s at ``anchor``, cut to ``radius`` and ``clip``.

        Sensitivities of the sums: sqrt(2) radius^2 (`Session._moments`) and 2 clip, the distance of
        two vectors no longer than ``clip``.
        """
        costs = [self._spend(share) for share in shares]
        radius, clip = clamp_to_safe_range(radius), clamp_to_safe_range(clip)
        sums = self._rows.sums(anchor, radius, clip, 1.0)
        return self._release_round(sums, costs, radius, clip, papers)

    def final_round(
        self,
        shares: tuple[float, float, float, float],
        anchor: Floats,
        radius: float,
        clip: float,
        pearson_clip: float,
    ) -> tuple[Release, Release, RowSummary]:
        """The last `round` with the mean squared Pearson residual and the shares of cut and empty rows.

        ``shares`` go to the information, the score, the squares (0: none) and the two counts together.
        Sensitivities of the latter: `Session._summary`.
        """
        information_cost, score_cost, counts_cost = (self._spend(shares[k]) for k in (0, 1, 3))
        squares_cost = self._spend(shares[2]) if shares[2] else None
        radius, clip, pearson_clip = (
            clamp_to_safe_range(radius),
            clamp_to_safe_range(clip),
            clamp_to_safe_range(pearson_clip),
        )
        sums = self._rows.sums(anchor, radius, clip, pearson_clip)
        information, score = self._release_round(
            sums, [information_cost, score_cost], radius, clip, False
        )
        rest = self._summary(
            "mean squared Pearson residual",
            (sums.pearson, sums.cut, sums.empty),
            pearson_clip,
            (squares_cost, counts_cost),
        )
        return information, score, rest

    def _release_round(
        self, sums: FamilySums, costs: list[Cost], radius: float, clip: float, papers: bool
    ) -> tuple[Release, Release]:
        fine = self._rows.grid.fine
        information = self._moments(
            "information at the anchor", sums.information, radius, costs[0], papers=papers
        )
        score = self._record(
            release_vector(
                "mean score",
                sums.score,
                2.0 * fine,
                clip / fine / self.n,
                costs[1],
                self._noise,
            )
        )
        return information, score


CLAIMS = (
    Claim("histogram of information lengths", COUNTS, "sqrt(2)", "FamilyRows.length_counts"),
    Claim("histogram of score lengths", COUNTS, "sqrt(2)", "FamilyRows.length_counts"),
    Claim("histogram of responses", COUNTS, "sqrt(2)", "FamilyRows.response_counts"),
    Claim("second moments of the design", GRAM, "sqrt(2) R^2", "Session._moments"),
    Claim("information at the anchor", GRAM, "sqrt(2) R^2 (papers: 2 R^2)", "FamilySession.round"),
    Claim("mean score", VECTOR, "2 C", "FamilySession.round"),
    Claim("mean squared Pearson residual", SQUARE, "c^2", "Session._summary"),
)
