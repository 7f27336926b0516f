"""The releases of a model fitted by score steps: scores, their outer products, information, scales."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from dpstats.accounting.privacy import Cost, Privacy
from dpstats.arrays import Floats
from dpstats.errors import PrivacyError
from dpstats.mechanism.claims import COUNTS, GRAM, SQUARE, VECTOR, Claim
from dpstats.mechanism.lattice import ExactMatrix, Grid
from dpstats.mechanism.noise import Noise, check_largest
from dpstats.mechanism.passes import Integers, RowSource
from dpstats.mechanism.release import Release
from dpstats.mechanism.session import Session, clamp_to_safe_range
from dpstats.numerics.histogram import LogHistogram, merged
from dpstats.score_rounds.coarse import coarse_map
from dpstats.score_rounds.person_rows import MOST_OCTAVES, PersonRows
from dpstats.score_rounds.rows import Family, LeastSquares, RoundCuts, ScoreRows, ScoreTotals

Window = tuple[int, int]
Windows = tuple[Window | None, Window | None]
_OF_A_DESIGN = "histogram of row lengths", "second moments of the design"
_AT_AN_ANCHOR = "histogram of information lengths", "information at the anchor"
_LONG = "mean of long scores"
_EXCESS = "mean of what the cut takes off scores"
_SHARES = "shares of truncated and of empty rows"
_SHARES_OUTSIDE = "shares of truncated rows, of empty ones and of those outside limits"
_SHARES_OF_PERSONS = "shares of truncated and of empty persons, and of those with unused rows"
_SHARES_OF_LIMITED_PERSONS = (
    "shares of truncated persons, of empty ones, of those outside limits, and with unused rows"
)


@dataclass(frozen=True)
class Shares:
    """Shares of the total's mu^2 that the releases of a round cost; 0 for what is not released."""

    information: float = 0.0
    score: float = 0.0
    outer: float = 0.0
    squares: float = 0.0
    counts: float = 0.0
    excess: float = 0.0
    far: float = 0.0

    @property
    def of_scores(self) -> bool:
        """Whether anything is released of the scores."""
        return max(self.score, self.outer, self.excess) > 0

    def __add__(self, other: Shares) -> Shares:
        return Shares(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class RowSummary:
    """Mean squared residual, if asked for, and shares of rows, with their noise.

    Attributes
    ----------
    mean_square : float or None
    mean_square_sd : float
    cut_share, empty_share : float
    share_sd : float
    outside : float or None
        Share of rows beyond declared limits, or of weights above their bound, where there are such.
    partly : float or None
        Share of persons some of whose rows are not used, where rows are summed up over persons.
    """

    mean_square: float | None
    mean_square_sd: float
    cut_share: float
    empty_share: float
    share_sd: float
    outside: float | None = None
    partly: float | None = None


@dataclass(frozen=True)
class Round:
    """What a round has released; None for what it has not."""

    information: Release | None
    score: Release | None
    outer: Release | None
    excess: Release | None
    far: Release | None
    summary: RowSummary | None


@dataclass(frozen=True)
class PersonCounts:
    """How many rows persons have.

    Attributes
    ----------
    rows, rows_sd : float
        All rows, and the noise.
    most : int
        Of nobody more were counted.
    """

    rows: float
    rows_sd: float
    most: int


def _safe(bound: float | None) -> float | None:
    return None if bound is None else clamp_to_safe_range(bound)


def require_share(grid: Grid, mu: float, share: float) -> None:
    """Refuse a total ``mu`` of which so small a share could not be released.

    No total of a round is larger in its own steps than steps^2 or 2 fine.
    """
    largest = max(math.sqrt(2) * grid.steps**2, 2.0 * grid.fine)
    check_largest(largest / (mu * math.sqrt(share)))


class ScoreSession(Session[ScoreRows]):
    """Spends a total on releases from the rows of a model fitted by score steps.

    Parameters
    ----------
    source : RowSource
        The encoded private table.
    family : Family
    whitening : (d, d) array
        Public matrix applied to every row.
    shift : (d,) array
        Public coefficients whose linear predictor is added to every offset.
    total : Privacy
        What the call may spend.
    noise : Noise
        Secure or seeded.
    truncation : float, optional
        Public radius to which whitened rows are cut before the family sees them (the papers').
    coarse : ExactMatrix, optional
        Whitening and shift as `coarse.coarse_map` has rounded them.
    persons : {"all", "within"} or None
        The source yields rows of whole persons: a sum has one term for each person (`PersonRows`), of
        all rows or of what is left within persons.
    after : Session, optional
        What was released before, of the same total.
    limited : bool
        Numbers are cut to declared limits, or weights to a bound.
    keeps : bool
        Persons are not forgotten at the end, as another session goes on with them.

    Attributes
    ----------
    passes : int
        Passes over the rows so far, those of the session before included. The number follows from what
        was released; a table that fits in memory is read less often.
    """

    def __init__(
        self,
        source: RowSource,
        family: Family,
        whitening: Floats,
        shift: Floats,
        total: Privacy,
        noise: Noise,
        truncation: float | None = None,
        coarse: ExactMatrix | None = None,
        *,
        persons: str | None = None,
        after: Session[Any] | None = None,
        limited: bool = False,
        keeps: bool = False,
    ) -> None:
        self._persons, self._limited, self._keeps = persons, limited, keeps
        self.passes: int = getattr(after, "passes", 0)
        self._source, self._family, self._truncation = source, family, truncation
        super().__init__(self._seen(whitening, shift, coarse), total, noise, after)
        linear = isinstance(family, LeastSquares)  # information rows are rows of the design
        self._names = _OF_A_DESIGN if linear else _AT_AN_ANCHOR

    def __exit__(self, *error: Any) -> None:
        try:
            super().__exit__(*error)
        finally:
            forget = getattr(self._source, "forget", None)
            if forget is not None and not (self._keeps and error[0] is None):
                forget()

    @property
    def persons(self) -> str | None:
        """Whether a sum has one term for each person, and of what; see the class."""
        return self._persons

    @property
    def by_person(self) -> bool:
        """Whether a sum has one term for each person."""
        return self._persons is not None

    @property
    def within(self) -> bool:
        """Whether effects of persons are taken out."""
        return self._persons == "within"

    def _seen(self, whitening: Floats, shift: Floats, coarse: ExactMatrix | None) -> ScoreRows:
        how = self._source, self._family, whitening, shift, self._truncation, coarse
        if self._persons is None:
            return ScoreRows(*how)
        return PersonRows(*how, within=self._persons == "within")

    def _read(self) -> ScoreRows:
        """The rows, for one more pass over them."""
        self.passes += 1
        return self._rows

    def require(self, share: float) -> None:
        """Refuse, before a row is read, a total of which so small a share could not be released."""
        require_share(self._rows.grid, self.total.mu, share)

    def allows(self, share: float) -> bool:
        """Whether so small a share could be released."""
        try:
            self.require(share)
        except PrivacyError:
            return False
        return True

    def whiten(
        self, whitening: Floats, shift: Floats, residual: float = 0.0
    ) -> tuple[Floats, Floats]:
        """Read the rows through another public or released matrix from now on.

        Returns both as they are used: of large tables they are rounded, where residuals of this public
        size do not notice (`coarse.coarse_map`).
        """
        self._exact.clear()
        coarse = None
        if residual:
            whitening, shift, coarse = coarse_map(self._source, whitening, shift, residual)
        before, self._rows = self._rows, self._seen(whitening, shift, coarse)
        self._rows.instead_of(before)
        return whitening, shift

    @property
    def leverage(self) -> float | None:
        """From which length on rows weigh less; None: all weigh the same."""
        return self._rows.leverage

    def weigh(self, leverage: float | None) -> None:
        """From which length on rows weigh less, from now on (`rows`); None: all weigh the same."""
        self._exact.clear()
        self._rows.leverage = _safe(leverage)

    def rows_of_persons(self, share: float) -> PersonCounts:
        """How many rows persons have: a histogram, then all rows, of nobody more than it shows.

        A person is in one count at most, sqrt(2); and adds a whole number between 0 and ``most``, which
        another takes the place of: ``most``.
        """
        rows = self._read()
        assert isinstance(rows, PersonRows)
        costs = self._spend(share / 2), self._spend(share / 2)
        found = self._counts("histogram of rows per person", rows.row_histogram(), costs[0])
        histogram = LogHistogram.of(found, 0, MOST_OCTAVES)
        most = histogram.largest()
        fine = 2**36 // most  # on as fine a lattice as scores
        self._read()
        total = rows.row_count(most) * fine
        release = self._vector("rows of persons", total, float(most * fine), 1 / fine, costs[1])
        return PersonCounts(float(release.value[0]), release.noise_sd, most)

    def information_lengths(
        self, share: float, anchor: Floats, windows: Windows, fine: int | None = None
    ) -> LogHistogram:
        """Where the lengths of information rows at ``anchor`` lie; a replaced row moves two counts.

        Beyond the first ``fine`` octaves, rows are counted by whole octaves, with less noise in all. The
        scores of the second window are counted by the same reading of the rows, for `score_lengths` to
        release.
        """
        return self._lengths(0, share, anchor, windows, fine)

    def score_lengths(
        self, share: float, anchor: Floats, windows: Windows, fine: int | None = None
    ) -> LogHistogram:
        """Where the lengths of scores at ``anchor`` lie; a replaced row moves two counts.

        ``fine``: see `information_lengths`.
        """
        return self._lengths(1, share, anchor, windows, fine)

    def _lengths(
        self,
        which: int,
        share: float,
        anchor: Floats,
        windows: Windows,
        fine: int | None = None,
    ) -> LogHistogram:
        cost, window = self._spend(share), windows[which]
        keys = [("lengths", k, anchor.tobytes(), window) for k, window in enumerate(windows)]
        if keys[which] not in self._exact:
            self._exact.update(zip(keys, self._read().length_counts(anchor, windows), strict=True))
        counts = self._exact[keys[which]]
        assert window is not None
        name = (self._names[0], "histogram of score lengths")[which]
        if fine is not None:
            counts = merged(counts, fine)
        return LogHistogram.of(self._counts(name, counts, cost), *window, fine)

    def response_histogram(self, share: float, lowest: int, octaves: int) -> LogHistogram:
        """Where the absolute responses lie. A replaced row moves two counts by one."""
        cost = self._spend(share)
        counts = self._read().response_counts(lowest, octaves)
        release = self._counts("histogram of responses", counts, cost)
        return LogHistogram.of(release, lowest, octaves)

    def long_scores(
        self, share: float, anchor: Floats, length: float, expected: bool = True
    ) -> Release:
        """Mean of what of scores is beyond ``length``, cut to that length again.

        Less what the family expects of it, if that is to be ``expected``.
        The distance of two vectors that are no longer is 2 length.
        """
        cost, length = self._spend(share), clamp_to_safe_range(length)
        total = self._read().long_scores(anchor, length, expected)
        return self._mean_of(_LONG, total, length, cost)

    def moments(self, share: float, radius: float) -> Release:
        """Mean of z z' over rows cut to ``radius``; sensitivity in `Session._moments`."""
        cost, radius = self._spend(share), clamp_to_safe_range(radius)
        total = self._read().moments(radius)
        return self._moments("second moments of the design", total, radius, cost)

    def round(
        self,
        shares: Shares,
        anchor: Floats,
        cuts: RoundCuts,
        later: Shares | None = None,
        *,
        papers: bool = False,
    ) -> Round:
        """What ``shares`` pays for, by one reading of the rows, at ``anchor``.

        What ``later`` would pay for is summed as well: a round of these shares, at the same anchor and
        cuts, reads no rows.

        The mean information q q', the mean score s, the mean of its outer products s s', the mean of
        what the cut takes off |s|, the mean of what is far, the mean squared residual, and shares of
        rows. Sensitivities of the sums: sqrt(2) radius^2 and sqrt(2) clip^2 for the two matrices
        (`Session._moments`), 2 clip for the score, the distance of two vectors no longer than ``clip``;
        clip for what is taken off, which lies in [0, clip]; of what is far that of `long_scores`; for
        the rest `_of_rows`.
        """
        information, score, outer, excess, far, squares, counts = (
            self._spend(share) if share else None
            for share in (
                shares.information,
                shares.score,
                shares.outer,
                shares.excess,
                shares.far,
                shares.squares,
                shares.counts,
            )
        )
        summed = shares if later is None else shares + later
        key = "sums", anchor.tobytes(), cuts.key
        cuts = RoundCuts(
            clip=_safe(cuts.clip) if summed.of_scores else None,
            radius=_safe(cuts.radius) if summed.information else None,
            square=clamp_to_safe_range(cuts.square),
            outer=summed.outer > 0,
            excess=summed.excess > 0,
            far=_safe(cuts.far) if summed.far else None,
            less=cuts.less,
        )
        totals = self._exact.pop(key, None) or self._read().sums(anchor, cuts)
        if later is not None:
            self._exact[key] = totals
        return Round(
            self._matrix(self._names[1], totals.information, cuts.radius, information, papers),
            self._mean_score("mean score", totals.score, cuts.clip, score),
            self._matrix("outer products of the scores", totals.outer, cuts.clip, outer),
            self._mean_excess(totals.excess, cuts.clip, excess),
            self._mean_score(_LONG, totals.far, cuts.far, far),
            self._of_rows(totals, cuts.square, squares, counts),
        )

    def _matrix(
        self,
        what: str,
        total: Integers | None,
        radius: float | None,
        cost: Cost | None,
        papers: bool = False,
    ) -> Release | None:
        if total is None or radius is None or cost is None:
            return None
        return self._moments(what, total, radius, cost, papers=papers)

    def _of_rows(
        self, totals: ScoreTotals, square: float, squares: Cost | None, counts: Cost | None
    ) -> RowSummary | None:
        """What the last round says of residuals, cut to ``square``, and of rows.

        Sensitivities: square^2 for the sum of squares (each lies in [0, square^2]), sqrt(2) for the
        counts, of which a row is in one at most.
        """
        if counts is None:
            return None
        steps, n = self._rows.grid.steps, self.n
        mean_square, mean_square_sd = None, 0.0
        if squares is not None:
            what, unit = "mean squared residual", (square / steps) ** 2 / n
            release = self._vector(what, totals.squares, float(steps**2), unit, squares)
            mean_square, mean_square_sd = float(release.value[0]), release.noise_sd
        names = (_SHARES, _SHARES_OUTSIDE)
        counted = {"cut_share": totals.cut, "empty_share": totals.empty}
        if self._limited:
            counted["outside"] = totals.outside
        if self.by_person:
            names = (_SHARES_OF_PERSONS, _SHARES_OF_LIMITED_PERSONS)
            counted["partly"] = totals.partly
        named = names[self._limited]
        rows = self._counts(named, np.concatenate([*counted.values()]), counts, per=n)
        shares: dict[str, float] = dict(zip(counted, rows.value.tolist(), strict=True))
        return RowSummary(mean_square, mean_square_sd, share_sd=rows.noise_sd, **shares)

    def _mean_score(
        self, what: str, total: Integers | None, length: float | None, cost: Cost | None
    ) -> Release | None:
        if total is None or length is None or cost is None:
            return None
        return self._mean_of(what, total, length, cost)

    def _mean_excess(
        self, total: Integers | None, clip: float | None, cost: Cost | None
    ) -> Release | None:
        if total is None or clip is None or cost is None:
            return None
        fine = self._rows.grid.fine
        return self._vector(_EXCESS, total, float(fine), clip / fine / self.n, cost)

    def _mean_of(self, what: str, total: Integers, length: float, cost: Cost) -> Release:
        """A mean of vectors that are no longer than ``length``."""
        fine = self._rows.grid.fine
        unit = length / fine / self.n
        return self._vector(what, total, 2.0 * fine, unit, cost)


CLAIMS = (
    Claim("histogram of rows per person", COUNTS, "sqrt(2)", "ScoreSession.rows_of_persons"),
    Claim("rows of persons", SQUARE, "k", "ScoreSession.rows_of_persons"),
    Claim("histogram of row lengths", COUNTS, "sqrt(2)", "ScoreRows.length_counts"),
    Claim("histogram of information lengths", COUNTS, "sqrt(2)", "ScoreRows.length_counts"),
    Claim("histogram of score lengths", COUNTS, "sqrt(2)", "ScoreRows.length_counts"),
    Claim("histogram of responses", COUNTS, "sqrt(2)", "ScoreRows.response_counts"),
    Claim("second moments of the design", GRAM, "sqrt(2) R^2", "Session._moments"),
    Claim("information at the anchor", GRAM, "sqrt(2) R^2 (papers: 2 R^2)", "ScoreSession.round"),
    Claim("mean score", VECTOR, "2 C", "ScoreSession.round"),
    Claim(_LONG, VECTOR, "2 L", "ScoreSession.long_scores"),
    Claim("outer products of the scores", GRAM, "sqrt(2) C^2", "ScoreSession.round"),
    Claim(_EXCESS, SQUARE, "C", "ScoreSession.round"),
    Claim("mean squared residual", SQUARE, "c^2", "ScoreSession.round"),
    Claim(_SHARES, COUNTS, "sqrt(2)", "ScoreRows.sums"),
    Claim(_SHARES_OUTSIDE, COUNTS, "sqrt(2)", "ScoreRows.sums"),
    Claim(_SHARES_OF_PERSONS, COUNTS, "sqrt(2)", "ScoreRows.sums"),
    Claim(_SHARES_OF_LIMITED_PERSONS, COUNTS, "sqrt(2)", "ScoreRows.sums"),
)
