"""Options of a session: digits and stars of printed tables, as R's options()."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from dpstats.arguments import as_int, items, number, shown
from dpstats.errors import ArgumentError

STARS = (0.05, 0.01, 0.001)
"""What one, two and three stars stand for, in R and here."""
_MOST_DIGITS = 15
_MOST_STARS = 5


class Options:
    """Digits and stars of printed tables, for the session.

    Attributes
    ----------
    digits : int or None
        Significant digits of estimates and standard errors, and one less of p values; None: five where
        a fit prints, four in summaries, as in R, and three in `etable`.
    stars : bool or sequence of float
        Whether significance is marked; in `etable`, also the levels of one, two, ... stars.

    Examples
    --------
    >>> import dpstats
    >>> dpstats.options.digits = 5
    >>> dpstats.options
    options(digits=5, stars=True)
    >>> dpstats.options.digits = None
    >>> with dpstats.options(digits=2, stars=False):
    ...     print(dpstats.options)
    options(digits=2, stars=False)
    """

    def __repr__(self) -> str:
        return f"options(digits={self.digits}, stars={self.stars})"

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _CHECKS:
            raise ArgumentError(f"there is no option {name!r}; the options are digits and stars.")
        _set(replace(_now(), **{name: _CHECKS[name](value)}))

    @property
    def digits(self) -> int | None:
        """Significant digits, or None."""
        return _now().digits

    @property
    def stars(self) -> bool | tuple[float, ...]:
        """Whether there are stars, or their levels."""
        return _now().stars

    def __call__(self, **changes: Any) -> _Changed:
        """Change options, as R's options(digits = 5); in a ``with`` they come back at its end."""
        before = _now()
        try:
            for name, value in changes.items():
                setattr(self, name, value)
        except ArgumentError:
            _set(before)
            raise
        return _Changed(before, _now())


class _Changed:
    """Options that were changed: by a ``with``, for its block and thread alone."""

    def __init__(self, before: _Choice, now: _Choice) -> None:
        self._before, self._now = before, now

    def __repr__(self) -> str:
        return f"<options: digits = {self._now.digits}, stars = {self._now.stars}>"

    def __enter__(self) -> Options:
        _set(self._before)
        self._token = _LOCAL.set(self._now)
        return options

    def __exit__(self, *error: object) -> None:
        _LOCAL.reset(self._token)


@dataclass(frozen=True)
class _Choice:
    digits: int | None = None
    stars: bool | tuple[float, ...] = True


_session = _Choice()
_LOCAL: ContextVar[_Choice | None] = ContextVar("dpstats options of a with block", default=None)


def _now() -> _Choice:
    """The options in force: in a with block its own, for its thread or task alone."""
    return _LOCAL.get() or _session


def _set(choice: _Choice) -> None:
    global _session
    if _LOCAL.get() is None:
        _session = choice
    else:
        _LOCAL.set(choice)


def shown_digits(usual: int) -> int:
    """Significant digits of estimates on a page: those of the session, else the usual ones."""
    return options.digits or usual


def p_digits() -> int:
    """Significant digits of p values on every page: as in R one less than of estimates."""
    return max(1, min(5, shown_digits(4) - 1))


def check_digits(value: Any) -> int | None:
    """A number of significant digits, or None."""
    if value is None:
        return None
    digits = as_int(value, 1)
    if digits is None or digits > _MOST_DIGITS:
        raise ArgumentError(
            f"digits must be a whole number from 1 to {_MOST_DIGITS}, or None, not {shown(value)}."
        )
    return digits


def check_stars(value: Any) -> bool | tuple[float, ...]:
    """True, False, or the levels of one, two, ... stars, from weak to strong."""
    if isinstance(value, bool):
        return value
    levels = [number(v) for v in items(value, _MOST_STARS) or []]
    sizes = [v for v in levels if v is not None and 0 < v < 1]
    if not sizes or len(sizes) < len(levels):
        raise ArgumentError(
            "stars must be True, False, or up to five levels between 0 and 1 such as "
            f"{STARS}, not {shown(value)}."
        )
    return tuple(sorted(set(sizes), reverse=True))


_CHECKS: dict[str, Callable[[Any], Any]] = {"digits": check_digits, "stars": check_stars}
options = Options()
