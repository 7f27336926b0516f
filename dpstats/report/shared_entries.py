"""Entries that the docstrings of several functions have in common."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from dpstats.arguments import spelled

_Args = ParamSpec("_Args")
_T = TypeVar("_T")

_SHARED = {
    "data": """\
data : table, path, blocks of rows, or Dask DataFrame
    The private rows: a pandas, polars or pyarrow table, a DuckDB relation (read into memory, as a
    RecordBatchReader is); the path of a Parquet file or folder (folders such as ``year=2020`` are
    columns), or of a CSV file (read by pyarrow); without public rows columns of folders are
    numbers, unless the formula has ``factor(year)`` or ``limits`` lists levels, and ``limits={"x":
    float, "g": ["a", "b"]}`` says what those of a CSV file hold; a pattern such as
    ``"rows/*.parquet"``, or a list of paths; a list of tables; a function that returns tables block
    by block, the same rows at every call (``lambda: pd.read_csv(path, chunksize=100_000,
    dtype=...)``); or a Dask DataFrame, which is read by its own workers. How rows fall into files,
    blocks and partitions, and whether these can be read, counts as public; so do the names and kinds
    of columns: fix them without looking at values (``read_csv(..., dtype=...)``).""",
    "calibration": """\
calibration : {"gdp", "dp"}
    Of the test: "gdp" composes with other releases, "dp" is sharpest for a single one.""",
    "allow_unproved": """\
allow_unproved : bool
    For "paper": beyond epsilon = 2, where the paper's proof ends, go on if the exact divergence still
    confirms the claim.""",
    "eta": """\
eta : float
    Failure probability of the bounds.""",
    "levels": """\
limits : mapping, optional
    Levels of a category, ``{"g": ["a", "b"]}``.""",
    "budget": """\
budget : Budget, optional
    What the call is charged to, before it reads a row; or open one, ``with budget:``. mu, rho or epsilon
    set how much of it the call may spend.""",
    "rows_per_person": """\
rows_per_person : int
    The total protects a person with up to this many rows, by noise for that many replaced rows.""",
    "persons": """\
person : str, optional
    A column of ``data`` that names the person of a row (text or whole numbers). All rows of a
    person then add up to one term of every sum: the noise does not grow with their number, errors
    are clustered by person, and neighbours differ in one person, with any rows. The number of
    persons is public, that of rows is not. Rows may be in any order; those without a name are not
    used. In text files a number names one person however it is spelled, 7 as 007; and names of whole
    numbers beyond 2^53 must not come as floats. The table is encoded once and held in memory. With
    methods other than "anchored" only each person's first ``rows_per_person`` rows are used, one by
    default, and errors are not clustered.
rows_per_person : int, optional
    With ``person``: only each person's first rows_per_person rows are used, and n is public as well.
    Without: it is taken on trust that nobody has more rows, and the noise covers that many replaced
    rows.""",
    "person": """\
person : str, optional
    A column of ``data`` that names the person of a row (text or whole numbers). Only each person's
    first ``rows_per_person`` rows are used; rows without a name are not.""",
    "executor": """\
executor : concurrent.futures.Executor, optional
    What processes the rows: ``ProcessPoolExecutor(8)``, ``ThreadPoolExecutor(2)``, or
    ``client.get_executor()`` of a Dask cluster. Default: as many threads as there are processors.
    The result is the same to the last bit.""",
    "progress": """\
progress : bool, optional
    A progress bar for passes over the rows. Default: in interactive sessions, for passes of more
    than two seconds.""",
    "seed": """\
seed : int, optional
    Reproducible noise for teaching and tests; the result states that it is not for release. In a
    simulation each call needs its own: with one seed the noises of two calls go together.""",
    "second_moments_paper": """\
Cao, Bi and Zhang, "Differentially Private Truncation of Unbounded Data Via Public Second Moments",
Statistica Sinica.""",
    "propose_test_paper": """\
Shen, Tong and Wang (2026), "Efficient Propose-Test-Release for Optimal Differentially Private
Estimation".""",
    "raises": """\
DPStatsError
    Before any private value is read; never because of one. `BudgetExceeded` where a budget has less
    left than the call needs.""",
}


def documented(function: Callable[_Args, _T]) -> Callable[_Args, _T]:
    """Write shared entries into a docstring, for a line that lists their names in braces.

    The function also answers arguments that it does not have (`arguments.spelled`).
    """

    def entries(line: re.Match[str]) -> str:
        return "\n".join(textwrap.indent(_SHARED[name], line[1]) for name in line[2].split(", "))

    page = function.__doc__ or ""
    function.__doc__ = re.sub(r"^( *)\{([\w, ]+)\}$", entries, page, flags=re.MULTILINE)
    return spelled(function)
