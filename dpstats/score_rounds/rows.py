"""Rows of a model that is fitted by score steps: whitened, and seen through a family at an anchor.

A row (x, y, offset, w) passes through the following maps, each of which depends on that row and on
public or released numbers only, so that replacing a row changes one term of every sum:

1. whitening: z = W'x with a public matrix W, and eta0 = offset + x'b with public coefficients b
   (`lattice.exact_product`, in full precision before anything is rounded). With a truncation radius, as
   in the papers, z <- min(1, R/|z|) z. Of large tables z is kept with 24 bits (`_shortened`): a function
   of the row as well, and the row that everything below is about;
2. at an anchor t: eta = eta0 + z't; the family gives the derivative r of the log-likelihood by eta (at
   unit dispersion), its expected curvature h and the Pearson residual e. The prior weight multiplies
   r and h, its root e;
3. score s = z r, perhaps less a part of it along one released direction, cut to |s| <= C; information
   row q = sqrt(h) z, cut to |q| <= R_h. The score is that of the whole row: only its own length is
   bounded.
   Bounds lie between 2^-200 and 2^200 (`session.clamp_to_safe_range`), so that steps and products of
   them are normal floats;
4. rounding of q to the grid R_h/steps and of s to the grid C/fine (see `Grid`), both bounds shrunk by
   half a grid diagonal, sqrt(d)/2 steps, and a step for what floats lose, first, so that they hold
   after the rounding too. For outer
   products s s' the cut score is rounded to the coarser grid C/steps in the same way.

With a ``leverage`` R, rows longer than that have the weight (R/|z|)^2 in r, h and e^2, |z| with the root
of the prior weight: the information row is then w z with w = R/|z|, cut to R, and the score w^2 z r is
that of the weighted row, so that the curvature is that of the scores. Where the model is right, weights
by z alone do not bias it.

A linear model is one whose family has r = e = y - eta and h = 1.

A row that is not finite after step 1, or whose response the family does not know (a negative count),
is replaced by zeros. What a family returns is trusted to depend on the row alone and on nothing else:
whatever is not finite in it becomes zero, and no bound above relies on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpstats.arrays import Floats
from dpstats.mechanism.lattice import ExactMatrix, exact_gram, scratch_space
from dpstats.mechanism.passes import (
    Block,
    Integers,
    RowSource,
    WhitenedRows,
    Whole,
    added_up,
    one_pass,
    squared_lengths,
)

# shorter rows would lose digits when their length is squared; in whitened units they are nothing
SHORTEST = 1e-100
_LONGEST = 2.0**100


class Family(Protocol):
    """What a family and its link say of rows, entry by entry."""

    def working(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Score r = dl/deta, expected curvature h >= 0 and Pearson residual e at unit dispersion."""

    def possible(self, y: Floats) -> NDArray[np.bool_]:
        """Which responses the family knows."""

    def expected_beyond(self, eta: Floats, unit: Floats, length: float) -> Floats | None:
        """Mean of what of scores, ``unit`` times r, is beyond a length; None: nothing is expected."""


