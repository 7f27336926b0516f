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
# # The guarantee
#
# For the person who signs for the data: what a release of this package promises, to whom, under
# which assumptions; what it does not promise; and how each part of the promise is tested. No
# knowledge of statistics beyond a significance test is needed. Code that only draws a table or a
# picture is folded away.

# %% tags=["remove-cell"]
import os
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import special

from dpstats import Budget, BudgetExceeded, dp_lm, dp_mean
from dpstats.accounting.privacy import Privacy
from dpstats.audit import audit, worst_neighbours
from dpstats.datasets import fair

TRIALS = 600 if os.environ.get("DPSTATS_FAST_PAGES") else 2000
pd.set_option("display.width", 100)
pd.set_option("display.max_columns", 12)

# %% [markdown]
# ## What is promised
#
# Take any data set, and any one row of it. Replace that row by any other row there could be:
# another person's, a forged one, one with missing or absurd values. **Whoever sees everything that
# a call has released, and knows all other rows, can hardly tell which of the two rows was there.**
#
# "Hardly" is a number, and mu is that number. Somebody who tests at level 5 % which row it was has,
# at best, the power that a one-sided test has to tell a normal variable with mean 0 from one with
# mean mu:


# %% tags=["hide-input"]
def powers(level: Any, mu: float) -> Any:
    """Power of the best test of a level between two normal laws that are mu apart."""
    return special.ndtr(special.ndtri(level) + mu)


levels = [0.001, 0.01, 0.05, 0.10]
curve = pd.DataFrame(
    {
        f"mu = {mu:g}": [f"{100 * power:.1f} %" for power in powers(levels, mu)]
        for mu in (0.25, 0.5, 1.0, 2.0)
    },
    index=pd.Index(
        [f"{100 * level:g} %" for level in levels], name="level of the test"
    ),
)
curve

# %% [markdown]
# Without a release the power of such a test is its level. At mu = 0.5 a test at level 5 % has power
# 13 %; at mu = 2, 64 %. Other words for the same total, which every summary prints:

# %% tags=["hide-input"]
units = [
    {
        "mu (Gaussian DP)": mu,
        "rho (zCDP)": Privacy(mu).rho,
        "epsilon at delta = 1e-5": round(Privacy(mu).epsilon(1e-5), 2),
        "epsilon at delta = 1e-9": round(Privacy(mu).epsilon(1e-9), 2),
    }
    for mu in (0.25, 0.5, 1.0, 2.0)
]
pd.DataFrame(units).set_index("mu (Gaussian DP)")

# %% [markdown]
# Which mu? No theorem decides that. At 1 a test at level 5 % is right about a row that was there
# one time in four; at 0.5 one time in eight; from 2 on the promise is thin. What counts is the
# total of all that is ever released of the same rows (see the budget below), and what harm there
# could be.
#
# These are the exact curves of the Gaussian mechanism, and not the usual bounds of them. Three
# kinds of totals read otherwise:
#
# - *pure epsilon* (`dp_mean` and `dp_mvnorm` with `epsilon=` alone): the odds of any two rows
#   change by a factor exp(epsilon) at most, whatever is released;
# - *"mu up to delta0"* (`eptr` and its kind): off an event whose probability is at most delta0, mu
#   holds;
# - *epsilon at delta, for this release by itself* (`calibration="dp"`, `method="paper"`): stated at
#   one epsilon only.
#
# **The promise is for every data set.** It rests on no assumption about rows: not that they are a
# sample, nor that they follow a model, nor that their values are in a range. Rows that are far out
# are cut to a length that public data, or earlier private releases, decide; rows that cannot be
# read become zeros. (What a release is *worth* does rest on such assumptions; the summary's bounds
# say which.)

# %% [markdown]
# ## Whom it protects
#
# One row. A fit says so:

# %%
public, private = fair()
fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1)
fit.privacy

# %% [markdown]
# Where people have several rows, name the column that says whose they are. In `dp_lm` and `dp_glm` all
# rows of a person are then one term of every sum: the total is that person's, whatever the number of
# rows, and standard errors are clustered by person. The number of persons is public; the number of
# rows is not, and what the summary says of it was released.

