"""Time and memory of reading rows: Parquet, Dask, threads, and growth in rows and columns.

    python -m tests.benchmarks.engine_speed --part parquet --rows 1000000 10000000
    python -m tests.benchmarks.engine_speed --part memory
    python -m tests.benchmarks.engine_speed --part kernel
    python -m tests.benchmarks.engine_speed --part dask --rows 10000 100000 1000000 10000000
    python -m tests.benchmarks.engine_speed --part threads
    python -m tests.benchmarks.engine_speed --part growth

Medians and minima over interleaved repeats; files are in the page cache when they are timed. Peak memory
is all that is resident of a fresh process, its imports included. Parquet files are written to
``--folder``, and read from there when they exist; ``--file`` names others with columns y, x1, x2, ...
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

Run = Callable[[], Any]
Times = dict[str, list[float]]

COLUMNS = 12
GROUP_ROWS = 2**18
BATCH_ROWS = 65536
PUBLIC_ROWS = 200
ARROW = "X'X, pyarrow"
ARROW_WHOLE = "X'X, pyarrow, read at once"
POLARS = "X'X, polars, read at once"
POLARS_BATCHES = "X'X, polars, in batches"
DP_LM = "dp_lm"
DESIGN_ONLY = "dp_lm, public design only"
DP_GLM = "dp_glm"
DP_MVNORM = "dp_mvnorm"


# Data ---------------------------------------------------------------------------------------------


def write(path: Path, n: int, d: int) -> None:
    """Write a linear model with correlated columns, one row group after another."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    beta = rng.normal(size=d)
    mix = np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    names = [*(f"x{j + 1}" for j in range(d)), "y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as file:
        for start in range(0, n, GROUP_ROWS):
            rows = min(GROUP_ROWS, n - start)
            x = rng.normal(size=(rows, d)) @ mix + 1
            y = x @ beta + rng.normal(size=rows) + 1
            file.write_table(pa.table([*x.T.copy(), y], schema=schema), row_group_size=GROUP_ROWS)


@dataclass(frozen=True)
class Files:
    """Parquet files by their size, found or written."""

    folder: Path
    given: dict[tuple[int, int], Path]

    @classmethod
    def found(cls, folder: Path, paths: Sequence[Path]) -> Files:
        import pyarrow.parquet as pq

        told = [(pq.read_metadata(path), path) for path in paths]
        return cls(folder, {(told.num_rows, told.num_columns - 1): path for told, path in told})

    def get(self, n: int, d: int = COLUMNS) -> Path:
        """A file of ``n`` rows and ``d`` columns beside the response."""
        path = self.given.get((n, d), self.folder / f"{n}_{d}.parquet")
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".unfinished")
            write(unfinished, n, d)
            unfinished.rename(path)
        return path


@cache
def first_rows(path: Path) -> Any:
    """The public sample."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as file:
        return next(file.iter_batches(PUBLIC_ROWS)).to_pandas()


def formula_of(public: Any) -> str:
    return "y ~ " + " + ".join(name for name in public.columns if name != "y")


# Runs ---------------------------------------------------------------------------------------------


def arrow_gram(path: Path) -> Any:
    """X'X of all columns, response included, by one reading of the file."""
    import pyarrow.parquet as pq

    total: Any = 0.0
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as file:
        for batch in file.iter_batches(BATCH_ROWS):
            x = np.column_stack([column.to_numpy() for column in batch.columns])
            total = total + x.T @ x
    return total


