"""Properties of a returned value besides its numbers: types, order, lost digits and attributes.

Everything becomes a number with a name, so that an audit can compare it. Kinds, texts and orders become
codes, which are equal where these are equal and have no other meaning.
"""

from __future__ import annotations

import datetime
import functools
import uuid
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd

from dpstats.arrays import Floats

LAST_DIGITS = "last digits of "
CODED = ("type of ", "types in ", "order of ", "layout of ", "text of ", "labels of ")

_MOST_PARTS = 1000
_MOST_ITEMS = 100
_DEEPEST = 6
_LAST = 6  # digits of a Decimal
_EXACT = 2**53  # beyond it a float loses digits of an integer
_NAMED = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
_WRITTEN = (
    Decimal,
    Fraction,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    PurePath,
    uuid.UUID,
)
_ENDS = (str, bytes, np.generic, type(None), *_NAMED, *_WRITTEN)  # which hold nothing else
_NUMBERS = (bool, int, float, np.number, np.bool_)
_SEQUENCES = (list, tuple, set, frozenset, deque)


@dataclass(frozen=True, slots=True)
class Form:
    """Names and numbers of what one outcome shows besides its numbers; ``cut``: it has more."""

    names: tuple[str, ...]
    values: Floats
    cut: bool = False


def form_of(outcome: Any) -> Form:
    """The form of one outcome.

    Types of all parts, the order of keys and labels, layouts of arrays, digits of integers that a
    float would lose, and whatever instances of classes have as attributes.

    Examples
    --------
    >>> form_of({"a": 1, "b": None}).names
    ('type of value', 'order of value', 'type of a', 'type of b')
    >>> form_of(1).values == form_of(1.0).values
    array([False])
    """
    kind = type(outcome)
    if kind in (float, bool, type(None), np.float64) or (
        kind is int and -_EXACT <= outcome <= _EXACT
    ):
        return _plain(_name_of(kind))
    if kind is np.ndarray and (outcome.dtype.kind in "bf" and outcome.dtype.itemsize <= 8):
        return _of_array(_layout(outcome))
    walk = _Walk()
    walk.through(outcome)
    return Form(
        _interned(tuple(walk.numbers)),
        np.fromiter(walk.numbers.values(), dtype=float, count=len(walk.numbers)),
        walk.cut,
    )


@functools.lru_cache(maxsize=64)
def _plain(kind: str) -> Form:
    return Form(("type of value",), np.array([_code(kind)]))


@functools.lru_cache(maxsize=256)
def _of_array(layout: str) -> Form:
    codes = [_code(_name_of(np.ndarray)), _code(layout)]
    return Form(("type of value", "layout of value"), np.array(codes))


@functools.lru_cache(maxsize=1024)
def _interned(names: tuple[str, ...]) -> tuple[str, ...]:
    return names


_BETWEEN = "\x1f"
_LONGEST_KEPT = 60
_MOST_KEPT = 10_000
_meanings: dict[float, str] = {}


def _code(text: str) -> float:
    code = float(zlib.crc32(text.encode("utf-8", "surrogatepass")))
    if len(text) <= _LONGEST_KEPT and len(_meanings) < _MOST_KEPT:
        _meanings[code] = text.replace(_BETWEEN, ", ")
    return code


def meaning_of(code: float) -> str | None:
    """What a code stands for; None if that was not kept: it is long, or there are many.

    Examples
    --------
    >>> form = form_of(np.float64(1))
    >>> meaning_of(form.values[0]), meaning_of(-1.0), meaning_of(np.nan)
    ('numpy.float64', None, 'nothing there')
    """
    return "nothing there" if np.isnan(code) else _meanings.get(float(code))


def _name_of(kind: type) -> str:
    if kind.__module__ == "builtins":
        return kind.__qualname__.replace("NoneType", "None")
    return f"{kind.__module__}.{kind.__qualname__}"


def _layout(array: Any) -> str:
    rows = "" if array.flags.c_contiguous else ", not contiguous"
    return f"{array.dtype} of shape {array.shape}{rows}"


