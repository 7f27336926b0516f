"""Wald tests of released coefficients: of linear hypotheses, and term by term."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dpstats.arguments import listed
from dpstats.arrays import Floats
from dpstats.errors import ArgumentError
from dpstats.frame import Design, linear_constraints, squeezed, term_spellings


def constraints(asked: Any, names: Sequence[str]) -> tuple[Floats, Floats, str]:
    """R and q of the hypothesis R b = q, and its text.

    ``asked`` is text such as ``"x1 = x2"``, several of them in a list, or a matrix R with a column for
    each coefficient.

    Examples
    --------
    >>> matrix, values, _ = constraints("x = 2 * z", ["Intercept", "x", "z"])
    >>> matrix.tolist(), values.tolist()
    ([[0.0, 1.0, -2.0]], [0.0])
    """
    texts = [asked] if isinstance(asked, str) else asked
    if isinstance(texts, list | tuple) and texts and all(isinstance(t, str) for t in texts):
        prefix = "b"
        while prefix in "".join(texts):  # a word that nobody has typed
            prefix += "_"
        plain = [f"{prefix}{k}_" for k in range(len(names))]
        try:
            stand = _stand_ins(names, plain)
            written = [_with_plain(squeezed(text), stand).replace("==", "=") for text in texts]
            equations = [
                one for text in written for part in text.split(",") for one in _pairs(part)
            ]
            matrix, values = linear_constraints(", ".join(equations), plain)
        except Exception as error:
            why = _line(error)
            for word, name in zip(plain, names, strict=True):
                why = why.replace(word, name)
            raise ArgumentError(
                f"the hypothesis {', '.join(texts)!r} cannot be read ({why}): write 'x1 = x2' "
                f"or 'x1 = 0', with names among {', '.join(names)}. Products and ratios of coefficients "
                "are for the delta method, with coef() and vcov()."
            ) from None
        shown = ", ".join(texts)
    else:
        try:
            matrix = np.atleast_2d(np.asarray([[]] if asked is None else asked, dtype=float))
        except (TypeError, ValueError):
            raise ArgumentError(
                "a hypothesis is text such as 'x1 = x2', a list of such texts, or a matrix."
            ) from None
        values, shown = np.zeros(len(matrix)), "R b = 0"
    if matrix.ndim != 2 or matrix.shape[1] != len(names) or not np.isfinite(matrix).all():
        raise ArgumentError(
            f"the matrix of a hypothesis needs {len(names)} columns of finite numbers, one for "
            f"each of {listed(names)}."
        )
    if not len(matrix):
        raise ArgumentError("the hypothesis is empty: write 'x1 = x2' or 'x1 = 0'.")
    if np.linalg.matrix_rank(matrix) < len(matrix):
        raise ArgumentError("the hypotheses are not independent: one follows from the others.")
    return matrix, values, shown


def _pairs(equation: str) -> list[str]:
    """``a = b = 0`` as a = b and b = 0; a sign at the beginning of a side as a difference from 0."""
    sides = [re.sub(r"^\s*-", "0 - ", side) for side in equation.split("=")]
    if len(sides) == 1:
        return sides
    return [f"{one} = {two}" for one, two in pairwise(sides)]


def _stand_ins(names: Sequence[str], plain: Sequence[str]) -> dict[str, str]:
    """Plain words by everything that names may be called."""
    word = dict(zip(names, plain, strict=True))
    return {spelling: word[name] for spelling, name in term_spellings(names).items()}


def _with_plain(text: str, stand: Mapping[str, str]) -> str:
    """A hypothesis with plain words in the place of names, the longest names first."""
    longest = sorted(stand, key=len, reverse=True)
    return re.sub("|".join(map(_whole, longest)), lambda found: stand[found[0]], text)


def _whole(name: str) -> str:
    """A name that is not a part of a longer word."""
    before = r"(?<![\w.:])" if re.match(r"\w", name) else ""
    after = r"(?![\w.:\[(])" if re.search(r"\w$", name) else r"(?![\w:])"
    return before + re.escape(name) + after


def _line(error: Exception) -> str:
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).split())[:200]


def columns_by_term(design: Design) -> list[tuple[frozenset[str], str, list[int]]]:
    """Factors, name and columns of every term but the constant, in the order of the formula."""
    out = []
    for term in design.rhs:
        factors = frozenset(f.text for f in term if f.kind != "literal")
        at = [
            j
            for j, column in enumerate(design.program)
            if column.parts and frozenset(text for text, _ in column.parts) == factors
        ]
        if factors and at:
            out.append((factors, ":".join(f.text for f in term if f.kind != "literal"), at))
    return out


def kept_beside(design: Design, k: int, type: int) -> list[int]:
    """Columns of the model in which the k-th term is tested.

    Of type 1 those of the terms before it, of type 2 those of terms that do not contain it, of type 3
    all.
    """
    terms = columns_by_term(design)
    factors = terms[k][0]
    constant = [] if design.constant is None else [design.constant]
    if type == 1:
        used = terms[: k + 1]
    elif type == 2:
        used = [term for term in terms if not factors < term[0]]
    else:
        used = terms
    return sorted(constant + [j for _, _, at in used for j in at])
