"""The classifiers of `classes` from private rows alone: no public rows, and no limits."""

from tests.benchmarks.others.classes import ALONE as CASES

__all__ = ["CASES"]