def _label(key: Any) -> str:
    """A key in words; of one that could print its address, only the type."""
    plain = isinstance(key, (int, float, tuple, *_ENDS)) and not isinstance(key, _NAMED)
    return f"{type(key).__name__} {key!r}" if plain else type(key).__name__


def _order(labels: Sequence[Any]) -> float:
    return _code(_BETWEEN.join(map(_label, labels)))


@dataclass
class _Walk:
    """Through a value and what it holds, what is near before what is deep."""

    numbers: dict[str, float] = field(default_factory=dict)
    cut: bool = False
    _met: dict[int, Any] = field(default_factory=dict)  # kept, so that no address is used again
    _queue: deque[tuple[str, Any, int]] = field(default_factory=deque)

    def through(self, outcome: Any) -> None:
        self._queue.append(("", outcome, 0))
        while self._queue:
            name, value, depth = self._queue.popleft()
            if len(self.numbers) >= _MOST_PARTS or depth > _DEEPEST:
                self.cut = True
                return
            self._visit(name, value, depth)

    def _note(self, what: str, name: str, value: float) -> None:
        self.numbers[f"{what}{name or 'value'}"] = value

    def _visit(self, name: str, value: Any, depth: int) -> None:
        self._note("type of ", name, _code(_name_of(type(value))))
        if isinstance(value, _NUMBERS):
            self._number(name, value)
        elif isinstance(value, complex):
            self._note("real part of ", name, value.real)
            self._note("imaginary part of ", name, value.imag)
        elif isinstance(value, str):
            self._note("text of ", name, _code(value))
        elif isinstance(value, bytes | bytearray):
            self._note("text of ", name, float(zlib.crc32(value)))
        elif isinstance(value, (np.generic, *_WRITTEN)):
            self._note("text of ", name, _code(str(value)))
            if isinstance(value, Decimal) and value.is_finite():
                _, digits, exponent = value.as_tuple()
                last = int("".join(map(str, digits[-_LAST:])))
                self._note(LAST_DIGITS, name, float(last))
                self._note("exponent of ", name, float(int(exponent)))
        elif isinstance(value, _NAMED):
            self._note("text of ", name, _code(getattr(value, "__qualname__", value.__name__)))
        if isinstance(value, _ENDS):
            return
        if id(value) in self._met:
            return
        self._met[id(value)] = value
        self._parts(name, value, depth + 1)

    def _number(self, name: str, value: Any) -> None:
        if "." in name:  # an attribute's: what is outside is read elsewhere
            self._note("", name, as_float(value))
        if isinstance(value, int | np.integer) and not -_EXACT <= value <= _EXACT:
            self._note(LAST_DIGITS, name, float(int(value) % 2**20))
        elif isinstance(value, np.longdouble) and np.isfinite(value):
            self._note(LAST_DIGITS, name, float(value - np.longdouble(float(value))))

    def _parts(self, name: str, value: Any, depth: int) -> None:
        """What a value holds joins the queue."""
        if isinstance(value, Mapping):
            self._note("order of ", name, _order(list(value)))
            self._items(name, value.items(), len(value), depth, keys=True)
        elif isinstance(value, pd.Series | pd.Index | pd.DataFrame):
            self._pandas(name, value, depth)
            return  # what else these have is their own affair
        elif isinstance(value, np.ndarray):
            self._array(name, value, depth)
        elif isinstance(value, _SEQUENCES):
            self._note("length of ", name, len(value))
            self._items(name, enumerate(value), len(value), depth)
        if type(value) not in (dict, list, tuple, set, frozenset, np.ndarray, int, float, bool):
            for attribute, part in _attributes(value):
                self._queue.append((f"{name}.{attribute}", part, depth))

    def _items(self, name: str, items: Any, size: int, depth: int, keys: bool = False) -> None:
        if size > _MOST_ITEMS:
            items = list(items)
            self._note("types in ", name, _order([_name_of(type(part)) for _, part in items]))
            self.cut = self.cut or "." in name
        for position, (label, part) in enumerate(items):
            if position >= _MOST_ITEMS:
                break
            bare = keys and not name
            self._queue.append((str(label) if bare else f"{name}[{label}]", part, depth))

    def _array(self, name: str, value: Any, depth: int) -> None:
        self._note("layout of ", name, _code(_layout(value)))
        flat = value.ravel()
        if value.dtype.kind not in "biuf":
            self._items(name, enumerate(flat.tolist()), flat.size, depth)
            return
        inside = "." in name
        if inside and flat.size > _MOST_ITEMS:
            self._note("text of ", name, float(zlib.crc32(flat.tobytes())))
        if inside or _loses_digits(value):
            for j in range(min(flat.size, _MOST_ITEMS)):
                self._number(f"{name}[{j}]", flat[j])

    def _pandas(self, name: str, value: Any, depth: int) -> None:
        dtypes = value.dtypes if isinstance(value, pd.DataFrame) else [value.dtype]
        self._note("layout of ", name, _code(f"{value.shape} {[str(kind) for kind in dtypes]}"))
        axes = [] if isinstance(value, pd.Index) else value.axes
        for which, axis in zip(("", " columns"), axes, strict=False):
            self._note("order of ", f"{name}{which}", _order(axis))
            self._note("labels of ", f"{name}{which}", _order([str(axis.dtype), *axis.names]))
        if isinstance(value, pd.DataFrame):
            columns = ((k, value.iloc[:, k]) for k in range(value.shape[1]))
            self._items(name, columns, value.shape[1], depth)
        else:
            self._note("text of ", f"{name} name", _code(_label(value.name)))
            array = value.to_numpy()
            self._array(name, array, depth)
        if getattr(value, "attrs", None):
            self._queue.append((f"{name}.attrs", dict(value.attrs), depth))


