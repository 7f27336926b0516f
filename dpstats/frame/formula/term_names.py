"""Names of coefficients as their users write them: R's spelling, other blanks, another order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

from dpstats.frame.formula.r_spelling import call_in_python

_BETWEEN = re.compile(r":(?![^\[(]*[\])])")
_LEVEL = re.compile(r"\[(?:T\.)?([^\[\]]*)\]$")
_BLANK = re.compile(r"[\s`]")
_TRUTH = re.compile(r"(True|False)$")
_MOST_PARTS = 3


def squeezed(text: str) -> str:
    """A name, or an equation of names, in Python's spelling and without blanks.

    Examples
    --------
    >>> squeezed("I(age^2) = 2 * (Intercept)")
    'I(age**2)=2*Intercept'
    """
    plain = call_in_python(text.replace("(Intercept)", "Intercept")).replace('"', "'")
    return _BLANK.sub("", plain)


def term_spellings(terms: Sequence[str]) -> dict[str, str]:
    """Terms by what they may be called, squeezed; what could be two of them is left out.

    Examples
    --------
    >>> list(term_spellings(["I(x ** 2)", "g[T.b]:z"]))
    ['I(x**2)', 'g[T.b]:z', 'z:g[T.b]', 'gb:z', 'z:gb']
    """
    found: dict[str, set[str]] = {}
    own: dict[str, set[str]] = {}
    for term in terms:
        own.setdefault(squeezed(term), set()).add(term)
        own.setdefault(_BLANK.sub("", term), set()).add(term)  # as in backticks
        for spelling in _spellings(squeezed(term)):
            found.setdefault(spelling, set()).add(term)
    found |= own  # the name of a term is no other's
    return {spelling: min(meant) for spelling, meant in found.items() if len(meant) == 1}


def term_named(name: Any, terms: Sequence[str]) -> Any:
    """The term that a name stands for, or the name as it is.

    Examples
    --------
    >>> term_named("I(x^2)", ["x", "I(x ** 2)"]), term_named("zz", ["x"])
    ('I(x ** 2)', 'zz')
    """
    if not isinstance(name, str) or name in terms:
        return name
    return term_spellings(terms).get(squeezed(name), name)


def terms_named(names: Any, terms: Sequence[str]) -> Any:
    """`term_named` of one name, or of each in a list."""
    return (
        [term_named(n, terms) for n in names]
        if isinstance(names, list | tuple)
        else term_named(names, terms)
    )


def _spellings(term: str) -> Iterator[str]:
    """A squeezed name, with its parts in every order, with levels in brackets and as R has them."""
    parts = _BETWEEN.split(term)
    for made in (parts, [_as_in_r(part) for part in parts]):
        orders = permutations(made) if len(made) <= _MOST_PARTS else [made]
        yield from (":".join(order) for order in orders)
    if len(parts) == 1 and _LEVEL.search(term):
        yield _TRUTH.sub(lambda found: found[0].upper(), _as_in_r(term))


def _as_in_r(part: str) -> str:
    return _LEVEL.sub(r"\1", part)