# %%
visits = private.assign(woman=np.arange(len(private)) // 4)  # four rows each
fit = dp_lm(
    "rate_marriage ~ age + religious",
    visits,
    public=public,
    mu=1,
    person="woman",
)
fit.privacy

# %% [markdown]
# Other functions count the first `rows_per_person=3` rows of each person, and make the noise that
# protects so many rows at once. Without a column, `rows_per_person=3` takes on trust that nobody has
# more.

# %% [markdown]
# Any fit also states its guarantee for groups: a family of four, of whom each has one row, at
# once.

# %%
dp_lm("rate_marriage ~ age", private, public=public, mu=0.5).privacy.for_group(4)

# %% [markdown]
# ## What is public
#
# | public | because |
# |---|---|
# | the number of rows (of persons, where sums run over these) | neighbours have equally many |
# | names and kinds of the columns | an error may name them; fix the kinds without looking at values |
# | formula, `limits=` and all other arguments | the analyst types them; choose them before you look |
# | everything in `public=` | it is looked at freely, and shown |
# | how rows fall into files and blocks, and whether these can be read | errors say so |
# | that the call was made, its total and its kind | the ledger keeps them |
#
# Everything else that you see was released through a mechanism: coefficients, standard errors,
# shares of truncated rows, the number of rounds, the choice of a radius. Errors, warnings, shapes
# and types depend on public facts alone. Residuals, fitted values and row counts after deletion do
# not exist: the error names what to use instead.
#
# ## What is assumed
#
# - *The noise is random.* It comes from the cryptographic generator of the operating system, by
#   samplers of whole numbers that round nothing; tests hold them to their laws and to OpenDP's
#   samplers. `seed=` is for teaching and tests; such a result says "seeded: not for release".
# - *Neighbours have the same public data.* The public sample must not be chosen by looking at
#   private rows. A sample taken out of the private table is public from then on: its people are not
#   protected.
# - *You prove what you bring.* `eptr` with an estimator of your own holds if your two statements
#   about it do; `check_safety` looks for mistakes, and cannot prove that there are none.
# - *Persons are named rightly*, where `person=` is used: one spelling and one type in all blocks.
#   Whole numbers and text name persons; floats that may have been rounded, and other cells, name
#   nobody, and their rows do not count. Where `person=` is not used, nobody has more rows than
#   said.
# - *A person is replaced by somebody new.* Neighbours exchange all rows of a person for those of
#   one who has none in the data. A row that goes from one person to another counts for two.
# - *Files are named once.* A file or row that is read twice counts as two.
# - *Workers are alike* (processors, versions), which a call checks.
#
# ## What is not protected
#
# - **The public sample.** It is shown, plotted and used without noise.
# - **Secrets of the population.** That smokers die earlier is learnt with or without your row, and then
#   holds for you. The promise is about the difference that your row makes.
# - **Time and memory.** A call takes longer where rows are longer or odd. Who can measure your
#   process closely may learn from it: run releases where nobody else can watch.
# - **What an analyst does after looking at private rows.** Plots, summaries and models that were
#   tried on the raw table, and the choice that followed, are outside every ledger. Explore on the
#   public sample or on synthetic rows.
# - **The rows themselves.** Files, notebooks, swap space and backups that hold private rows need
#   protection of their own; so do debuggers and tracebacks with variables. Results and ledgers hold
#   no rows.
# - **What other tools release** from the same rows, unless you charge it to the same budget:
#   `budget.charge("counts by region, published in May", rho=0.08)`.
#
# ## Several calls: a budget
#
# Every call spends. A `Budget` adds up, refuses what would be too much before a row is read, and
# can live in a file that several people and processes share.

# %% tags=["remove-cell"]
before, folder = Path.cwd(), tempfile.TemporaryDirectory()
os.chdir(folder.name)  # the page leaves no file behind

# %%
budget = Budget(mu=1, path="study.budget")
private.attrs["name"] = "Fair's survey"
with budget:
    fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=0.6)
    smaller = fit.update("~ . - age")  # from the same release: free
    dp_mean(["age", "educ"], private, public=public, rho=0.1)
budget.table()

# %%
try:
    dp_lm("rate_marriage ~ children", private, public=public, mu=0.8, budget=budget)
except BudgetExceeded as refused:
    print(textwrap.fill(str(refused), 80))

# %% tags=["remove-cell"]
os.chdir(before)
folder.cleanup()

