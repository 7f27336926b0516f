"""What cuts take off scores that is known without counting these: by public rows, and by their number.

Noisy counts show no few rows. How many there are of a kind, and how long their scores, may be known of
public rows, of a first look at responses, and of how long rows are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpstats.arrays import Floats
from dpstats.models.linear.prepare import Prepared
from dpstats.score_rounds.cuts import (
    PRODUCT_QUANTILE,
    Seen,
    gaussian_lengths,
    loss_of,
    loss_of_few,
    loss_of_lone_rows,
    loss_of_long_rows,
    loss_of_marks,
    most_of,
)
from dpstats.score_rounds.tails import WHOLE

Loss = Callable[[Floats], Floats]
_ONE_WAY = 3.0
"""Times as much of what is cut is weighed, and counts in errors, where it may all point one way."""
_SHORT = 4.0
"""Times the residuals of most rows that the mean square may be before a few rows are what makes it."""
_FEW = 0.15
"""Share of responses that differ from all others, below which no quantile shows their size."""
_ABOVE_ONE, _ABOVE_ANY = 1.25, 4.0
"""Times that size that residuals are at most: of zeros and ones, and of others."""
_SHOWN = 32.0
"""Times the noise of a count, as many differing responses as show how long they are."""
_EXPONENTIAL = -np.log2(1 - (np.arange(16) + 0.5) / 16)
"""Sizes of few responses, if they are not all one, in units of the middle one: with a tail."""
_OF_ANY_SIZE = float(np.sqrt(np.mean(_EXPONENTIAL**2)))


@dataclass(frozen=True)
class Few:
    """Residuals where few responses differ: their root mean square, and how long they are at most."""

    root: float = 0.0
    longest: float = 0.0


@dataclass(frozen=True)
class KnownLosses:
    """What a cut takes off scores of ``d`` coordinates, by what was ``ready`` before the rounds."""

    ready: Prepared
    d: int

    def all(self, seen: Seen, *, weighed: bool) -> Loss:
        """Of scores that are known to be there, though counts may not show them.

        Of few rows, which do not balance; of few responses that differ; and of long rows, unless these
        are ``weighed``, so that their scores are short, or counts are whole numbers, which show all
        there is.
        """
        histogram, tail = seen.histogram, seen.tail
        parts = [loss_of_lone_rows(tail, seen.n, self.d), *self.of_few(seen)]
        if not weighed and histogram.noise_sd >= WHOLE:
            residual = tail.quantile / PRODUCT_QUANTILE / math.sqrt(self.d)
            some = min(tail.rows / histogram.rows(seen.n), 1.0)
            parts.append(loss_of_long_rows(self.ready.longer, residual, some))
        return most_of(*parts)

    def of_few(self, seen: Seen) -> list[Loss]:
        """Of few rows of which public ones know, or a first look."""
        return [*self._public(seen), *self._differing(seen)]

    def rest_on_few(self, seen: Seen) -> bool:
        """Whether few responses differ, and by amounts that only public rows can tell."""
        if self.ready.marks is not None:
            return False  # zeros and ones differ by one
        return bool(self._public(seen))

    @cached_property
    def few_differ(self) -> Few:
        """Responses of which few differ from the others.

        No quantile of residuals tells their scale then, and rounds that follow one forget the few.
        """
        look = self.ready.look
        if look is None or look.alike or not 0 < look.others < _FEW:
            return Few()
        times, longest = (1.0, _ABOVE_ONE) if look.by_one else (_OF_ANY_SIZE, _ABOVE_ANY)
        return Few(times * math.sqrt(look.others) * look.scale, longest * look.scale)

    def differing(self, seen: Seen) -> tuple[float, Floats]:
        """The share of responses that differ, where most do not, and what lengths their scores have.

        About those of their middle size; with a tail, where they are too few for counts to show it.
        """
        look, expected = self.ready.look, self.ready.expected
        if look is None or expected is None:
            return 0.0, np.zeros(1)
        shown = look.by_one or look.others * seen.n > _SHOWN * seen.histogram.noise_sd
        sizes = np.ones(1) if shown else _EXPONENTIAL
        lengths = expected / math.sqrt(self.d) * gaussian_lengths(self.d)
        return look.others, np.outer(lengths, sizes).ravel()

    def _differing(self, seen: Seen) -> list[Loss]:
        """Of the mean score where few responses differ.

        A cut that followed the scores of the many alike would take nearly all that the others say.
        """
        share, sizes = self.differing(seen)
        return [loss_of(share, sizes)] if share else []

    def _public(self, seen: Seen) -> list[Loss]:
        """Of scores that public rows know of, and noisy counts may not show.

        Of rare marks, where responses are zeros and ones: all of it may point one way. And of the few
        rows that make the mean square of public residuals, where most are far shorter.
        """
        ready, parts = self.ready, list[Loss]()
        if not ready.arrived or seen.histogram.noise_sd < WHOLE:
            return []
        if ready.marks is not None:
            of_marks = loss_of_marks(ready.marks, self.d)
            parts.append(lambda length: _ONE_WAY * of_marks(length))
        square = self._square_of_few(seen)
        if square > 0:
            parts.append(loss_of_few(square))
        return parts

    def _square_of_few(self, seen: Seen) -> float:
        """What few rows make of the mean square of public scores; nothing where the others may.

        Nor where public residuals are longer than private ones, but alike: those are of other units.
        """
        if self.ready.few_differ is False:
            return 0.0
        body = _SHORT * seen.tail.quantile / PRODUCT_QUANTILE
        return max((self.ready.expected or 0.0) ** 2 - body**2, 0.0)
