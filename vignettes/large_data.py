# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Large data
#
# Everything that a private fit learns of private rows is a sum over rows. So rows need not be in
# memory, nor in one place: a call reads them block by block, as often as its rounds ask for, and
# adds noise once, at the end. This page shows
#
# 1. what `data=` may be, and that the answer does not depend on it, to the last bit;
# 2. a fit of ten million rows from files, in 1.6 GiB of memory;
# 3. what processes and a Dask cluster cost, and from which size on they pay;
# 4. how the cost grows with rows and columns, and a projection for 10^10 rows.
#
# It writes ten million rows, a gigabyte, to a temporary folder, and takes two minutes.

# %%
import os
import resource
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dpstats import dp_glm, dp_lm, public_moments
from dpstats.errors import SchemaError

# %% tags=["remove-cell"]
ROWS = 60_000 if os.environ.get("DPSTATS_FAST_PAGES") else 10_000_000

# %% [markdown]
# ## A table that does not fit
#
# The set that we have in mind has 10^8 rows: a hundred Parquet files of a million rows each, one
# response and twelve numbers, ten gigabytes in all. `write` makes it file by file. Here we make and
# fit its first ten million rows; every further file costs the same again, as the last section
# shows.

# %%
COLUMNS = [f"x{j}" for j in range(1, 13)]
FORMULA = "y ~ " + " + ".join(COLUMNS)
COEFFICIENTS = np.linspace(-1, 1, len(COLUMNS))
MIX = np.eye(12) + 0.2 * np.random.default_rng(7).normal(size=(12, 12))


