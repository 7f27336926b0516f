"""What every release claims: a lemma, and the sensitivity that it gives.

A lemma says how far a kind of total moves when one row is replaced by another, whatever the data are. A
release names its lemma, its sensitivity, and the function whose docstring has the proof; the tables of
claims at the end of every ``releases.py`` are printed together by ``python -m dpstats.audit --claims``,
and a test finds every release of every method in them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lemma:
    """A kind of ``total`` over rows: how far it ``moves`` at most when a row is replaced, and why."""

    name: str
    total: str
    moves: str


COUNTS = Lemma(
    "counts",
    "numbers of rows, of which a row is in t at most",
    "t counts fall by one and t rise by one: sqrt(2 t) in l2, 2 t in l1",
)
ANSWERS = Lemma(
    "answers",
    "for each of q questions, how many rows answer yes",
    "each number moves by one at most: sqrt(q) in l2",
)
VECTOR = Lemma(
    "clipped vector",
    "vectors no longer than C",
    "two of them are no further apart than 2 C",
)
WEIGHTS = Lemma(
    "vector without negative entries",
    "vectors without negative entries, no longer than B",
    "their inner product is not negative: |k - k'|^2 <= 2 B^2, sqrt(2) B",
)
GRAM = Lemma(
    "Gram of a ball",
    "q q' with |q| <= R",
    "|qq' - vv'|^2 = |q|^4 + |v|^4 - 2 (q.v)^2 <= 2 R^4: sqrt(2) R^2 in the Frobenius norm",
)
PRODUCT = Lemma(
    "product of two balls",
    "z y with |z| <= R and |y| <= B",
    "vectors no longer than R B: 2 R B",
)
SQUARE = Lemma("square", "numbers between 0 and c^2", "c^2")
JOINT = Lemma(
    "joint moments",
    "z z' and z y with |z|, |y| <= 1, the diagonal of z z' divided by sqrt(2)",
    "convex in every length, so largest where each is 0 or 1: 2",
)
MEANS = Lemma(
    "sums and sizes of classes",
    "x with |x| <= R in the sum of its class, and R in its size",
    "within a class 2 R; between two sqrt(|x|^2 + |x'|^2 + 2 R^2) <= 2 R",
)
NUMBERED = Lemma(
    "sum and number of rows",
    "x with |x| <= g, and sqrt(3) g for the number of rows",
    "two rows that count 2 g; one that goes missing sqrt(g^2 + 3 g^2) = 2 g",
)
CURVE = Lemma(
    "curve of a kernel",
    "(r, g, c w) K(x, .) in the kernel's Hilbert space, |r| <= 1, 0 <= w <= 1, 2 g^2 + c^2 <= 2",
    "rows apart 2 (1 + g^2 + c^2), at one place 4 + c^2 in square, times the norm of the coordinates",
)
EIGENVALUE = Lemma(
    "smallest eigenvalue",
    "z z' with |z| <= R",
    "the smallest eigenvalue of the sum moves by R^2 (Weyl)",
)
WEIGHTED = Lemma(
    "noise for a private bound",
    "an estimate that moves by at most D / L where a quantity of the data is at least L",
    "L lies below that quantity of both neighbours, off an event of the slack's probability: D / L",
)
TESTED = Lemma(
    "behind a private test",
    "an estimate that moves by at most s_j at level j of safety; levels of neighbours differ by one",
    "nothing is claimed of a single move: the plan proves the cost from all s_j and probabilities",
)
PROMISED = Lemma(
    "promised by the user",
    "an estimate that moves by alpha(k) where safety is k, and safety that moves by one",
    "as behind a private test; the user proves both",
)


@dataclass(frozen=True)
class Claim:
    """What one release claims.

    Attributes
    ----------
    release : str
        Its name, as results print it.
    lemma : Lemma
    sensitivity : str
        Largest change of the total when a row is replaced, in the symbols of the proof.
    proof : str
        The function, under the folder of the model or of the core, whose docstring proves it.
    """

    release: str
    lemma: Lemma
    sensitivity: str
    proof: str