def arrow_whole_gram(path: Path) -> Any:
    """The same of a table and a matrix that are held whole."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    x = np.column_stack([column.to_numpy() for column in table.columns])
    return x.T @ x


def polars_gram(path: Path) -> Any:
    """The same by polars, which holds the whole table meanwhile."""
    import polars as pl

    total: Any = 0.0
    for part in pl.read_parquet(path).iter_slices(BATCH_ROWS):
        x = part.to_numpy()
        total = total + x.T @ x
    return total


def polars_batches_gram(path: Path) -> Any:
    """The same by polars, a batch at a time."""
    import polars as pl

    total: Any = 0.0
    for part in pl.scan_parquet(path).collect_batches(chunk_size=BATCH_ROWS):
        x = part.to_numpy()
        total = total + x.T @ x
    return total


def fit(path: Path, data: Any = None, **options: Any) -> Any:
    """dp_lm on the rows of a file, or on ``data`` that have the same columns; seeded."""
    import dpstats

    public = first_rows(path)
    data = path if data is None else data
    return dpstats.dp_lm(formula_of(public), data, public=public, mu=1, seed=0, **options)


def fit_by_design(path: Path) -> Any:
    """dp_lm from public moments that know nothing of the response."""
    import dpstats

    public = first_rows(path)
    formula = formula_of(public)
    design = dpstats.public_moments(formula.removeprefix("y "), public)
    return dpstats.dp_lm(formula, path, public=design, mu=1, seed=0)


def fit_binomial(path: Path) -> Any:
    """dp_glm of whether the response is positive."""
    import dpstats

    public = first_rows(path)
    formula = "I(y > 0)" + formula_of(public).removeprefix("y")
    return dpstats.dp_glm(formula, path, public=public, family="binomial", mu=1, seed=0)


def moments(path: Path) -> Any:
    """dp_mvnorm of the columns beside the response."""
    import dpstats

    public = first_rows(path)
    return dpstats.dp_mvnorm(formula_of(public).removeprefix("y "), path, public, mu=1, seed=0)


READERS: dict[str, Callable[[Path], Any]] = {
    ARROW: arrow_gram,
    ARROW_WHOLE: arrow_whole_gram,
    POLARS: polars_gram,
    POLARS_BATCHES: polars_batches_gram,
    DP_LM: fit,
    DESIGN_ONLY: fit_by_design,
    DP_GLM: fit_binomial,
    DP_MVNORM: moments,
}


# Measuring ----------------------------------------------------------------------------------------


def seconds(run: Run) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def interleaved(runs: dict[str, Run], repeats: int) -> tuple[Times, Times]:
    """Seconds and processor seconds of every run, in rounds of any order; the first is not counted."""
    wall: Times = {name: [] for name in runs}
    busy: Times = {name: [] for name in runs}
    rng = np.random.default_rng(1)
    for k in range(repeats + 1):
        for name in rng.permutation(list(runs)).tolist():
            began = time.process_time()
            taken = seconds(runs[name])
            if k > 0:
                wall[name].append(taken)
                busy[name].append(time.process_time() - began)
    return wall, busy


def middle(times: Sequence[float]) -> float:
    return float(np.median(times))


def peak() -> float:
    """Largest resident memory of this process so far, in MiB (Linux)."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def one(name: str, path: Path) -> None:
    """What a fresh process does: one run, its seconds and its peak."""
    import dpstats  # noqa: F401

    print(json.dumps({"seconds": seconds(lambda: READERS[name](path)), "peak": peak()}))


