"""To come."""

from __future__ import annotations

from tests.benchmarks.others.tables import Case

CASES: dict[str, Case] = {}
