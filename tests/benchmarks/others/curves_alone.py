"""The curves of `curves` from private rows alone: no public rows, no limits, no bandwidth."""

from tests.benchmarks.others.curves import ALONE as CASES

__all__ = ["CASES"]