def _loses_digits(array: Any) -> bool:
    """Whether floats would not hold all digits."""
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        return int(array.max()) > _EXACT or int(array.min()) < -_EXACT
    return bool(array.dtype.kind == "f" and array.dtype.itemsize > 8)


def as_float(value: Any) -> float:
    """A number as a float, infinite where it is too large."""
    try:
        return float(value)
    except OverflowError:  # an integer beyond the floats
        return float("inf") if value > 0 else -float("inf")


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """What an instance holds; nothing is called, so that properties are left alone."""
    try:
        held = vars(value)
    except TypeError:
        held = {}
    yield from list(held.items())
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else tuple(slots):
            private = slot.startswith("__") and not slot.endswith("__")
            name = f"_{kind.__name__.lstrip('_')}{slot}" if private else slot
            if slot in ("__dict__", "__weakref__"):
                continue
            try:
                yield slot, object.__getattribute__(value, name)
            except AttributeError:  # never set
                continue


def forms_matrix(forms: Sequence[Form], names: Sequence[str]) -> Floats:
    """One row per outcome, one column per name; NaN where it has no such thing.

    Examples
    --------
    >>> two = form_of([1]), form_of(2)
    >>> np.isnan(forms_matrix(two, names_of(two))).tolist()
    [[False, False, False], [False, True, True]]
    """
    where = {name: j for j, name in enumerate(names)}
    alike: dict[tuple[str, ...], list[int]] = {}
    for i, form in enumerate(forms):
        alike.setdefault(form.names, []).append(i)
    out = np.full((len(forms), len(names)), np.nan)
    for held, rows in alike.items():
        known = [k for k, name in enumerate(held) if name in where]
        values = np.array([forms[i].values for i in rows])
        out[np.ix_(rows, [where[held[k]] for k in known])] = values[:, known]
    return out


def names_of(forms: Sequence[Form]) -> tuple[str, ...]:
    """All names, in the order of their first occurrence."""
    return tuple(
        dict.fromkeys(name for held in dict.fromkeys(f.names for f in forms) for name in held)
    )
