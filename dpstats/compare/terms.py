"""Which terms a table of fits shows, in which order, and under which names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpstats.arguments import items, listed, mapping, shown
from dpstats.errors import ArgumentError

_MOST = 1000


@dataclass(frozen=True)
class Terms:
    """The choice of terms: patterns of those kept, dropped and put first, and names to print.

    Examples
    --------
    >>> terms = Terms.of({"educ": "Education"}, None, "^Inter", "educ")
    >>> terms.chosen(["Intercept", "age", "educ", "educ:age"])
    ['educ', 'educ:age', 'age']
    >>> terms.label("educ:age"), terms.label("educ[T.high]")
    ('Education x age', 'Education: high')
    >>> terms.label("educ::2:age"), terms.label("log(educ)")
    ('Education: 2 x age', 'log(Education)')
    """

    labels: Mapping[str, str]
    keep: tuple[re.Pattern[str], ...] = ()
    drop: tuple[re.Pattern[str], ...] = ()
    order: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, labels: Any, keep: Any, drop: Any, order: Any) -> Terms:
        """From the arguments of a table."""
        names = mapping("labels", labels, "{'educ': 'Years of education'}")
        if not all(isinstance(t, str) for pair in names.items() for t in pair):
            raise ArgumentError("labels must map texts to texts.")
        return cls(
            dict(names), _patterns("keep", keep), _patterns("drop", drop), _patterns("order", order)
        )

    def chosen(self, terms: Sequence[str]) -> list[str]:
        """The terms that are shown, in their order."""
        left = [
            term
            for term in terms
            if (not self.keep or _any(self.keep, term)) and not _any(self.drop, term)
        ]
        if terms and not left:
            raise ArgumentError(f"keep= and drop= leave no term; the terms are {listed(terms)}.")
        return sorted(left, key=self._rank)  # which is stable

    def _rank(self, term: str) -> int:
        found = (k for k, one in enumerate(self.order) if one.search(term))
        return next(found, len(self.order))

    def label(self, term: str) -> str:
        """The name to print: that of the whole term, or of its parts."""
        if not self.labels or term in self.labels:
            return self.labels.get(term, term)
        parts = re.split(r"(?<!:):(?!:)", term)
        named = [self._part(part) for part in parts]
        return term if named == parts else " x ".join(named)

    def _part(self, part: str) -> str:
        if part in self.labels:
            return self.labels[part]
        level = re.fullmatch(r"(.+?)(?:\[(?:T\.)?(.+)\]|::(.+))", part)
        if level is None:
            return self._within(part)
        column, value = level[1], level[2] or level[3]
        inner = re.fullmatch(r"(?:C|factor)\((\w+)\b.*\)", column)
        name = self.labels.get(column) or self.labels.get(inner[1] if inner else column)
        if name is not None:
            return f"{name}: {value}"
        return self._within(column) + part[len(column) :]

    def _within(self, text: str) -> str:
        """With the names of columns that a call reads."""
        return re.sub(
            r"\b[A-Za-z_]\w*\b(?![(=])", lambda name: self.labels.get(name[0], name[0]), text
        )


def _any(patterns: Sequence[re.Pattern[str]], term: str) -> bool:
    return any(pattern.search(term) for pattern in patterns)


def _patterns(name: str, value: Any) -> tuple[re.Pattern[str], ...]:
    if value is None:
        return ()
    given = [value] if isinstance(value, str) else items(value, _MOST)
    if given is None or not all(isinstance(one, str) for one in given):
        raise ArgumentError(
            f"{name} must be a regular expression or a list of them, not {shown(value)}."
        )
    try:
        return tuple(re.compile(one) for one in given)
    except re.error:
        raise ArgumentError(f"{name} is not a regular expression: {shown(value)}.") from None