def fresh(name: str, path: Path) -> tuple[float, float]:
    """Seconds of a run and peak memory in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.engine_speed", "--part", "one"]
    command += ["--run", name, "--file", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    told = json.loads(done.stdout)
    return told["seconds"], told["peak"]


@dataclass
class Count:
    """Passes over the rows, and those of them for which the file was read."""

    passes: int = 0
    readings: int = 0
    fit: Any = field(default=None, repr=False)


def counted(run: Run) -> Count:
    """Run once and count."""
    from dpstats.frame.executors import Reading
    from dpstats.mechanism.passes import PrivateRows

    found = Count()
    over, bar = PrivateRows._over, Reading.bar

    def one_more_pass(self: Any, work: Any) -> Any:
        found.passes += 1
        return over(self, work)

    def one_more_reading(self: Any, number: int, total: int) -> Any:
        found.readings += 1
        return bar(self, number, total)

    with (
        mock.patch.object(PrivateRows, "_over", one_more_pass),
        mock.patch.object(Reading, "bar", one_more_reading),
    ):
        found.fit = run()
    return found


@contextmanager
def always_read() -> Iterator[None]:
    """Rows are not kept between the passes, however few they are."""
    with mock.patch("dpstats.mechanism.passes._CACHE_BYTES", -1):
        yield


def same(fits: Sequence[Any]) -> bool:
    """Whether estimates and their covariances are equal to the bit."""
    first = fits[0]
    return all(
        np.array_equal(first.coef().to_numpy(), other.coef().to_numpy())
        and np.array_equal(first.vcov().to_numpy(), other.vcov().to_numpy())
        for other in fits
    )


# Parts --------------------------------------------------------------------------------------------


def parquet(files: Files, rows: Sequence[int], repeats: int, processes: int) -> None:
    """dp_lm beside one reading of the file that forms X'X; memory at all sizes."""
    peaks: dict[int, float] = {}
    for n in rows:
        path = files.get(n)
        apart: dict[str, list[tuple[float, float]]] = {name: [] for name in READERS}
        for _ in range(processes):
            for name in READERS:
                apart[name].append(fresh(name, path))
        runs: dict[str, Run] = {name: partial(read, path) for name, read in READERS.items()}
        times, busy = interleaved(runs, repeats)
        best = min((POLARS, POLARS_BATCHES), key=lambda name: middle(times[name]))
        print(
            f"\nn = {n}, d = {COLUMNS}: fresh processes (first call), and repeats in one process;"
        )
        print("ratios of medians, and of fresh calls and of minima over X'X by pyarrow")
        print(f"{'':28s}{'fresh s':>9}{'peak MiB':>10}{'median s':>10}{'min s':>8}", end="")
        print(f"{'/ pyarrow':>11}{'/ polars':>10}{'fresh /':>9}{'of minima':>11}{'CPU s':>8}")
        peaks[n] = max(p for _, p in apart[DP_LM])
        first = {name: middle([taken for taken, _ in found]) for name, found in apart.items()}
        for name in READERS:
            taken = middle(times[name])
            print(
                f"{name:28s}{first[name]:9.3f}{max(p for _, p in apart[name]):10.0f}{taken:10.3f}"
                f"{min(times[name]):8.3f}{taken / middle(times[ARROW]):11.2f}"
                f"{taken / middle(times[best]):10.2f}{first[name] / first[ARROW]:9.2f}"
                f"{min(times[name]) / min(times[ARROW]):11.2f}{middle(busy[name]):8.2f}"
            )
        for name in (DP_LM, DESIGN_ONLY):
            count = counted(runs[name])
            rounds = count.fit.diagnostics().loc["rounds", "value"]
            print(
                f"{name}: {rounds:.0f} score rounds, {count.passes} passes over the rows, "
                f"{count.readings} readings of the file; "
                f"{middle(times[name]) / count.passes:.3f} s a pass",
                flush=True,
            )
    print("\npeak of dp_lm: " + ", ".join(f"n = {n}: {p:.0f} MiB" for n, p in peaks.items()))


def memory(repeats: int) -> None:
    """Fits in memory beside statsmodels."""
    from tests.benchmarks import glm_speed, linear_speed

    print("dp_lm, 1,000,000 x 20", flush=True)
    linear_speed.main(1_000_000, 20, repeats)
    for d in (10, 20):
        print(f"dp_glm, binomial, 1,000,000 x {d}", flush=True)
        glm_speed.main(1_000_000, d, repeats)


def kernel(repeats: int) -> None:
    """eptr_nw beside kernel sums in numpy."""
    from tests.benchmarks import eptr_speed

    eptr_speed.curves(20_000, 2000, repeats)


def _ready(pause: float = 0.0) -> None:
    """A worker that has done this has imported what it needs."""
    import dpstats  # noqa: F401

    time.sleep(pause)


