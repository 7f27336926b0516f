"""Why public rows do not determine the columns of a formula, and the ways out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from dpstats.errors import PublicDataError
from dpstats.frame.design import Design
from dpstats.frame.formula.aliases import far_powers
from dpstats.frame.formula.grammar import Factor
from dpstats.frame.table import Array, Levels

_DIGITS = 1e-10
"""Share of the rows below which there is none."""


@dataclass(frozen=True)
class Undetermined:
    """Second moments (d, d) of ``m`` rows, which may be unknown; ``ridge``: whether one is a way out."""

    design: Design
    gram: Array
    m: int | None
    ridge: bool

    def refuse_baselines(self) -> None:
        """Raise where all rows have other levels than the one that these are compared with."""
        one = self.design.constant
        places = {column.parts: j for j, column in enumerate(self.design.program)}
        for text, factor in self.design.factors.items():
            coding, names = factor.fields.coding, factor.expr.columns
            own = [places.get(((text, name),)) for name in factor.fields.reduced]
            if one is None or coding is None or len(names) != 1 or None in own:
                continue
            table = np.array([coding[name] for name in factor.fields.reduced])
            indicators = ((table == 0) | (table == 1)).all() and (table.sum(axis=0) <= 1).all()
            share = sum(self.gram[j, j] for j in own if j is not None)
            if indicators and share > self.gram[one, one] * (1 - _DIGITS):
                levels = self.design.columns[names[0]].levels or ()
                self._refuse_baseline(names[0], levels, table.sum(axis=0).argmin())

    def _refuse_baseline(self, name: str, levels: Levels, baseline: int) -> NoReturn:
        others = [level for k, level in enumerate(levels) if k != baseline]
        several = len(others) > 1
        without = (
            f"declare the others, limits={{'{name}': {others}}}, or make the public column with "
            ".cat.remove_unused_categories()"
            if several
            else f"leave `{name}` out of the formula"
        )
        code = Factor(name, "column").code
        other = f", or compare with another level, relevel({code}, ref={others[0]!r})"
        raise PublicDataError(
            f"{self._what()}: none has the level {levels[baseline]!r} of `{name}`, with which the other "
            f"levels are compared. If it does not occur, {without}. Else use public rows that have it, "
            "or make up a few (without looking at private rows)"
            f"{other if several and self.ridge else ''}; or leave out public=, which most functions do "
            "not need."
        )

    def refuse_powers(self, involved: Sequence[str]) -> None:
        """Powers of a column that is far from zero need no more rows, but another origin."""
        reason = far_powers(self.design, involved, self._lies)
        if reason is not None:
            raise PublicDataError(reason)

    def _lies(self, name: str) -> tuple[float, float]:
        """Mean and standard deviation of a column of the design."""
        terms = self.design.terms
        base, one = terms.index(name), terms.index("Intercept")
        mean = float(self.gram[one, base])
        return mean, math.sqrt(max(float(self.gram[base, base]) - mean**2, 0.0))

    def refuse(self, why: str, name: str) -> NoReturn:
        """Raise, and say what to do about a column such as ``name``."""
        raise PublicDataError(
            f"{self._what()}: {why}. "
            + (
                "A natural spline spans the constant: write cr(x, df=4, constraints='center'), or "
                "drop the constant with - 1."
                if "cr(" in name and "Intercept" in self.design.terms
                else f"Use more public rows, or leave a column such as '{name}' out of the formula"
                + (
                    "; or make up a few public rows that have what is missing (without looking at "
                    "private rows), or call public_moments(formula, public).with_ridge(0.01)"
                    if self.ridge
                    else ""
                )
                + "; or leave out public=, which most functions do not need."
            )
        )

    def _what(self) -> str:
        sample = "the declared moments" if self.m is None else f"the {self.m} public rows"
        return (
            f"{sample} cannot identify the {len(self.design.terms)} columns of "
            f"'{self.design.formula}'"
        )
