"""What a plan is asked for: its budgets, its number of rows, and arguments that it refuses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpstats.accounting.privacy import Privacy, resolve_privacy
from dpstats.arguments import as_int, computable, items, number, one_of, shown
from dpstats.errors import ArgumentError
from dpstats.plans.search import MOST_ROWS
from dpstats.public_input import choose_method

_USUAL = (0.25, 0.5, 1.0, 2.0)
_MOST_BUDGETS = 20
_METHODS = ("anchored", "pmt")


def check_alone(method: str, weights: Any, offset: Any) -> None:
    if method != "anchored":
        raise ArgumentError(
            f"method={method!r} needs public data: give public=frame, or leave method out."
        )
    if weights is not None or offset is not None:
        raise ArgumentError(
            "a plan without public rows knows no weights and no offset: leave them out, or give "
            "public=frame."
        )


def check_public_given(value: Any, name: str) -> None:
    if value is not None:
        raise ArgumentError(
            f"{name}= replaces what public rows say: leave out {name}=, or leave out public=."
        )


def listed_budgets(
    mu: Any, rho: Any, epsilon: Any, delta: float | None
) -> tuple[list[tuple[str, Privacy]], dict[str, Any]]:
    """Every budget with its label, and the argument that names them in the call."""
    if mu is None and rho is None and epsilon is None:
        mu = _USUAL
    given = {k: v for k, v in {"mu": mu, "rho": rho, "epsilon": epsilon}.items() if v is not None}
    if len(given) != 1:
        raise ArgumentError(f"give budgets in one unit, not in {' and '.join(given)}.")
    name, values = next(iter(given.items()))
    listed = isinstance(values, Iterable) and not isinstance(values, str | bytes)
    several = items(values, _MOST_BUDGETS) if listed else [values]
    if not several:
        raise ArgumentError(
            f"{name} must be a number or a list of 1 to {_MOST_BUDGETS}, such as [0.25, 0.5, 1]."
        )
    totals = [
        (f"{name} = {_short(v)}", resolve_privacy(**{name: v, "delta": delta})) for v in several
    ]
    if len({label for label, _ in totals}) < len(totals):
        raise ArgumentError(f"{name} lists one budget twice: leave one out.")
    shown_values = several[0] if len(several) == 1 else [float(v) for v in several]
    return totals, {name: shown_values}


def _short(value: Any) -> str:
    size = number(value)
    return shown(value) if size is None else f"{size:g}"


def check_rows(n: Any) -> int:
    size = number(n)
    rows = as_int(int(size) if size is not None and size.is_integer() else n, 1)
    if rows is None or rows > MOST_ROWS:
        raise ArgumentError(
            f"n must be the number of private rows, a whole number from 1 to {MOST_ROWS:.0e} such as "
            f"n=5000, not {shown(n)}."
        )
    return rows


def checked_sigma(sigma: Any) -> float:
    """The standard deviation of residuals that was given."""
    size = computable(sigma)
    if size is None:
        raise ArgumentError(
            f"sigma must be the residual standard deviation, a number > 0, not {shown(sigma)}."
        )
    return size


def check_arguments(function: str, method: Any, formula: Any, public: Any) -> None:
    if not isinstance(formula, str):
        raise ArgumentError(
            f"{function}(formula, public, n) begins with a formula, a text, not {shown(formula)}."
        )
    if not one_of(method, _METHODS):
        raise ArgumentError(
            f"a plan is made for method {' or '.join(map(repr, _METHODS))}, not {shown(method)}; "
            "without public data nothing is known of the errors."
        )
    if public is not None:
        choose_method(_METHODS, method, public, None)