# %% [markdown]
# Calls may be chosen after seeing the results of earlier ones: the limits are fixed beforehand, and mu^2
# adds up to them (rho, or epsilon, in budgets of these). The guarantee is the total. A charge is
# on disk before the first row is read. A crash leaves it there; a call that is refused for public
# reasons before it has read anything is not charged. A budget protects rows, or persons that one
# column names, and refuses calls that protect others. When it is used up, nothing more may be
# released of these rows; what was released stays useful, and what follows from it is free.
#
# The ledger is a SQLite file in which every line has a digest of the line before; a file that is
# damaged, or not a ledger, is refused and left as it is. That is against accidents: whoever can
# write the file can forge it, and whoever can delete it, or put an old copy in its place, can spend
# twice. Keep it where the data are kept, on a local disk (network file systems may not lock);
# people who share it must be allowed to write the file and its folder. Calls in workers of
# `multiprocessing` and joblib, and in programs that are started while the budget is open, are charged;
# workers of workers, and those on other machines, must be given it (`budget=`). A call that names
# another budget is charged to that one.
#
# ## How it is tested
#
# - *One row moves each sum by no more than its sensitivity*: property tests that search for
#   violations, `tests/models/*/test_rows.py`, `tests/models/*/test_releases.py`,
#   `tests/mechanism/test_session.py`.
# - *Samplers have the law that the proofs assume*: `tests/mechanism/test_noise.py`,
#   `test_ball.py`; false alarms below 1e-6.
# - *Released floats lie on a fixed grid, and equal sums release equal bits*:
#   `tests/test_lattice.py`, `tests/mechanism/test_lattice.py`.
# - *The sum does not depend on the order of rows, blocks or engines*: `tests/test_engines.py`.
# - *Conversions between mu, rho, epsilon and delta*: dp-accounting as an oracle,
#   `tests/accounting/test_privacy.py`, `test_composition.py`.
# - *Persons: as many rows change as may count*: `tests/frame/test_persons.py`,
#   `tests/accounting/test_unit.py`.
# - *A budget is never overspent, by whomever, and outlives a crash*: `tests/budget/test_calls.py`,
#   `tests/budget/test_processes.py`, `tests/budget/test_ledger_stress.py`.
# - *No value of a row in a message; no error because of one*: `tests/test_fuzz.py`.
# - *Each function gives away no more than it claims*: audits: below, and
#   `tests/audit/test_claims_audit.py`.
#
# ### An audit
#
# The last line is the test that needs no proof to be believed. Run a release many times on two data
# sets that differ in one row, and try to decide which one it was; whoever is right more often than mu
# allows has refuted mu. `dpstats.audit` does so for any function of a data set, and bounds what was
# given away from below, with Clopper-Pearson limits on runs that were not used to choose the test.
#
# Here is a mean whose author forgot to cut rows. The helper looks for a row that shows it.


# %%
noise = np.random.default_rng(1)


def careless(rows: Any) -> float:
    """Claims mu = 1 for rows between 0 and 1, and does not cut them."""
    return float(np.nansum(rows) / 20 + noise.normal(scale=1 / 20))


rows = np.linspace(0, 1, 20)
pair = worst_neighbours(careless, rows, trials=20)
audit(careless, pair, mu=1, trials=TRIALS)


# %% [markdown]
# And the same, cut, and rounded. An audit looks at last digits, too: the last bits of a sum of floats
# show what was added, and without the rounding it refutes this mean as well. (The package itself adds
# its noise to integers.) An audit ends with what it did not examine.


# %%
def careful(rows: Any) -> float:
    return round(careless(np.clip(np.nan_to_num(rows), 0, 1)), 6)


honest = (np.zeros(20), np.append(np.zeros(19), 1.0))
audit(careful, honest, mu=1, trials=TRIALS)