def dask(files: Files, rows: Sequence[int], repeats: int, workers: int) -> None:
    """The same file in one process, by an executor and by Dask."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    paths = {n: files.get(n) for n in rows}
    fit(paths[min(rows)])
    began = time.perf_counter()
    pool = ProcessPoolExecutor(workers)
    list(pool.map(_ready, [0.2] * workers))
    took_pool = time.perf_counter() - began - 0.2
    began = time.perf_counter()
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
    )
    client = Client(cluster, set_as_default=False)
    client.run(_ready)
    took_cluster = time.perf_counter() - began
    print(f"start-up, imports included: pool {took_pool:.2f} s, Dask {took_cluster:.2f} s")

    def by_frame(path: Path, **options: Any) -> Any:
        return fit(path, dd.read_parquet(path, **options))

    def by_cluster(path: Path, **options: Any) -> Any:
        with client.as_current():
            return by_frame(path, **options)

    with pool, cluster, client:
        executor = client.get_executor()
        for n, path in paths.items():
            runs: dict[str, Run] = {
                "path, one process": partial(fit, path),
                f"path, pool of {workers} processes": partial(fit, path, executor=pool),
                f"path, Dask of {workers} processes": partial(fit, path, executor=executor),
                f"Dask DataFrame, {workers} processes": partial(by_cluster, path),
                "  by row groups": partial(by_cluster, path, split_row_groups=True),
                "Dask DataFrame, no cluster": partial(by_frame, path),
            }
            kept = [run() for run in runs.values()]
            times, _ = interleaved(runs, repeats)
            with always_read():
                uncached = middle([seconds(partial(fit, path)) for _ in range(repeats)])
            parts = [
                dd.read_parquet(path, **options).npartitions
                for options in ({}, {"split_row_groups": True})
            ]
            base = middle(times["path, one process"])
            print(
                f"\nn = {n}: {parts[1]} row groups, {parts[0]} partitions of a Dask DataFrame; one "
                f"process without keeping rows {uncached:.3f} s; "
                f"results {'equal' if same(kept) else 'DIFFER'}"
            )
            print(f"{'':34s}{'median s':>10}{'min s':>8}{'overhead s':>12}{'ratio':>8}")
            for name, found in times.items():
                taken = middle(found)
                print(
                    f"{name:34s}{taken:10.3f}{min(found):8.3f}{taken - base:12.3f}"
                    f"{taken / base:8.2f}",
                    flush=True,
                )


def threads(n: int, d: int, repeats: int) -> None:
    """dp_lm in memory by the number of threads for blocks and of threads within BLAS."""
    import pandas as pd
    from threadpoolctl import threadpool_limits

    import dpstats
    from dpstats.mechanism.threads import processors

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{j + 1}" for j in range(d)])
    frame["y"] = frame.to_numpy() @ rng.normal(size=d) + rng.normal(size=n)
    public, formula = frame.iloc[:1000].copy(), formula_of(frame)

    def call(**options: Any) -> Any:
        return dpstats.dp_lm(formula, frame, public=public, mu=1, seed=0, **options)

    def limited(blocks: int, blas: int) -> Any:
        with (
            ThreadPoolExecutor(blocks) as executor,
            mock.patch("dpstats.mechanism.passes.one_blas_thread", nullcontext),
            threadpool_limits(blas, user_api="blas"),
        ):
            return call(executor=executor)

    most = processors()
    counts = sorted({1, 2, 4, most, 2 * most})
    runs: dict[str, Run] = {f"default ({most} and 1)": call}
    for blas in sorted({1, 2, most}):
        for blocks in counts:
            runs[f"{blocks} for blocks, BLAS {blas}"] = partial(limited, blocks, blas)
    equal = same([run() for run in runs.values()])
    times, _ = interleaved(runs, repeats)
    base = middle(next(iter(times.values())))
    print(
        f"dp_lm in memory, {n} x {d}, {most} processors; results {'equal' if equal else 'DIFFER'}"
    )
    print(f"{'threads':28s}{'median s':>10}{'min s':>8}{'/ default':>11}")
    for name, found in times.items():
        taken = middle(found)
        print(f"{name:28s}{taken:10.3f}{min(found):8.3f}{taken / base:11.2f}", flush=True)


@dataclass(frozen=True)
class Grown:
    """A size and what a fit of it took."""

    n: int
    d: int
    passes: int
    kept: float
    read: float

    @property
    def rate(self) -> float:
        """Rows per second of a pass that reads them."""
        return self.n * self.passes / self.read


def grown(sizes: dict[tuple[int, int], Path], repeats: int) -> list[Grown]:
    """Time a fit at every size, as it is and with every pass reading the file."""
    counts = {size: counted(partial(fit, path)) for size, path in sizes.items()}

    def reading(path: Path) -> Any:
        with always_read():
            return fit(path)

    runs: dict[str, Run] = {}
    for size, path in sizes.items():
        runs[f"kept {size}"] = partial(fit, path)
        runs[f"read {size}"] = partial(reading, path)
    times, _ = interleaved(runs, repeats)
    print(f"{'n':>10}{'d':>5}{'passes':>8}{'readings':>10}{'median s':>10}{'min s':>8}", end="")
    print(f"{'every pass read: median s':>28}{'rows/s a pass':>15}{'MB/s':>8}")
    out = []
    for (n, d), count in counts.items():
        kept, read = times[f"kept {n, d}"], times[f"read {n, d}"]
        out.append(Grown(n, d, count.passes, middle(kept), middle(read)))
        print(
            f"{n:10d}{d:5d}{count.passes:8d}{count.readings:10d}{middle(kept):10.3f}"
            f"{min(kept):8.3f}{middle(read):28.3f}{out[-1].rate:15,.0f}"
            f"{out[-1].rate * 8e-6 * (d + 1):8.0f}",
            flush=True,
        )
    return out


def exponent(size: Sequence[float], taken: Sequence[float]) -> float:
    """Slope of a straight line through the logarithms."""
    return float(np.polyfit(np.log(size), np.log(taken), 1)[0])


def growth(
    files: Files, rows: Sequence[int], columns: Sequence[int], repeats: int, workers: int, far: int
) -> None:
    """How time grows with rows and with columns, and what that makes of a cluster."""
    by_rows = grown({(n, COLUMNS): files.get(n) for n in rows}, repeats)
    n = [g.n for g in by_rows]
    print(
        f"seconds grow as n^{exponent(n, [g.kept for g in by_rows]):.2f}; a pass that reads, as "
        f"n^{exponent(n, [g.read / g.passes for g in by_rows]):.2f}\n"
    )
    wide = 1_000_000
    by_columns = grown({(wide, d): files.get(wide, d) for d in columns}, repeats)
    d = [g.d + 1 for g in by_columns]
    print(
        f"seconds grow as (d + 1)^{exponent(d, [g.kept for g in by_columns]):.2f}; a pass that "
        f"reads, as (d + 1)^{exponent(d, [g.read / g.passes for g in by_columns]):.2f}\n"
    )
    largest = by_rows[int(np.argmax(n))]
    path = files.get(largest.n)
    cores = 2
    with ProcessPoolExecutor(cores) as pool:
        fit(path, executor=pool)
        each = middle([seconds(partial(fit, path, executor=pool)) for _ in range(repeats)])
    rate = largest.n * largest.passes / each / cores
    groups = -(-far // GROUP_ROWS)
    print(
        f"n = {largest.n} by {cores} processes: {each:.3f} s, {rate:,.0f} rows/s a pass and core "
        f"({rate * 8e-6 * (COLUMNS + 1):.0f} MB/s of columns)\n"
        f"PROJECTION, not measured: {far:.0e} rows x {COLUMNS}, {largest.passes} passes, {workers} "
        f"workers of one core: {far * largest.passes / rate / workers:,.0f} s, if storage gives "
        f"{workers * rate * 8e-9 * (COLUMNS + 1):.1f} GB/s and the {groups} tasks of a pass "
        f"({GROUP_ROWS} rows each) cost nothing themselves; a millisecond each on the scheduler "
        f"would add {groups * largest.passes / 1000:.0f} s"
    )


def main(asked: argparse.Namespace) -> None:
    part, repeats = asked.part, asked.repeats
    if part == "one":
        one(asked.run, asked.file[0])
        return
    if part == "memory":
        memory(repeats or 9)
        return
    if part == "kernel":
        kernel(repeats or 5)
        return
    if part == "threads":
        threads((asked.rows or [1_000_000])[0], (asked.columns or [20])[0], repeats or 9)
        return
    with tempfile.TemporaryDirectory() as folder:
        files = Files.found(asked.folder or Path(folder), asked.file)
        if part == "parquet":
            parquet(files, asked.rows or [10**6, 10**7], repeats or 5, asked.processes)
        elif part == "dask":
            dask(files, asked.rows or [10**4, 10**5, 10**6, 10**7], repeats or 5, 2)
        elif part == "growth":
            rows = asked.rows or [300_000, 10**6, 3 * 10**6, 10**7]
            columns = asked.columns or [6, 12, 24, 48]
            growth(files, rows, columns, repeats or 5, asked.workers, asked.far)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ["parquet", "memory", "kernel", "dask", "threads", "growth"]
    parser.add_argument("--part", choices=[*parts, "one"], required=True)
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--columns", type=int, nargs="+", help="threads: one; growth: several")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--processes", type=int, default=3, help="parquet: fresh ones for each run")
    parser.add_argument("--workers", type=int, default=64, help="growth: of the projection")
    parser.add_argument("--far", type=int, default=10**10, help="growth: rows of the projection")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--file", type=Path, nargs="+", default=[])
    parser.add_argument("--run", choices=list(READERS), help="one: which")
    main(parser.parse_args())