def table(rows: int, seed: int) -> pd.DataFrame:
    """Rows of one population: correlated columns, errors of variance one."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 12)) @ MIX + 1
    frame = pd.DataFrame(x, columns=COLUMNS)
    frame.insert(0, "y", 2 + x @ COEFFICIENTS + rng.normal(size=rows))
    return frame


def write(folder: Path, rows: int, per_file: int = 1_000_000) -> None:
    """Files of a million rows; a hundred of them are the set described above."""
    for k, first in enumerate(range(0, rows, per_file)):
        part = pa.Table.from_pandas(table(min(per_file, rows - first), 1000 + k))
        pq.write_table(part, folder / f"part-{k:03d}.parquet", row_group_size=2**18)


place = tempfile.TemporaryDirectory()
folder = Path(place.name) / "set"
folder.mkdir()
write(folder, ROWS)
print(
    f"{ROWS:,} rows, {sum(f.stat().st_size for f in folder.iterdir()) / 2**20:,.0f} MiB on disk"
)

# %% [markdown]
# Two hundred rows that may be shown to anybody give coordinates and a starting point.

# %%
public = table(200, seed=1)

# %% [markdown]
# ## Ten million rows
#
# The path of the folder is all that `dp_lm` needs. It reads the columns of the formula, some tens
# of thousands of rows at a time: once for the lengths of rows, once for second moments and the
# scale of the first scores, and then once or twice for each round of scores. What a model reads is
# kept while the call runs, as long as its numbers fit into a gigabyte; of larger tables every pass
# reads the files again, in the memory that a million rows take.

# %%
fit = dp_lm(FORMULA, folder, public=public, mu=1)
fit.summary()


# %% [markdown]
# The error of ten million rows is so small that the noise of privacy hardly shows in it. What did
# it cost? With moments of the columns alone (`public_moments("~ x1 + ...")`, no public response) a
# fit starts farther away, and takes more rounds; `dp_glm` weighs the rows anew in every round.


# %%
def cost(label: str, run: Callable[[], Any]) -> dict[str, Any]:
    began = time.perf_counter()
    rows = run().n
    seconds = time.perf_counter() - began
    speed = rows / seconds / 1e6
    return {"fit": label, "seconds": f"{seconds:.1f}", "million rows/s": f"{speed:.1f}"}


design_only = public_moments("~ " + " + ".join(COLUMNS), public)
yes_no = FORMULA.replace("y ~", "I(y > 0) ~")
costs = [
    cost("dp_lm", lambda: dp_lm(FORMULA, folder, public=public, mu=1)),
    cost(
        "dp_lm, no public response",
        lambda: dp_lm(FORMULA, folder, public=design_only, mu=1),
    ),
    cost("dp_glm, binomial", lambda: dp_glm(yes_no, folder, public=public, mu=1)),
]
pd.DataFrame(costs).set_index("fit")

# %%
kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
peak = kilobytes / (2**20 if sys.platform == "darwin" else 2**10)
print(
    f"Peak memory of this page so far, with Python and the making of the files: {peak:.0f} MiB"
)

# %% [markdown]
# At the prompt and in notebooks a bar shows the passes when they take more than two seconds
# (`progress=True` always, `progress=False` never); it knows the numbers of rows, which are public.
#
# ## One answer, whatever the engine
#
# `data=` may be a table in memory (pandas, polars, pyarrow, DuckDB), the path of a Parquet file or
# folder, a list of tables, a function that returns tables block by block, or a Dask DataFrame. With
# one seed the released numbers are the same, bit for bit: rows are cut and rounded to a fixed grid
# one by one, and sums of integers do not depend on who adds first. (Without `seed=` noise is drawn
# anew at every call, as it must be for a release.)
#
# Where `person=` names persons whose rows are one term (`dp_lm`, `dp_glm`, `dp_feols`), their rows may
# lie anywhere in all of these, a Dask DataFrame included. They are brought together in this process:
# encoded, sorted by person and held until the call ends, 8 bytes for each row and column.

# %%
frame = table(50_000, seed=2)
small = Path(place.name) / "small.parquet"
frame.to_parquet(small)


def blocks() -> Iterator[pd.DataFrame]:
    for start in range(0, len(frame), 777):
        yield frame.iloc[start : start + 777]


engines = {
    "pandas": frame,
    "pandas, shuffled": frame.sample(frac=1, random_state=3),
    "pyarrow": pa.Table.from_pandas(frame),
    "Parquet": small,
    "blocks of 777 rows": blocks,
}
for name, data in engines.items():
    same = dp_lm(FORMULA, data, public=public, mu=1, seed=1)
    print(f"{name:20s}{float(same.coef()['x1'])!r}")

# %% [markdown]
# A call reads its rows several times. What can be read only once is refused before it is touched:

# %%
try:
    dp_lm(FORMULA, blocks(), public=public, mu=1)
except SchemaError as error:
    print(textwrap.fill(str(error), 100))

# %% [markdown]
# ## Processes and clusters
#
# `executor=` takes any executor of `concurrent.futures`; a Dask DataFrame is read by its own
# workers by itself:
#
# ```python
# with ProcessPoolExecutor(8) as pool:
#     dp_lm(formula, "rows/", public=pub, mu=1, executor=pool)
#
# client = Client("scheduler:8786")
# dp_lm(formula, "s3://bucket/rows/", public=pub, mu=1, executor=client.get_executor())
# dp_lm(formula, dask.dataframe.read_parquet("rows/"), public=pub, mu=1)
# ```
#
# A worker gets the names of files (or a part of the rows, when these are in the caller's memory)
# and public numbers; it returns one small matrix of whole numbers, and keeps nothing. A worker that
# dies and is replaced changes no bit. When one fails, its error says so and no more: texts of
# errors quote cells.
#
# A cluster must meet two conditions. Its workers must be alike: `exp` and `log` may differ in the
# last bit between kinds of processors and versions of libraries, and then who did what would show;
# workers report what they are, and a call that meets two kinds is stopped. And it must be trusted
# with the rows: while it works, their sums travel between its machines as they are, without noise.
#
# Inside one process the rows are worked on by as many threads as there are processors, each with
# one thread of linear algebra. `executor=ThreadPoolExecutor(2)` asks for fewer.
#
# ### What an engine costs
#
# On one machine with two processors, medians in seconds (`python -m tests.benchmarks.engine_speed
# --part dask`; Parquet, 12 columns, one model, `mu=1`):
#
# | rows | path, one process | pool of 2 processes | Dask, 2 processes | Dask DataFrame, 2 processes |
# |---|---|---|---|---|
# | 10,000 | 0.03 | 0.07 | 0.11 | 0.24 |
# | 100,000 | 0.11 | 0.24 | 0.33 | 0.50 |
# | 1,000,000 | 0.19 | 0.30 | 0.44 | 1.5 |
# | 10,000,000 | 2.6 | 2.0 | 3.3 | 6.8 |
#
# One process is the fastest up to a few million rows: it uses both processors anyhow, and keeps a
# table of up to a gigabyte of numbers between its passes, where workers read theirs anew at every
# one. A pool pays where a table is larger than that; a cluster pays where the rows are too many
# for one machine, or are there already. Give Dask the path rather than a Dask DataFrame where you
# can: its workers then read Parquet as this package does, some tens of thousands of rows at a time,
# and no table of pandas is made of whole partitions. A frame in the caller's memory travels to the
# workers at every pass: `client.persist(frame)` or, better, files.
#
# ## How the cost grows
#
# `python -m tests.benchmarks.engine_speed --part growth`, from Parquet in one process on two
# processors, every row read and measured anew in each of the passes:
#
# | rows, 12 columns | seconds | million rows/s in a pass that reads |
# |---|---|---|
# | 300,000 | 0.09 | 10.8 |
# | 1,000,000 | 0.20 | 12.6 |
# | 3,000,000 | 0.61 | 13.1 |
# | 10,000,000 | 2.29 | 13.7 |
#
# | columns, 1,000,000 rows | seconds | million rows/s in a pass that reads |
# |---|---|---|
# | 6 | 0.17 | 19.6 |
# | 12 | 0.20 | 12.6 |
# | 24 | 0.42 | 7.1 |
# | 48 | 1.30 | 3.1 |
#
# Time grows as rows^0.9, and a pass that reads as columns^0.9 up to 48 columns: reading, rounding
# and whitening a number cost more than the products of second moments, whose share grows with the
# square of the columns. All of these are kept between passes: they take up to a gigabyte of numbers.
# The peak of memory, Python and all included, is 500 MiB at a million rows and 1.6 GiB at ten
# million, where pyarrow's table and a matrix of its columns take 3.4 to 4.5 GiB. Were every pass to read
# the files, as it does beyond a gigabyte, ten million rows would take 2.9 seconds and 400 MiB.
#
# **A projection, not a measurement.** Two processes made 7.5 million rows a second per pass and
# processor. At that speed 10^10 rows of 12 columns, a terabyte, take 83 seconds for four passes on
# 64 workers of one processor, *if* storage gives 50 GB a second and the 38,000 tasks of a pass cost
# nothing themselves; a millisecond each on the scheduler would add 150 seconds, which larger row
# groups avoid. Noise does not grow with the rows: at this size it is nothing beside the sampling
# error, and so is that.