# %% [markdown]
# ### Every function, every method
#
# The package's own audits are harder on it than that: the attacker knows both data sets, sees every
# number that a call has released between its rounds (and not only the result), and decides by the
# likelihood ratio of all of them. Neighbours are as bad as we could make them: a row at the edge of
# the cut against its opposite, a row replaced by its opposite, a row among equal ones, a huge row,
# a row that alone has its level, a missing row, and the worst that a search has found.
#
# Where persons are what is protected (`persons`, and `dp_feols`), neighbours differ in a person: three
# rows against one, rows against none that can be used, four hundred rows. These were released 1500
# times, fits without public rows 1000 times, the others 20 000 times or more.
#
# An audit that finds nothing proves nothing, so the audits are tested as well: with 70 % of the
# noise 31 of the 60 methods are refuted, and without the cut every kind of row is. Of the others
# thirteen are fits without public rows, refuted with three tenths of the noise, or less; three are the
# rounds of `eptr_lm` and the mixtures by likelihood, refuted with three tenths of it or less;
# five make the releases of `dp_lm` and `dp_glm` for persons, with effects or instruments, and are
# refuted with a third of the noise; the rest are tests of the ePTR paper, whose noise is far more
# than any of our pairs needs, and covariances under pure epsilon, where more runs would be
# needed; they are refuted with less noise still. Where the table shows next to
# nothing of a method (a ratio near 0), the audit shows next to nothing.
#
# The table shows, for each function and method, the worst of its pairs: the lower bound of what is
# given away (all limits at 99 %), the claim, and their ratio. It was made by `python -m
# tests.benchmarks.privacy_audit --out vignettes/guarantee_audit.csv`.

# %% tags=["hide-input"]
here = Path(__file__).parent if "__file__" in globals() else Path()
found = pd.read_csv(here / "guarantee_audit.csv")
worst = found.loc[found.groupby(["function", "method"])["fraction"].idxmax()]
pairs = found.groupby(["function", "method"]).agg(
    pairs=("pair", "size"), trials=("trials", "sum")
)
shown = worst.set_index(["function", "method"])[
    ["pair", "unit", "claim", "found"]
].join(pairs)
shown["found/claim"] = (shown["found"] / shown["claim"]).round(2)
print(
    f"{len(found)} audits, {found['trials'].sum():,} releases: "
    f"{int(found['refuted'].sum())} claims refuted"
)
shown.round(3)

# %% [markdown]
# A ratio near 1 means that the claim is nearly used up by that pair; a smaller one, that part of the
# budget goes to numbers on which these two data sets agree, that the noise is more than the worst
# pair needs, or that more runs would be needed to see it.
#
# The pictures have the curves that the claims allow, and the points of the audits (the
# worst pair of each function and method filled): errors of the first kind to the right, of the
# second kind upwards, both as upper limits. A point below its curve would refute its claim.

# %% tags=["hide-input"]
# alt: Errors of both kinds, for claims in mu on the left and in epsilon on the right. Curves are what
# the claims allow, points what the audits found; no point lies below its curve.
figure, panels = plt.subplots(
    1, 2, figsize=(8.6, 4.2), layout="constrained", sharey=True
)
alpha = np.concatenate([np.geomspace(1e-4, 1e-2, 50), np.linspace(0.01, 1, 200)])


def second_kind(unit: str, claim: float, slack: float) -> Any:
    """The least error of the second kind that a claim allows at each one of the first."""
    if unit.startswith("mu"):
        return np.maximum(1 - powers(alpha, claim) - slack, 0)
    steep, flat = (
        1 - slack - np.exp(claim) * alpha,
        np.exp(-claim) * (1 - slack - alpha),
    )
    return np.maximum(np.maximum(steep, flat), 0)


palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
colours = {"mu": iter(palette), "epsilon": iter(palette)}
for (unit, claim, slack), group in found.groupby(["unit", "claim", "slack"]):
    kind = unit.split()[0]
    panel, colour = panels[int(kind == "epsilon")], next(colours[kind], "#7F7F7F")
    extra = "" if not slack else f", delta{0 if kind == 'mu' else ''} = {slack:.3g}"
    label = f"{kind} = {claim:.3g}{extra}"
    panel.plot(alpha, second_kind(unit, claim, slack), color=colour, label=label)
    for part, filled in (
        (group, "none"),
        (group.loc[group.index.isin(worst.index)], colour),
    ):
        spots = {"s": 16, "facecolors": filled, "edgecolors": colour, "linewidths": 0.7}
        panel.scatter(part["alpha"], 1 - part["power"], **spots)
for panel in panels:
    panel.plot(
        [0, 1], [1, 0], color="#7F7F7F", linestyle=":", label="nothing given away"
    )
    panel.set_xlabel("type I error")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize="small")
