"""Names of persons, as bytes, from the cells of a column."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_LONGEST_NAME = 10**60


def by_identity(*kinds: type) -> frozenset[int]:
    """Types, to be compared with those of cells: to hash the type of a cell may run code of the cell.

    They last as long as the package, so that no other type has their identity.
    """
    return frozenset(map(id, kinds))


_NUMPY = {kind for kind in np.sctypeDict.values() if issubclass(kind, np.integer | np.floating)}
_NUMPY -= {np.timedelta64}
_WHOLE = by_identity(int, *(kind for kind in _NUMPY if issubclass(kind, np.integer)))
_EXACT = {
    id(kind): 2.0**bits
    for kind, bits in ((float, 53), (np.float64, 53), (np.float32, 24), (np.float16, 11))
}
"""Whole numbers below which a float was not rounded."""
TRUTH = {
    True: ("true", "t", "yes", "y", "1", "1.0"),
    False: ("false", "f", "no", "n", "0", "0.0"),
}
"""How files and folders spell truth values, in small letters."""
TEXTS = by_identity(str, np.str_)
BYTES = by_identity(bytes)
TRUTHS = by_identity(bool, np.bool_)
NUMBERS = by_identity(int, float, *_NUMPY)


def keys_of(cells: Iterable[Any], *, typed: bool) -> npt.NDArray[Any]:
    """Names of persons as bytes: text as it is, whole numbers by their digits; None for all else.

    So 17, 17.0 and "17" are one. Floats that may have been rounded name nobody. In a column of Python
    objects, which is not ``typed``, neither does text that a reader may have taken for a number or a
    truth value in other rows ("017", "1e5", "true"), nor a truth value: it would name two at most.
    """
    return _objects([_key(cell, typed) for cell in cells])


def spelled_keys(cells: Iterable[bytes | None]) -> npt.NDArray[Any]:
    """Names of persons from texts of a file or folder: a number is one, however it is spelled.

    17, 17.0, 017 and 1.7e1 are one person, since another file, or another row, may have made one of
    them of the other; persons who are taken for one are protected as one.
    """
    return _objects([None if cell is None else _number_key(cell) for cell in cells])


def texts_of(cells: Iterable[Any], *, encoded: bool) -> npt.NDArray[Any]:
    """Text as bytes, in every spelling; None for all else. ``encoded``: text comes in bytes."""
    known = BYTES if encoded else TEXTS
    kept = [cell if id(type(cell)) in known else None for cell in cells]
    if not encoded:
        kept = [None if cell is None else cell.encode("utf-8", "surrogatepass") for cell in kept]
    return _objects(kept)


def _number_key(cell: bytes) -> bytes | None:
    """A name that all spellings of a number share; None where its exponent is beyond all bounds."""
    text = cell.decode("latin-1").strip()
    if not re.fullmatch(NUMBER, text):
        return cell
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number:
        return b"0"
    if abs(number.adjusted()) >= 60:
        digits = "".join(map(str, number.as_tuple().digits)).strip("0")
        return f"{'-' * number.is_signed()}{digits}e{number.adjusted()}".encode()
    if number == number.to_integral_value():
        return b"%d" % int(number)
    return format(number, "f").rstrip("0").encode()  # all digits: `normalize` would round


def _objects(cells: list[Any]) -> npt.NDArray[Any]:
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


def _key(cell: Any, typed: bool) -> bytes | None:
    kind = type(cell)
    if kind is str or kind is np.str_:
        cell, kind = cell.encode("utf-8", "surrogatepass"), bytes
    if kind is bytes:
        return bytes(cell) if typed or not _ambiguous(cell.decode("latin-1")) else None
    if id(kind) in _WHOLE:
        return format(int(cell), "d").encode() if abs(int(cell)) < _LONGEST_NAME else None
    if (most := _EXACT.get(id(kind))) is not None:  # floats
        number = float(cell)
        return b"%d" % int(number) if number % 1 == 0 and abs(number) < most else None
    if kind is Decimal and cell.is_finite() and abs(cell.adjusted()) < 60:
        return b"%d" % int(cell) if cell == cell.to_integral_value() else None
    return None


def _ambiguous(text: str) -> bool:
    """Whether a reader may have taken a text for something that is spelled otherwise."""
    if text.strip().lower() in ("true", "false"):
        return True
    return _reads_as_number(text) and not _INTEGER.fullmatch(text)


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
