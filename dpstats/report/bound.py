"""Error bounds: a statement, a number, and the premises of the theorem."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Premise:
    """A condition of a theorem; ``met`` is None when it cannot be decided from public facts."""

    condition: str
    met: bool | None

    def __str__(self) -> str:
        status = {True: "met", False: "NOT met", None: "not known"}[self.met]
        return f"{self.condition}: {status}"


@dataclass(frozen=True)
class Bound:
    """One bound.

    Attributes
    ----------
    statement : str
        What is bounded.
    norm : str
        "l2", "spectral", ...
    value : float
        The bound; infinite when its premises fail.
    probability : float or None
        With which it holds; None for a rate.
    source : str
        Theorem, or "exact" for the package's own.
    kind : str
        "bound" (no hidden constant), "simulated", "estimated" (no bound), "identity", "range" (of where
        a fit starts, not an error), or "rate" (O-constants set to 1).
    premises : tuple of Premise
    """

    statement: str
    norm: str
    value: float
    probability: float | None
    source: str
    kind: str
    premises: tuple[Premise, ...] = ()