panels[0].set_ylabel("type II error")

# %% [markdown]
# ## Floats
#
# A proof about real numbers does not hold for floats (Mironov 2012): the last bits of a float with
# float noise on it can show which sum was there. So rows are rounded to a fixed grid after they are
# cut; sums are whole numbers of grid steps, computed exactly; the noise is a whole number, drawn
# exactly; and what leaves is their sum, turned into a float once. Estimates that are no sums
# (`eptr_lm`, `eptr_nw`, `eptr`) are rounded to a grid that is 10^9 times finer than their
# sensitivity, which is widened by as much. Two data sets with the same sums release the same bits.
#
# zCDP and pure epsilon are exact for whole-number noise. Gaussian DP and (epsilon, delta) are those
# of the continuous normal law. Noise never spans fewer than 65,536 steps (mostly many millions);
# then both errors of any test between neighbours are those of the normal law to within 1e-8, for a
# call that releases up to 500,000 numbers, vectors and chosen rounds included. The proof is in
# `dpstats.mechanism.noise`.
#
# ## Who could see more
#
# The promise is about what a call releases: its result, everything that is printed, raised, warned of
# or written, and the charge in the ledger. It is not about the machine on which the call runs. Who
# can see what:
#
# - *Readers of results* see released numbers, the call, n, names and kinds of columns, and the public
#   rows' part. This is what the promise is about.
# - *The person at the keyboard* sees error messages too (made of public facts alone), a progress bar in
#   twentieths, and **how long it takes**. Let nobody who must not see the rows time the calls.
# - *The machine* (administrators, debuggers, core dumps, swap, tools that store local variables) has
#   the rows in memory while a call runs and until that memory is used again: it is not wiped. So do
#   processes that are forked meanwhile. Run calls where the rows may be.
# - *Workers of an executor, and the network to them*, get their part of the rows, and send back
#   **exact totals without noise**. They must be as private as the rows; between machines, encrypt.
# - *Dask*: its scheduler holds exact totals, its logs the errors of its maker's own tasks, its
#   folders spilled partitions. Keep all three as private as the rows, and caches of other engines.
# - *Logs*: this package writes none. What others log (storage clients: paths and sizes) is theirs.
# - *Temporary folders* hold a note that names the file of an open budget and its process; no rows.
# - *The environment* holds `DPSTATS_OPEN_BUDGET`, the file of an open budget; no rows. Who may change
#   it may leave calls uncharged; programs that are started with another environment, and descend from
#   no process with an open budget (sudo, ssh, cron, containers), need `budget=`.
# - *The ledger* holds, in plain text, when a call was made, its formula and arguments, what it cost and
#   a label of the data, such as its path. Who may write it, or put back an old copy, may spend twice.
# - *Whoever chooses the calls* may have looked at the rows elsewhere. A formula, a filter or a public
#   sample that was chosen so is outside the promise.
#
# **Time and memory.** Rows of extreme size take longer, and so may tables of which many rows are so.
# The samplers of whole-number noise are exact, not of constant time: they try until a try succeeds,
# and how long that takes depends on the size of the noise, and so of the total under it
# (Jin, McMurtry, Rubinstein and Ohrimenko 2022, arXiv 2112.05307). A process that runs out of memory
# shows that as well. A service that runs calls for others should answer at times that do not depend
# on the data, for example at the full minute.
#
# ## Known limits
#
# - Audits refute; they do not prove. The proofs are in docstrings, next to each sensitivity: in
#   `dpstats.mechanism`, which names what else to read, and in `rows.py` and `releases.py` of each model.
# - `delta` and `delta0` are probabilities of a failure that may be total: keep them far below one
#   over the number of rows. Calls say so when they are not.
# - The number of rows is public. Neighbours with one row more or less are not covered as such.
# - The first rows of a person (`rows_per_person=` with `person=`) are not followed through a Dask
#   DataFrame; a Parquet path does.
# - Dask logs the errors of its maker's own tasks: keep its logs as private as the rows.
# - Time is not constant; see "Who could see more".
# - Copies of a file or of a table cannot be recognised: each counts by itself. Equal
#   paths, links and objects are refused.
# - No one outside the project has audited it yet. Faults that were corrected, and how to
#   report one: SECURITY.md.
