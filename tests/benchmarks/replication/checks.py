"""How tables answer the papers' claims: each function makes the check of a claim.

A series is called ``"<method>, <parameter> = <number>"``, or just ``"<method>"``. Means and standard
deviations decide, as in the papers; medians are told beside them, because an inverse of a noisy
matrix that is nearly singular has errors without a mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from tests.benchmarks.replication.figure import Agreement, Finding

Check = Callable[[pd.DataFrame], Finding]
MODEST = 0.001
"""The largest penalty that still counts as a modest one."""


def split_name(series: str) -> tuple[str, str]:
    """Method and parameter of a series."""
    method, _, parameter = series.partition(", ")
    return method, parameter


def _of(table: pd.DataFrame, method: str, panel: str | None = None) -> pd.DataFrame:
    """Rows of a method with an answer, their parameter and its number in columns of their own."""
    names = [split_name(s) for s in table.series]
    rows = table.assign(
        method=[m for m, _ in names],
        parameter=[p for _, p in names],
        number=[float(p.rpartition("= ")[2]) if p else 0.0 for _, p in names],
    )
    wanted = (rows.method == method) & rows["mean"].notna()
    found: pd.DataFrame = rows[wanted if panel is None else wanted & (rows.panel == panel)]
    return found


def _paired(table: pd.DataFrame, mine: str, theirs: str) -> pd.DataFrame:
    """A row for each panel, parameter and x that both methods have."""
    keys = ["panel", "parameter", "x"]
    return _of(table, mine).merge(_of(table, theirs), on=keys, suffixes=("", "_theirs"))


def _last(table: pd.DataFrame, method: str, panel: str | None = None) -> pd.DataFrame:
    """The rows of the last x."""
    rows = _of(table, method, panel)
    last: pd.DataFrame = rows[rows.x == rows.x.max()]
    return last


def _graded(good: int, total: int) -> Agreement:
    """Yes: in nineteen of twenty cases, since tables have errors. No: in less than half of them."""
    if 20 * good >= 19 * total:
        return "yes"
    return "no" if 2 * good < total else "partly"


def _panels(table: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
    """Every panel and how a sentence about it begins."""
    for name in dict.fromkeys(table.panel):
        yield (f"{name}: " if name else ""), table[table.panel == name]


def _change(first: float, last: float) -> str:
    return f"{first:.3g} to {last:.3g}"


def better(mine: str, theirs: str) -> Check:
    """A smaller mean and a smaller standard deviation at the same parameter and x."""

    def check(table: pd.DataFrame) -> Finding:
        parts, good, total = [], 0, 0
        for start, p in _panels(_paired(table, mine, theirs)):
            nearer, steadier = (p["mean"] < p.mean_theirs).sum(), (p.sd < p.sd_theirs).sum()
            ratio = p.median_theirs / p["median"]
            parts.append(
                f"{start}mean smaller in {nearer} of {len(p)} points, standard deviation in "
                f"{steadier}; {theirs}'s median is {_change(ratio.min(), ratio.max())} times its"
            )
            good, total = good + nearer + steadier, total + 2 * len(p)
        return Finding("; ".join(parts), _graded(good, total))

    return check


def better_with_less(mine: str, theirs: str) -> Check:
    """A smaller mean at each smaller parameter than ``theirs`` has at a larger one."""

    def check(table: pd.DataFrame) -> Finding:
        parts, good, total = [], 0, 0
        pairs = _of(table, mine).merge(_of(table, theirs), on=["panel", "x"], suffixes=("", "_r"))
        for start, rows in _panels(pairs[pairs.number < pairs.number_r]):
            told = []
            for (low, high), p in rows.groupby(["parameter", "parameter_r"], sort=False):
                smaller = int((p["mean"] < p.mean_r).sum())
                told.append(f"{low} against {high}: smaller mean in {smaller} of {len(p)}")
                good, total = good + smaller, total + len(p)
            parts.append(start + ", ".join(told))
        return Finding("; ".join(parts), _graded(good, total))

    return check


def decreasing(mine: str) -> Check:
    """Means and standard deviations fall along x, and from a parameter to the next larger one."""

    def check(table: pd.DataFrame) -> Finding:
        parts, good, total = [], 0, 0
        for start, rows in _panels(_of(table, mine)):
            for column, name in (("mean", "mean"), ("sd", "standard deviation")):
                grid = rows.pivot(index="number", columns="x", values=column).sort_index()
                grid = grid.sort_index(axis=1)
                along, across = grid.diff(axis=1).iloc[:, 1:] < 0, grid.diff().iloc[1:] < 0
                fell, steps = int(along.sum().sum()), along.size
                fell_2, steps_2 = int(across.sum().sum()), across.size
                parts.append(
                    f"{start if name == 'mean' else ''}{name} falls in {fell} of {steps} steps of n "
                    f"and {fell_2} of {steps_2} of the budget"
                )
                good, total = good + fell + fell_2, total + steps + steps_2
        return Finding("; ".join(parts), _graded(good, total))

    return check


def nearer(own: str, theirs: str, last: bool = False) -> Check:
    """A smaller mean at the same parameter and x, or at the last x only."""

    def check(table: pd.DataFrame) -> Finding:
        parts, good, total = [], 0, 0
        for start, found in _panels(_paired(table, own, theirs)):
            p = found[found.x == found.x.max()] if last else found
            ahead = int((p["mean"] < p.mean_theirs).sum())
            ratio = p.median_theirs / p["median"]
            parts.append(
                f"{start}smaller mean in {ahead} of {len(p)} points, medians "
                f"{_change(ratio.min(), ratio.max())} times nearer"
            )
            good, total = good + ahead, total + len(p)
        return Finding("; ".join(parts), _graded(good, total))

    return check


def trade_off(*methods: str, panel: str | None = None) -> Check:
    """From the smallest to the largest penalty the deviation falls and the mean rises."""

    def check(table: pd.DataFrame) -> Finding:
        parts, good, total = [], 0, 0
        for method in methods:
            for start, rows in _panels(_of(table, method, panel)):
                by = "x" if panel is None else "number"
                ends = _penalties(rows, by)
                low, high = ends.iloc[0], ends.iloc[-1]
                parts.append(
                    f"{start}{method}, λ = {low[by]:g} to {high[by]:g}: standard deviation "
                    f"{_change(low.sd, high.sd)}, mean {_change(low['mean'], high['mean'])}"
                )
                good += int(high.sd < low.sd) + int(high["mean"] > low["mean"])
                total += 2
        return Finding("; ".join(parts), _graded(good, total))

    return check


def _penalties(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """A row for each penalty: where penalties are parameters, that of the last x."""
    rows = rows if by == "x" else rows[rows.x == rows.x.max()]
    return rows.sort_values(by)


def optimum_inside(method: str) -> Check:
    """The mean is smallest strictly between the ends of x, by two standard errors of the ends."""

    def check(table: pd.DataFrame) -> Finding:
        parts, good, total = [], 0, 0
        for start, found in _panels(_of(table, method)):
            rows = found.sort_values("x")
            best, ends = rows.iloc[int(np.argmin(rows["mean"]))], rows.iloc[[0, -1]]
            error = ends.sd / np.sqrt(ends.repeats)
            good, total = good + int((best["mean"] < ends["mean"] - 2 * error).all()), total + 1
            told = " and ".join(
                f"{m:.3g} (standard error {e:.2g})"
                for m, e in zip(ends["mean"], error, strict=True)
            )
            parts.append(
                f"{start}smallest mean {best['mean']:.3g} at λ = {best.x:g}, {told} at the ends"
            )
        return Finding("; ".join(parts), _graded(good, total))

    return check


def less_sensitive(mine: str, theirs: str, panel: str | None = None) -> Check:
    """Means spread less (largest minus smallest) over modest penalties, and over all of them."""

    def check(table: pd.DataFrame) -> Finding:
        parts, good, total = [], 0, 0
        by = "x" if panel is None else "number"
        other = dict(_panels(_of(table, theirs, panel)))
        for start, rows in _panels(_of(table, mine, panel)):
            told = []
            for most, name in ((MODEST, f"λ up to {MODEST:g}"), (np.inf, "all λ")):
                spread = []
                for found in (rows, other[start]):
                    by_penalty = _penalties(found, by)
                    means = by_penalty["mean"][by_penalty[by] <= most]
                    spread.append(float(means.max() - means.min()))
                told.append(f"{spread[0]:.3g} against {spread[1]:.3g} over {name}")
                good, total = good + int(spread[0] < spread[1]), total + 1
            parts.append(f"{start}means spread by {', '.join(told)}")
        return Finding("; ".join(parts), _graded(good, total))

    return check


def last_better_than_largest(mine: str, theirs: str, panel: str) -> Check:
    """At the last step: a smaller mean at each smaller parameter than ``theirs`` at the largest."""

    def check(table: pd.DataFrame) -> Finding:
        rows = _last(table, mine, panel).sort_values("number")
        largest = _last(table, theirs, panel).sort_values("number").iloc[-1]
        rows = rows[rows.number < largest.number]
        good = int((rows["mean"] < largest["mean"]).sum())
        told = [f"{mine}, {_told(r)}" for _, r in rows.iterrows()]
        measured = "; ".join([*told, f"{theirs}, {_told(largest)}"])
        return Finding(measured, _graded(good, len(rows)))

    return check


def _told(row: pd.Series) -> str:
    return f"{row.parameter}: mean {row['mean']:.3g} (sd {row.sd:.3g}, median {row['median']:.3g})"


def last_improves(mine: str, panel: str) -> Check:
    """At the last step mean and standard deviation fall from a parameter to the next."""

    def check(table: pd.DataFrame) -> Finding:
        rows = _last(table, mine, panel).sort_values("number")
        falls = (rows[["mean", "sd"]].diff().iloc[1:] < 0).to_numpy()
        measured = "; ".join(_told(r) for _, r in rows.iterrows())
        return Finding(measured, _graded(int(falls.sum()), falls.size))

    return check


def fails_unpenalised(theirs: str, mine: str, panel: str) -> Check:
    """Without a penalty the mean error of ``theirs`` is larger after the last step than after the
    first, and that of ``mine`` is smaller."""

    def check(table: pd.DataFrame) -> Finding:
        told, fails = [], []
        for method in (theirs, mine):
            rows = _of(table, method, panel)
            rows = rows[rows.number == 0].sort_values("x")
            first, last = rows.iloc[0], rows.iloc[-1]
            fails.append(bool(last["mean"] > first["mean"]))
            told.append(
                f"{method}: mean {_change(first['mean'], last['mean'])} from step {first.x:g} to "
                f"{last.x:g}, median {_change(first['median'], last['median'])}, last sd {last.sd:.3g}"
            )
        agrees: Agreement = "no" if not fails[0] else "partly" if fails[1] else "yes"
        return Finding("; ".join(told), agrees)

    return check


def small_from(mine: str, columns: int) -> Check:
    """No answer below as many public rows as columns, and with one more a mean within three times
    that of the most public rows."""

    def check(table: pd.DataFrame) -> Finding:
        below = table[(table.x < columns) & table.series.str.startswith(f"{mine}, ")]
        silent = bool((below.missing == below.repeats).all())
        told, good = [f"below {columns} rows {'no answer' if silent else 'some answers'}"], 0
        groups = _of(table, mine).groupby("parameter", sort=False)
        for parameter, rows in groups:
            by = rows.sort_values("x")
            after, most = by[by.x > columns].iloc[0], by.iloc[-1]
            good += int(after["mean"] < 3 * most["mean"])
            shown = pd.concat([by.iloc[:3], by.iloc[-1:]]).drop_duplicates("x")
            means = ", ".join(
                f"{m:.3g} at {x:g}" for x, m in zip(shown.x, shown["mean"], strict=True)
            )
            told.append(
                f"{parameter}: mean {means}; sd {after.sd / most.sd:.2g} times as large at "
                f"{after.x:g} as at {most.x:g}"
            )
        # The condition is necessary in any case: what may fail is that one row more is enough.
        enough = _graded(good, len(groups))
        agrees: Agreement = "no" if not silent else "partly" if enough == "no" else enough
        return Finding("; ".join(told), agrees)

    return check


def falls_along(mine: str) -> Check:
    """The mean is smaller at the last x than at the first."""

    def check(table: pd.DataFrame) -> Finding:
        parts, good, total = [], 0, 0
        for start, rows in _panels(_of(table, mine)):
            told = []
            for parameter, found in rows.groupby("parameter", sort=False):
                by = found.sort_values("x")
                first, last = by.iloc[0], by.iloc[-1]
                good, total = good + int(last["mean"] < first["mean"]), total + 1
                told.append(f"{parameter} {_change(first['mean'], last['mean'])}")
            x = _of(table, mine).x
            parts.append(f"{start}mean at {x.min():g} to {x.max():g} rows: {', '.join(told)}")
        return Finding("; ".join(parts), _graded(good, total))

    return check


def levels_off(mine: str, middle: float) -> Check:
    """Mean and standard deviation fall by a larger factor up to ``middle`` than from there on."""

    def check(table: pd.DataFrame) -> Finding:
        told, good, total = [], 0, 0
        for parameter, rows in _of(table, mine).groupby("parameter", sort=False):
            by = rows.sort_values("x")
            between = by.iloc[(by.x - middle).abs().argmin()]
            factors = {}
            for column in ("mean", "sd"):
                first, last = by[column].iloc[0], by[column].iloc[-1]
                factors[column] = first / between[column], between[column] / last
                good, total = good + int(factors[column][0] > factors[column][1]), total + 1
            told.append(
                f"{parameter}: mean falls {factors['mean'][0]:.2g} times up to {between.x:g} rows and "
                f"{factors['mean'][1]:.2g} times after, sd {factors['sd'][0]:.2g} and "
                f"{factors['sd'][1]:.2g}"
            )
        return Finding("; ".join(told), _graded(good, total))

    return check
