"""Second moments of a public sample, which stand for its rows."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstats.arguments import as_int, listed, number, require_sizes, returning_text, shown, spelled
from dpstats.errors import ArgumentError, PublicDataError, SchemaError
from dpstats.frame.checked_moments import (
    LARGEST,
    LARGEST_OF_COLUMNS,
    check_constant,
    check_moments,
    computable,
    labelled,
    require_encoding,
    shaped,
)
from dpstats.frame.design import Design
from dpstats.frame.few_rows import FewRows, rows_like_few
from dpstats.frame.formula.aliases import refuse_aliases
from dpstats.frame.formula.learn import declare_design, learn_design
from dpstats.frame.formula.reads import formula_columns
from dpstats.frame.formula.serial import design_from_dict, design_to_dict
from dpstats.frame.private_tables import remember_public
from dpstats.frame.rows import encode
from dpstats.frame.schema import check_table, nearest
from dpstats.frame.source import BLOCK_ROWS, public_table
from dpstats.frame.table import Array, slices
from dpstats.frame.undetermined import Undetermined

# eigenvalues of the correlation-like matrix below this share of the largest count as zero
_RANK_TOLERANCE = 1e-10
# rows for each column from which a dependence is no accident
_MANY = 10
_INVOLVED = 1e-4
"""Weight of a column in a dependence, from which it is part of it."""


@dataclass(frozen=True)
class SpentOn:
    """The private release that moments are, where they are one.

    ``mu`` is Gaussian DP for a person with so many ``rows``, whom the column ``person`` named (None: a
    row, or on trust). What is made of a ``seeded`` one is not for release.
    """

    mu: float
    rows: int = 1
    person: str | None = None
    seeded: bool = False


@dataclass(frozen=True, repr=False, eq=False)
class PublicMoments:
    """Second moments of a public sample, with the design that computed them.

    Attributes
    ----------
    design : Design
    m : int or None
        Public rows used; None when the moments were declared without it.
    gram : ndarray, shape (d, d)
        (1/m) sum of w x x'; w = 1 without weights.
    cross : ndarray, shape (d,), or None
        (1/m) sum of w x (y - offset); None for a one-sided formula.
    yy : float or None
        (1/m) sum of w (y - offset)^2.
    dropped : int
        Public rows left out: missing, not finite, or of an unknown level.
    spent : SpentOn or None
        What was spent on them, where they are a private release.
    ridged : bool
        Whether a ridge was added, for a sample that lacks some directions (`with_ridge`).
    few : FewRows
        What a few of the rows decide, as far as rows were there.

    See Also
    --------
    public_moments : Of rows.

    Examples
    --------
    >>> from dpstats import public_moments
    >>> from dpstats.datasets import fair
    >>> moments = public_moments("rate_marriage ~ age", fair()[0])
    >>> moments.m, moments.terms
    (318, ('Intercept', 'age'))
    >>> PublicMoments.from_json(moments.to_json()).m
    318
    """

    design: Design
    m: int | None
    gram: Array
    cross: Array | None
    yy: float | None
    dropped: int = 0
    spent: SpentOn | None = None
    ridged: bool = False
    few: FewRows = field(default_factory=FewRows)

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the design's columns."""
        return self.design.terms

    @property
    def formula(self) -> str:
        """The formula, with dots written out."""
        return self.design.formula

    def _source(self) -> str:
        """Where they come from."""
        size = "declared" if self.m is None else f"{self.m} public rows"
        left_out = f", {self.dropped} left out" if self.dropped else ""
        if self.spent is not None:
            seeded = "; seeded: not for release" if self.spent.seeded else ""
            size = f"a private release, mu = {self.spent.mu:.4g}{seeded}"
        return size + left_out

    def __repr__(self) -> str:
        return f"<PublicMoments: {self.formula}; {len(self.terms)} columns; {self._source()}>"

    def _repr_html_(self) -> str:
        facts = {"Formula": self.formula, "Columns": ", ".join(self.terms), "From": self._source()}
        rows = "".join(f"<tr><td>{k}</td><td>{html.escape(v)}</td></tr>" for k, v in facts.items())
        return f"<p>Public moments</p><table>{rows}</table>"

    def with_ridge(self, share: float) -> PublicMoments:
        """Moments that are positive definite whatever the sample: ``gram`` plus a ridge.

        Parameters
        ----------
        share : float
            Each diagonal entry grows by this share of itself; a column that is zero in the sample
            gets this share of the mean eigenvalue.

        Examples
        --------
        >>> import pandas as pd
        >>> public_moments("~ x", pd.DataFrame({"x": [1.0, 1.0]})).with_ridge(0.5).gram
        array([[1.5, 1. ],
               [1. , 1.5]])
        """
        part = number(share)
        if part is None or not 0 < part < np.inf:
            raise ArgumentError(f"the ridge must be a share > 0 such as 0.01, not {shown(share)}.")
        diagonal = np.diag(self.gram)
        base = np.where(diagonal > 0, diagonal, diagonal.mean() or 1.0)
        return replace(self, gram=self.gram + np.diag(part * base), ridged=True)

    def determines_columns(self) -> bool:
        """Whether the sample determines every column.

        Raises
        ------
        PublicDataError
            If columns that differ depend on each other in many rows of each: the formula says
            something twice.
        """
        rms = self._require_sizes()
        used = rms > 0
        constant = self.design.constant
        if constant is not None and used[constant]:
            spread = self.gram.diagonal() - self.gram[constant] ** 2 / self.gram[constant, constant]
            # of a constant and one column the eigenvalue that `_dependent` looks at is half of this
            used &= spread > 4 * _RANK_TOLERANCE * rms**2
            used[constant] = True
        full = bool(used.all()) and not self._dependent(rms).size
        many = self.m is not None and self.m >= _MANY * len(rms)
        if not full and many and (not used.any() or self._says_twice(used, rms)):
            self.require_full_rank()
        return full

    def _require_sizes(self) -> Array:
        """How large columns are; raises where floats cannot compute with a size that is not zero."""
        rms = np.sqrt(np.clip(np.diag(self.gram), 0.0, None))
        require_sizes(self.terms, (rms == 0) | (rms >= LARGEST**-0.5) & (rms <= LARGEST**0.5))
        return np.asarray(rms)

    def _says_twice(self, used: npt.NDArray[np.bool_], rms: Array) -> bool:
        """Whether some of these columns depend on each other, and in many rows of each.

        Not where products of levels or marks are among them: some cell of these has no public row.
        """
        null = replace(self, gram=self.gram[np.ix_(used, used)])._dependent(rms[used])
        involved = np.flatnonzero(used)[np.sqrt((null**2).sum(axis=1)) > _INVOLVED]
        marks = self.columns_of_marks()
        few = any(
            rows < _MANY * len(involved) and not set(own).isdisjoint(involved)
            for _, own, rows in marks
        )
        program = self.design.program
        cell = any(k in involved and len(program[k].parts) > 1 for k, *_ in marks)
        return bool(null.size) and not few and not cell

    def shares_of_ones(self) -> dict[int, float]:
        """Of the columns of zeros and ones, as moments beside a constant tell."""
        constant, square = self.design.constant, np.diag(self.gram)
        if constant is None:
            return {}
        mean = self.gram[constant]
        marks = (mean > 0) & (np.abs(square - mean) < 1e-9 * square)
        return {int(j): float(mean[j] / square[constant]) for j in np.flatnonzero(marks)}

    def columns_of_marks(self) -> list[tuple[int, list[int], float]]:
        """Columns of zeros and ones, those that are products of each, itself among them, and its rows.

        Elsewhere than in these public rows all of them are zero.
        """
        whole = math.inf if self.m is None else float(self.m)
        parts = [set(column.parts) for column in self.design.program]
        return [
            (k, [j for j, own in enumerate(parts) if parts[k] <= own], share * whole)
            for k, share in self.shares_of_ones().items()
            if k != self.design.constant
        ]

    def to_whiten_with(self) -> Array:
        """``gram``, with more rows like those of which there are one to three.

        They may be several times as frequent among private rows, as those of the first level of a
        factor: whitened by so few they would be far longer than all others, and be cut. Where responses
        are zeros and ones it is known how long their scores are, and cuts are chosen for that.
        """
        if self.few.added is None or self.zeros_and_ones:
            return self.gram
        return self.gram + self.few.added

    @property
    def zeros_and_ones(self) -> bool:
        """Whether responses are zeros and ones, as far as a constant tells."""
        constant = self.design.constant
        if constant is None or self.cross is None or not self.yy:
            return False
        return bool(abs(self.yy - self.cross[constant]) < 1e-9 * self.yy)

    def _dependent(self, rms: Array) -> Array:
        """Directions in which the sample has no extent, of columns divided by their size."""
        values, vectors = np.linalg.eigh(self.gram / np.outer(rms, rms))
        return np.asarray(vectors[:, values < _RANK_TOLERANCE * values[-1]])

    def dependent(self) -> list[str]:
        """Columns that depend on each other; none where some are zero in every row."""
        rms = np.sqrt(np.clip(np.diag(self.gram), 0.0, None))
        null = self._dependent(rms) if rms.all() else np.empty((len(rms), 0))
        size = np.sqrt((null**2).sum(axis=1))
        return [name for name, s in zip(self.terms, size, strict=True) if s > _INVOLVED]

    def require_full_rank(self, ridge: bool = True) -> None:
        """Raise unless the Gram matrix is positive definite; ``ridge``: whether one is a way out.

        Raises
        ------
        PublicDataError
            Naming the columns that depend on each other, and the ways out.
        """
        zero = [name for name, s in zip(self.terms, np.diag(self.gram), strict=True) if s <= 0]
        why = Undetermined(self.design, self.gram, self.m, ridge)
        why.refuse_baselines()
        if zero:
            why.refuse(f"the column(s) {listed(zero)} are zero in every public row", zero[-1])
        self._require_sizes()
        involved = self.dependent()
        if involved:
            refuse_aliases(self.design)
            why.refuse_powers(involved)
            why.refuse(f"the columns {listed(involved)} depend on each other", involved[-1])

    @returning_text
    def to_json(self) -> str:
        """The moments as text: no rows. ``from_json`` reads it back to the last bit."""
        return json.dumps(
            {
                "design": design_to_dict(self.design),
                "m": self.m,
                "gram": self.gram.tolist(),
                "cross": None if self.cross is None else self.cross.tolist(),
                "yy": self.yy,
                "dropped": self.dropped,
                "spent": None if self.spent is None else vars(self.spent),
                "ridged": self.ridged,
                "few": self.few.to_dict(),
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> PublicMoments:
        """Moments from what ``to_json`` wrote."""
        try:
            moments = _loaded(cls, json.loads(text))
            moments.to_json()  # strict JSON has no infinite numbers
        except PublicDataError:
            raise
        except Exception:  # whatever a text may be: it is read as untrusted
            moments = None
        if moments is None:
            raise PublicDataError(
                "this text was not written by PublicMoments.to_json(): pass "
                "public_moments(formula, public).to_json()."
            )
        return moments

    @classmethod
    def declare(
        cls,
        formula: str,
        schema: Mapping[str, Any],
        gram: Any,
        *,
        m: int | None = None,
        cross: Any = None,
        yy: float | None = None,
        weights: str | None = None,
        offset: str | None = None,
    ) -> PublicMoments:
        """Moments that somebody has published.

        Parameters
        ----------
        schema : dict
            As for `dpstats.frame.declare_design`.
        gram : DataFrame or ndarray, shape (d, d)
            Labelled with the design's terms, or in their order.
        m : int, optional
            Rows behind it.
        cross : Series or ndarray, shape (d,), optional
        yy : float, optional

        Examples
        --------
        >>> PublicMoments.declare("~ x", {"x": float}, [[1, 0], [0, 2]], m=100)
        <PublicMoments: ~ x; 2 columns; 100 public rows>
        """
        design = declare_design(formula, schema, weights=weights, offset=offset)
        if m is not None and (isinstance(m, bool) or not isinstance(m, int) or not 1 <= m < 2**63):
            raise PublicDataError(
                f"m must be the number of public rows (1 or more), not {shown(m)}."
            )
        square = None if yy is None else number(yy)
        if yy is not None and square is None:
            raise PublicDataError(f"yy must be a number, not {shown(yy)}.")
        if (cross is None) != (yy is None):
            raise PublicDataError("declare cross and yy together, or neither.")
        if cross is not None and design.response is None:
            raise PublicDataError(f"cross needs a response: write 'y {formula.strip()}'.")
        matrix = labelled(gram, design.terms, "gram", 2)
        vector = None if cross is None else labelled(cross, design.terms, "cross", 1)
        check_moments(matrix, vector, square)
        check_constant(design, matrix)
        return cls(design, m, matrix, vector, square)


@spelled
def public_moments(
    formula: str,
    public: Any,
    *,
    weights: str | None = None,
    offset: str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> PublicMoments:
    """Second moments of a public sample: a small object that replaces the sample.

    Parameters
    ----------
    formula : str
        Two-sided, or one-sided (``"~ x1 + x2"``) for the moments of the design only.
    public : table
        pandas, polars or pyarrow.
    weights, offset : str, optional
        Names of columns.
    limits : dict, optional
        ``{"(weights)": (0, upper)}``, or levels of a category.

    Returns
    -------
    PublicMoments
        What ``public=`` takes in place of the rows.

    Raises
    ------
    FormulaError, SchemaError, PublicDataError
        If the formula, the columns or the rows do not give a design.

    See Also
    --------
    PublicMoments : Published moments, and JSON in and out.
    dp_lm : A fit that uses them.

    References
    ----------
    Cao, Bi and Zhang, "Differentially Private Truncation of Unbounded Data Via Public Second Moments",
    Statistica Sinica.

    Examples
    --------
    >>> import pandas as pd
    >>> public_moments("y ~ x", pd.DataFrame({"y": [1, 2, 4], "x": [0, 1, None]}))
    <PublicMoments: y ~ x; 2 columns; 2 public rows, 1 left out>
    """
    table = public_table(public)
    design = learn_design(formula, table, weights=weights, offset=offset, limits=limits)
    roles = ["y", "offset"] if design.response is not None else []
    roles += ["weight"] if weights in table.names else []
    check_table(design, table, roles)
    d = len(design.terms)
    m, gram, cross, yy = 0, np.zeros((d, d)), np.zeros(d), 0.0
    for start, stop in slices(table.n, BLOCK_ROWS):
        block = encode(design, table, start, stop, roles)
        y = block.y if block.offset is None else block.y - block.offset
        m += stop - start if block.usable is None else int(block.usable.sum())
        with np.errstate(all="ignore"):
            wx = block.x if block.weight is None else block.x * block.weight[:, None]
            wy = y if block.weight is None else y * block.weight
            gram += wx.T @ block.x
            cross += wx.T @ y
            yy += float(wy @ y)
    if m == 0:
        raise PublicDataError(f"none of the {table.n} public rows can be used by '{formula}'.")
    columns = computable(gram, LARGEST_OF_COLUMNS)
    if not (columns and computable(cross) and computable(np.array(yy))):
        raise PublicDataError(
            f"the public values in '{formula}' are too large to square: change their units."
        )
    if "weight" in roles and not gram.any():
        raise PublicDataError(f"the public weights, `{weights}`, are all zero.")
    remember_public(public)
    gram = (gram + gram.T) / (2 * m)
    only = PublicMoments(design, m, gram, None, None, table.n - m)
    marks = [k for k, *_ in only.columns_of_marks()]
    if marks and table.n <= BLOCK_ROWS:
        assert design.constant is not None
        added = rows_like_few(gram, wx, block.x, m, [design.constant, *marks])
        only = replace(only, few=FewRows(added))
    if design.response is None:
        return only
    found = replace(only, cross=cross / m, yy=yy / m)
    if table.n > BLOCK_ROWS:
        return found
    usable = slice(None) if block.usable is None else block.usable
    weight = np.ones(len(y)) if block.weight is None else block.weight
    x, weight = block.x[usable], weight[usable]
    few = FewRows.with_responses(only.few.added, gram, cross / m, x, y[usable], weight)
    return replace(found, few=few)


def require_public_response(formula: str, public: Any) -> None:
    """Raise where public rows lack the response of a formula: of the other columns moments will do."""
    table = public_table(public)
    left, _, right = (side.strip() for side in formula.partition("~"))
    read = formula_columns(f"~ {left}") if left else {}
    lacking = [name for name in read if name not in table.names]
    if lacking:
        near = nearest(lacking[0], table.names)
        meant = f"; did you mean `{near}`?" if near else "."
        raise SchemaError(
            f"the table has no column `{lacking[0]}`, the response of '{formula}'{meant} Of rows "
            "without it give the moments of the other columns: "
            f"public=public_moments('~ {right}', public)."
        )


def _loaded_spent(saved: Any) -> SpentOn | None:
    """What was spent on moments, from JSON; raises whatever it may."""
    if saved is None:
        return None
    spent = SpentOn(**saved)
    mu, rows, person = number(spent.mu), as_int(spent.rows, 1), spent.person
    known = mu is not None and 0 <= mu < np.inf and rows is not None
    if not known or not isinstance(person, str | None) or type(spent.seeded) is not bool:
        raise ValueError
    return spent


def _loaded(cls: type[PublicMoments], saved: Any) -> PublicMoments:
    """Moments from JSON, checked in all that is used later; raises whatever it may."""
    design = design_from_dict(saved["design"])
    d, m, dropped = len(design.terms), saved["m"], saved["dropped"]
    gram, cross, yy = saved["gram"], saved["cross"], saved["yy"]
    spent = _loaded_spent(saved.get("spent"))
    if json.loads(json.dumps(design_to_dict(design))) != saved["design"]:
        raise ValueError
    require_encoding(design)
    for count, least in ((m, 1), (dropped, 0)):
        if count is not None and not (type(count) is int and least <= count < 2**63):
            raise ValueError
    if dropped is None or (cross is None) != (yy is None) or (cross and design.response is None):
        raise ValueError
    square = number(yy)
    if yy is not None and (square is None or not 0 <= square < np.inf):
        raise ValueError
    matrix = shaped(gram, (d, d))
    vector = None if cross is None else shaped(cross, (d,))
    check_moments(matrix, vector, yy)
    few = FewRows.from_dict(saved["few"], matrix) if "few" in saved else FewRows()
    ridged = saved.get("ridged") is True
    return cls(design, m, matrix, vector, yy, dropped, spent, ridged, few)