class LeastSquares:
    """What a linear model is to score rounds: residuals as scores, and a curvature of 1."""

    def working(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Derivative by the fit, expected curvature (of all rows), and residual: y - eta, 1, y - eta."""
        residual = y - eta
        return residual, np.ones(1), residual

    def possible(self, y: Floats) -> NDArray[np.bool_]:
        """Every number is a response."""
        return np.ones(len(y), dtype=np.bool_)

    def expected_beyond(self, eta: Floats, unit: Floats, length: float) -> None:
        """Errors of both signs are alike."""


@dataclass
class Slab:
    """Rows: z (d, b), |z|, eta0, y and the prior weight; zeros where they are not used.

    ``above`` is 1 where the weight was above its public bound, or a number outside its declared box;
    ``unused`` marks rows that are not used, if any: z may be zero of others, without a constant.
    ``seen`` is what the family last said of them, and where: rounds look at an anchor twice.
    """

    z: Floats
    norm: Floats
    eta: Floats
    y: Floats
    weight: Floats | None
    above: Floats | None
    unused: NDArray[np.bool_] | None = None
    seen: tuple[bytes, tuple[Floats, Floats, Floats]] | None = None

    def __repr__(self) -> str:
        return "<slab of private rows>"


@dataclass(frozen=True)
class Vectors:
    """Columns of ``z`` times ``factor``; ``norm`` are the lengths of the columns."""

    z: Floats
    norm: Floats
    factor: Floats

    def __repr__(self) -> str:
        return "<private vectors>"

    @classmethod
    def measured(cls, z: Floats, factor: Floats) -> Vectors:
        """With the lengths that columns of z have; where no float holds one, z is set to zero."""
        norm = np.sqrt(squared_lengths(z))
        lost = ~np.isfinite(norm)
        z[:, lost], norm[lost] = 0.0, 0.0
        return cls(z, norm, factor)

    def lengths(self) -> Floats:
        """How long each is: 0 where the column is, whatever its factor, which may be infinite."""
        return np.where(self.norm > 0, self.norm * np.abs(self.factor), 0.0)

    def beyond(self, length: float) -> Vectors:
        """What of the longer ones is beyond ``length``, in their directions."""
        lengths = self.lengths()
        (longer,) = np.nonzero(lengths > length)
        rest = 1 - length / lengths[longer]
        return Vectors(self.z[:, longer], self.norm[longer], self.factor[longer] * rest)

    def less(self, part: Floats) -> Vectors:
        """Vectors of z - w w'z in place of z, w being a vector shorter than 1."""
        w = part[:, None]
        z = np.array(self.z, dtype=np.float64, order="C")
        z -= w * added_up(w * z)
        return Vectors.measured(z, self.factor)


@dataclass(frozen=True)
class RoundCuts:
    """Where a round cuts, each a public or released number.

    Attributes
    ----------
    clip : float or None
        Length of scores; None where none are summed.
    radius : float or None
        Length of information rows; None where none are summed.
    square : float
        Size of residuals whose squares are summed.
    outer : bool
        Whether outer products of the cut scores are summed.
    excess : bool
        Whether what the cut takes off the lengths of scores is summed.
    far : float or None
        From which length on what of scores is beyond it is summed.
    less : (d,) array or None
        w: scores are those of z - w w'z, so that they are cut farther out along w.
    """

    clip: float | None
    radius: float | None
    square: float = 1.0
    outer: bool = False
    excess: bool = False
    far: float | None = None
    less: Floats | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """The lengths and the direction, to the bit."""
        less = None if self.less is None else self.less.tobytes()
        return self.clip, self.radius, self.square, self.far, less


@dataclass(frozen=True)
class ScoreTotals:
    """Exact totals of one pass (see `ScoreRows.sums`); None for what was not summed."""

    information: Integers | None
    score: Integers | None
    outer: Integers | None
    excess: Integers | None
    far: Integers | None
    squares: Integers
    cut: Integers
    empty: Integers
    outside: Integers
    partly: Integers

    def __repr__(self) -> str:
        return "<private totals>"


class ScoreRows(WhitenedRows[Slab]):
    """Rows of a generalised linear model; see the module's docstring and `WhitenedRows`.

    Parameters
    ----------
    family : Family
    truncation : float or None
        Radius R of step 1, a public number.

    Attributes
    ----------
    leverage : float or None
        Length from which rows have less weight; public or released.
    """

    _halves = True

    def __init__(
        self,
        source: RowSource,
        family: Family,
        whitening: Floats,
        shift: Floats,
        truncation: float | None = None,
        coarse: ExactMatrix | None = None,
    ) -> None:
        self._shortens = coarse is not None and self._halves
        super().__init__(source, whitening, shift, coarse)
        self._family = family
        self._truncation = truncation
        self.leverage: float | None = None

    def _encode(self, block: Block) -> tuple[Floats, tuple[Floats, ...]]:
        offset = np.zeros(len(block.y)) if block.offset is None else block.offset
        y = block.y  # NaN where a row cannot be used
        if block.usable is not None and not block.usable.all():
            y = np.where(block.usable, y, np.nan)
        columns = (y, offset)
        if block.weight is None and block.above is None:
            return block.x, columns
        above = np.zeros(len(block.y)) if block.above is None else block.above
        weight = np.ones(len(block.y)) if block.weight is None else block.weight
        return block.x, (*columns, weight, above)

    def _keep(self, x: Floats, columns: tuple[Any, ...], space: Floats) -> Slab:
        if not self._shortens:
            return super()._keep(x, columns, space)
        product = scratch_space("product", self.d + 1, space.shape[1])
        return self._shortened(super()._keep(x, columns, product), space)

    def _kept_numbers(self) -> int:
        return (self.d + 1) // 2 + 3 if self._shortens else super()._kept_numbers()

    def _shortened(self, slab: Slab, space: Floats) -> Slab:
        """Rows of a coarse map in half of the memory, each number rounded to 24 bits.

        A row of another size than 2^-100 to 2^100 is cut to that length, or left out; nothing else of it
        could be told by floats of 32 bits. Of the others no number is moved by more than 2^-24 of their
        length, so that no row is longer than ``norm`` says.
        """
        norm, z = slab.norm, slab.z
        odd = np.flatnonzero((norm > _LONGEST) | (norm < 1 / _LONGEST))
        if odd.size:
            size = np.where(norm[odd] > 1, np.minimum(norm[odd], _LONGEST), 0.0)
            z[:, odd] *= size / np.maximum(norm[odd], SHORTEST)
            norm[odd] = size
        size, eta, y = space[-3:, : len(norm)]
        np.multiply(norm, 1 + 2.0**-22, out=size)
        eta[:], y[:] = slab.eta, slab.y
        kept = space[:-3].reshape(-1).view(np.float32)[: z.size].reshape(z.shape)
        kept[...] = z
        return Slab(kept, size, eta, y, slab.weight, slab.above, slab.unused)

    def _slab(
        self,
        z: Floats,
        exponent: NDArray[np.int32],
        norm: Floats,
        fitted: Floats,
        columns: tuple[Floats, ...],
    ) -> Slab:
        y, offset = columns[:2]
        weight, above = columns[2:] if len(columns) > 2 else (None, None)
        norm = self._placed(z, exponent, norm)
        eta = np.add(fitted, offset, out=fitted)
        alive = self._family.possible(y)
        for values in (norm, eta, y):
            if not np.isfinite(values.sum()):
                alive &= np.isfinite(values)
        if weight is not None:
            alive &= np.isfinite(weight) & (weight > 0)
        told = alive & (norm > SHORTEST)
        if not told.all():
            z[:, ~told] = 0.0
            norm = np.where(told, norm, 0.0)
        unused = None
        if not alive.all():
            eta, y = (np.where(alive, v, 0.0) for v in (eta, y))
            weight = None if weight is None else np.where(alive, weight, 0.0)
            unused = ~alive
        return Slab(z, norm, eta, y, weight, above, unused)

    def _placed(self, z: Floats, exponent: NDArray[np.int32], norm: Floats) -> Floats:
        """Lengths of rows, cut to the radius of step 1, in floats; and the rows, in place."""
        long = np.flatnonzero(exponent)
        if long.size:
            z[:, long] = np.ldexp(z[:, long], exponent[long])
            norm = np.ldexp(norm, exponent)
        if self._truncation is None:
            return norm
        kept = np.minimum(1.0, self._truncation / np.maximum(norm, 1e-300))
        z *= kept
        return np.asarray(norm * kept)

    def _working(self, slab: Slab, anchor: Floats) -> tuple[Floats, Floats, Floats]:
        """r, h and e of step 2, all finite, h >= 0; what was found at this anchor before is kept."""
        if isinstance(self._family, LeastSquares) and not anchor.any():
            return self._found(slab, anchor)  # sooner done than kept
        where = anchor.tobytes() + repr(self.leverage).encode()
        if slab.seen is None or slab.seen[0] != where:
            slab.seen = where, self._found(slab, anchor)
        return slab.seen[1]

    def _found(self, slab: Slab, anchor: Floats) -> tuple[Floats, Floats, Floats]:
        """What `_working` gives, computed anew."""
        found = self._family.working(self._predictor(slab, anchor), slab.y)
        r, h = (_finite(v) for v in found[:2])
        e = r if found[2] is found[0] else _finite(found[2])
        if h.min(initial=0.0) < 0:
            h = np.maximum(h, 0.0)
        weight = self._weight(slab)
        if weight is not None:
            r, h, e = r * weight, h * weight, e * np.sqrt(weight)
        return r, h, e

    def _predictor(self, slab: Slab, anchor: Floats) -> Floats:
        """eta at an anchor, added up in one fixed order."""
        if not anchor.any():
            return slab.eta
        terms = scratch_space("step", len(anchor) + 1, len(slab.eta))
        terms[0] = slab.eta
        _times(slab.z, anchor[:, None], terms[1:])
        return added_up(terms)

    def _weight(self, slab: Slab) -> Floats | None:
        """What rows weigh, by themselves and by their length."""
        if self.leverage is None:
            return slab.weight
        share = np.minimum(1.0, self.leverage / np.maximum(self._weighed(slab), 1e-300)) ** 2
        return share if slab.weight is None else share * slab.weight

    def _weighed(self, slab: Slab) -> Floats:
        """Lengths of rows with the root of their prior weight."""
        return slab.norm if slab.weight is None else slab.norm * np.sqrt(slab.weight)

    @one_pass
    def length_counts(
        self, anchor: Floats, windows: tuple[tuple[int, int] | None, tuple[int, int] | None]
    ) -> list[Integers | None]:
        """Histograms of |q| and |s| before any cut: a replaced row leaves one bin of each for another.

        Parameters
        ----------
        windows : pair of (lowest, octaves) or None
            For `octave_bins`, of |q| and of |s|; None for what is not counted.
        """

        def lengths(slab: Slab) -> tuple[Floats, ...]:
            r, h, _ = self._working(slab, anchor)
            of_rows, of_scores = (window is not None for window in windows)
            found = [self._stacked_lengths(slab, np.sqrt(h))] if of_rows else []
            return *found, *([self._scores(slab, r).lengths()] if of_scores else ())

        counts = iter(self._histograms(lengths, *(w for w in windows if w is not None)))
        return [None if window is None else next(counts) for window in windows]

    @one_pass
    def response_counts(self, lowest: int, octaves: int) -> Integers:
        """Histogram of |y| exp(-eta): a replaced row leaves one bin and enters another.

        eta is the linear predictor that rows carry, their offset for one: of a log link the mean of
        these is that of exp(x'b).
        """
        return self._histograms(lambda slab: (over_mean(slab),), (lowest, octaves))[0]

    @one_pass
    def long_scores(self, anchor: Floats, length: float, expected: bool = True) -> Integers:
        """Sum of what of s is beyond ``length``, cut to that length once more, in steps of length/fine.

        Less what the family expects of it, if that is to be ``expected``.

        Sensitivity when a row is replaced: 2 fine steps, as of two vectors of length at most ``fine``.
        """

        def work(slab: Slab) -> tuple[Floats]:
            r, _, _ = self._working(slab, anchor)
            return (self._beyond(slab, r, anchor, length, expected),)

        return self._sums(work, (self.d,))[0]

    def _beyond(
        self, slab: Slab, factor: Floats, anchor: Floats, length: float, less: bool
    ) -> Floats:
        """What a slab adds to `long_scores`."""
        beyond = self._long_scores(slab, factor, anchor, length, less)
        whole, _ = rounded(beyond, length, self.grid.fine)
        return np.asarray(whole.sum(axis=1))

    @one_pass
    def moments(self, radius: float) -> Integers:
        """Sum of z z' over rows cut to ``radius``, in squared grid steps (`Session._moments`)."""

        def work(slab: Slab) -> tuple[Whole]:
            whole, _ = self._stack(slab, np.ones(1), radius, self.grid.steps)
            return (exact_gram(whole, self.grid.rows),)

        return self._sums(work, (self.d, self.d))[0]

    @one_pass
    def sums(self, anchor: Floats, cuts: RoundCuts) -> ScoreTotals:
        """Totals of q q', s, s s', |s| - clip, what of s is far, and e^2; of cut rows, and others.

        q is cut to ``cuts.radius``, s to ``cuts.clip``, e to ``cuts.square``; e^2 is rounded to
        square^2/steps^2. What the cut takes off |s| counts as ``clip`` at most, and is rounded to
        clip/fine. Of what is far see `long_scores`; nothing is expected of it. A row that is not used
        counts as empty; or else as outside when a number or its weight lay beyond its limits; or else as
        cut when its score or its information row was; or else as partial: a person some of whose rows
        are not used.

        Sensitivities when a row is replaced, in steps: sqrt(2) steps^2 for each of the two matrices
        (`Session._moments`: outer products of vectors of length at most ``steps``), 2 fine steps for
        the score and for what is far (two vectors of length at most ``fine``), fine for what is cut off
        (in [0, fine]), steps^2 for the squares (in [0, steps^2]); sqrt(2) for the four counts: a row is
        in one of them at most.
        """
        steps, d = self.grid.steps, self.d

        def work(slab: Slab) -> tuple[Floats | Whole, ...]:
            r, h, e = self._working(slab, anchor)
            empty = self._empty(slab)
            cut = np.zeros(len(empty), dtype=np.bool_)
            parts: list[Floats | Whole] = []
            if cuts.radius is not None:
                q, long = self._stack(slab, np.sqrt(h), cuts.radius, steps)
                parts.append(exact_gram(q, self.grid.rows))
                cut |= long
            if cuts.clip is not None:
                scores = self._scores(slab, r)
                if cuts.less is not None:
                    scores = scores.less(cuts.less)
                s, long = rounded(scores, cuts.clip, self.grid.fine)
                parts.append(s.sum(axis=1))
                cut |= long
                if cuts.outer:
                    s, _ = rounded(scores, cuts.clip, steps)
                    parts.append(exact_gram(s, self.grid.rows))
                if cuts.excess:
                    excess = np.clip(scores.lengths() / cuts.clip - 1, 0.0, 1.0)
                    parts.append(np.rint(self.grid.fine * excess).sum(keepdims=True))
            if cuts.far is not None:
                parts.append(self._beyond(slab, r, anchor, cuts.far, less=False))
            if self.leverage is not None:
                cut |= self._any(slab, self._weighed(slab) > self.leverage)
            share = self._residual_sizes(slab, e)
            share /= cuts.square
            np.minimum(share, 1.0, out=share)
            share *= steps
            squares = np.rint(np.square(share, out=share), out=share)
            none, outside, partly = int(np.count_nonzero(empty)), 0, self._partly(slab)
            if none:
                squares[empty], cut[empty] = 0.0, False
            if slab.above is not None:
                beyond = self._any(slab, slab.above > 0) & ~empty
                cut, outside = cut & ~beyond, int(np.count_nonzero(beyond))
                partly = None if partly is None else partly & ~beyond
            unused = 0 if partly is None else np.count_nonzero(partly & ~cut & ~empty)
            counts = np.count_nonzero(cut), none, outside, unused
            return *parts, np.array([squares.astype(np.int64).sum(), *counts])

        matrix, score = cuts.radius is not None, cuts.clip is not None
        outer, taken = score and cuts.outer, score and cuts.excess
        far = cuts.far is not None
        shapes = (
            [(d, d)] * matrix + [(d,)] * score + [(d, d)] * outer + [(1,)] * taken + [(d,)] * far
        )
        totals = iter(self._sums(work, *shapes, (5,)))
        return ScoreTotals(
            next(totals) if matrix else None,
            next(totals) if score else None,
            next(totals) if outer else None,
            next(totals) if taken else None,
            next(totals) if far else None,
            *np.split(next(totals), 5),
        )

    # -- what a row adds to each sum; a person's rows, where `PersonRows` has the same by persons --

    def _scores(self, slab: Slab, factor: Floats) -> Vectors:
        """Scores: z times ``factor``."""
        return Vectors(slab.z, slab.norm, factor)

    def _long_scores(
        self, slab: Slab, factor: Floats, anchor: Floats, length: float, less: bool
    ) -> Vectors:
        """What of scores is beyond ``length``, less what the family expects of it.

        Both lie along the row. Of the first no more than ``length`` counts; of the difference neither,
        by the cut of `long_scores`, whatever the family says.
        """
        scores, weight = self._scores(slab, factor), self._weight(slab)
        if not less or isinstance(self._family, LeastSquares):  # of which nothing is expected
            return scores.beyond(length)
        unit = slab.norm if weight is None else slab.norm * weight
        expected = self._family.expected_beyond(self._predictor(slab, anchor), unit, length)
        if expected is None:
            return scores.beyond(length)
        beyond = np.sign(factor) * np.clip(scores.lengths() - length, 0.0, length)
        rest = np.where(np.isfinite(expected), beyond - expected, 0.0)
        (some,) = np.nonzero(rest)
        norm = slab.norm[some]
        return Vectors(slab.z[:, some], norm, rest[some] / np.maximum(norm, SHORTEST))

    def _stacked_lengths(self, slab: Slab, factor: Floats) -> Floats:
        """Lengths of what `_stack` cuts."""
        return np.asarray(slab.norm * factor)

    def _stack(
        self, slab: Slab, factor: Floats, radius: float, steps: int
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Rows z times ``factor``, cut for their Gram and rounded; and which were cut."""
        return rounded(Vectors(slab.z, slab.norm, factor), radius, steps)

    def _residual_sizes(self, slab: Slab, residual: Floats) -> Floats:
        """Sizes whose squares are summed, in memory of their own."""
        return np.abs(residual)

    def _any(self, slab: Slab, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which have a mark."""
        return marked

    def _partly(self, slab: Slab) -> NDArray[np.bool_] | None:
        """Which are partly used; None: none has parts."""
        return None

    def _empty(self, slab: Slab) -> NDArray[np.bool_]:
        """Which count nowhere."""
        return np.zeros(len(slab.y), dtype=np.bool_) if slab.unused is None else slab.unused


def rounded(vectors: Vectors, bound: float, steps: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Vectors cut to the length ``bound``, in whole steps; and which were cut.

    They lie in memory that the next step uses again.

    They are shrunk by half a grid diagonal, and a step for what the floats lose, before they are
    rounded: no vector is longer than ``steps`` steps afterwards.
    """
    z, norm, factor = vectors.z, vectors.norm, vectors.factor
    step = bound / steps
    inner = (steps - (math.sqrt(len(z)) / 2 + 1)) * (1 - 1e-12)
    with_step = factor / step
    over = norm * np.abs(with_step) > inner
    scale = with_step
    if over.any():
        # in steps, inner / norm is a normal float for every finite norm: no digit of it is lost
        scale = np.where(over, np.sign(factor) * (inner / norm), with_step)
    scale = np.where(norm > 0, scale, 0.0)
    whole = _times(z, scale, scratch_space("step", *z.shape))
    return np.rint(whole, out=whole), over


def _finite(values: Floats) -> Floats:
    """Zeros for what is not finite."""
    return values if np.isfinite(values.sum()) else np.where(np.isfinite(values), values, 0.0)


def _times(z: Floats, factor: Floats, out: Floats) -> Floats:
    """z times ``factor``, in 64 bits; numpy is slow where it multiplies floats of two kinds."""
    if z.dtype == out.dtype:
        return np.multiply(z, factor, out=out)
    np.copyto(out, z)
    return np.multiply(out, factor, out=out)


@np.errstate(all="ignore")
def over_mean(slab: Slab) -> Floats:
    """|y| exp(-eta) of rows, at the linear predictor that they carry; 0 where that is no number."""
    found = np.abs(slab.y) * np.exp(-slab.eta)
    return np.where(np.isfinite(found), found, 0.0)
