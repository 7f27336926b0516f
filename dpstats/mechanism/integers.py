"""Discrete Gaussian and Laplace numbers of any size, many at a time; no number is rounded.

*Law.* Mass proportional to exp(-f(|k|)) on every integer k, with f(k) = (k / scale)^power / power: 2 is
the Gaussian, 1 Laplace.

*Proposal.* With an integer w such that f(w) >= log 2, a block b >= 0 of probability 2^-(b+1), a place j
below w, each as likely, and a fair sign: k = +-(b w + j), of which -0 is refused. It is kept with
probability p = 2^b exp(-f(|k|)), at most 1 because f(|k|) >= f(b w) >= b f(w) >= b log 2. So every k
comes out with probability 2^-(b+1) p / (2 w), which is exp(-f(|k|)) / (4 w).

*Coin.* It is kept if U < p for a uniform U, of which as many bits are drawn as decide it: 64 and
floats, where these leave U and p further apart than 2^-32 (floats lose less than (f + 1) p 2^-48, and
f p <= 23 for b < 32, by f >= b log 2); else decimals, of more digits with every 64 bits more. Bits come
from the operating system's cryptographic generator.
"""

from __future__ import annotations

import math
import secrets
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDTH = {1: 0.6932, 2: 1.1775}  # a little above log 2 and sqrt(2 log 2)
_UNSURE = 2.0**-32
_BLOCKS = 32


def happens(part: int, whole: int) -> bool:
    """True with probability exactly part / whole."""
    return secrets.randbelow(whole) < part


def happens_exp(x: Fraction, doublings: int = 0, uniform: int = 0, bits: int = 0) -> bool:
    """True with probability exactly p = 2^doublings exp(-x), for x >= 0 where p is at most 1.

    That is U < p for a uniform U, whose first ``bits`` may be known. No number grows with x.
    """
    while True:
        if x < doublings + bits:
            digits = bits // 3 + 10
            with localcontext(Context(digits, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])):
                height = Fraction((-Decimal(x.numerator) / x.denominator).exp()) * 2**doublings
            # quotient and exponential are right to a part in 10^(digits - 1)
            lost = height * (x + 1) / 10 ** (digits - 2)
            if Fraction(uniform + 1, 2**bits) <= height - lost:
                return True
            if Fraction(uniform, 2**bits) >= height + lost:
                return False
        elif uniform:  # p <= 2^(doublings - x) <= 2^-bits <= U
            return False
        uniform, bits = uniform << 64 | secrets.randbits(64), bits + 64


def _block() -> int:
    block = 0
    while secrets.randbits(1):
        block += 1
    return block


def draw_one(scale: Fraction, power: int) -> int:
    """One number, for a scale of any size."""
    width = math.floor(Fraction(_WIDTH[power]) * scale) + 1
    while True:
        block, negative = _block(), secrets.randbits(1)
        size = block * width + secrets.randbelow(width)
        if not (negative and size == 0) and happens_exp((size / scale) ** power / power, block):
            return -size if negative else size


def draw(scale: float, size: int, power: int) -> NDArray[Any]:
    """So many independent numbers, for a scale up to 2^57: 64-bit integers, or Python's if need be."""
    if not 0 < scale <= 2.0**57:
        raise ValueError("a scale is a number > 0 and at most 2^57")
    width = math.floor(_WIDTH[power] * scale) + 1
    drawn: NDArray[Any] = np.empty(0, dtype=np.int64)
    while len(drawn) < size:
        tries = 2 * (size - len(drawn)) + 8
        random = np.frombuffer(secrets.token_bytes(24 * tries), dtype=np.uint64)
        place, coins, uniform = random.reshape(3, tries)
        low = coins & (2**_BLOCKS - 1)  # as many ones at its end as the block has
        block = np.frexp((~low & (low + 1)).astype(np.float64))[1].astype(np.int64) - 1
        sizes: NDArray[Any] = block * width + (place % width).astype(np.int64)
        height = np.ldexp(np.exp(-((sizes / scale) ** power) / power), block)
        apart = height - np.ldexp(uniform.astype(np.float64), -64)
        kept = apart > 0
        for k in np.flatnonzero((np.abs(apart) < _UNSURE) | (block == _BLOCKS)):
            more = _block() if block[k] == _BLOCKS else 0
            sizes = sizes.astype(object) if more else sizes
            sizes[k] += more * width
            x = (int(sizes[k]) / Fraction(scale)) ** power / power
            kept[k] = happens_exp(x, int(block[k]) + more, int(uniform[k]), 64)
        negative = coins >> 63 == 1
        kept &= (place <= 2**64 // width * width - 1) & ~(negative & (sizes == 0))
        drawn = np.concatenate([drawn, np.where(negative, -sizes, sizes)[kept]])
    return drawn[:size]
