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
# # A table and nothing else
#
# For those who have private rows, and neither a public sample nor limits that they would swear to.
# `dp_lm` and `dp_glm` need no more than the rows, a formula and a budget. This page shows
#
# 1. a first fit, and what it finds out before it fits;
# 2. text columns, whose levels are declared or released;
# 3. limits: when to give them, and why wide ones cost nothing;
# 4. what notes and refusals say: a rare level, columns that say the same, missing values, a budget that
#    is too small;
# 5. logistic regression;
# 6. a curve;
# 7. what public rows would buy, and when to get some;
# 8. what such a fit does not see.
#
# Calls have `seed=` so that the page says the same whenever it is built. A real release has none,
# since whoever knows the seed can take the noise off.

# %%
import textwrap
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

from dpstats import Budget, dp_glm, dp_lm, eptr_nw, etable
from dpstats.errors import DPStatsError

pd.set_option("display.width", 100)
pd.set_option("display.max_columns", 12)


def wrap(*texts: Any) -> None:
    """Print long texts in lines."""
    for text in texts:
        print(textwrap.fill(str(text), 90))


def survey(n: int, seed: int) -> pd.DataFrame:
    """A made-up survey: wages that depend on age, years with the firm and region."""
    rng = np.random.default_rng(seed)
    regions = {"north": 0.5, "south": 0.3, "east": 0.196, "isles": 0.004}
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 75, n),
            "tenure": rng.exponential(7, n).round(1),
            "region": rng.choice(list(regions), n, p=list(regions.values())),
        }
    )
    south = table["region"] == "south"
    middle = 7 + 0.01 * table["age"] + 0.02 * table["tenure"] + 0.2 * south
    odds = np.exp(0.03 * table["age"] - 2)
    return table.assign(
        wage=np.exp(middle + 0.5 * rng.normal(size=n)).round(2),
        retires=rng.random(n) < odds / (1 + odds),
    )


data = survey(8000, seed=1)

# %% [markdown]
# ## A first fit
#
# A formula, the rows, and what the call may spend. That is all.

# %%
fit = dp_lm("log(wage) ~ age + tenure", data, mu=1, seed=1)
fit.summary()

# %% [markdown]
# A private fit must know how long rows are and in which directions they vary: else one far row
# could move everything. Here a part of the budget finds that out, and the list of what was released
# shows it:
#
# - *counts of values below points*: noisy counts tell where the middle of each column lies and how
#   wide it is. Any unit will do, and any offset: years or seconds, dollars or millions.
# - *second moments of the design*, more than once: rows are whitened, cut less, and looked at again,
#   until all directions are seen.
#
# Then the rounds begin, as with public rows. Standard errors, intervals, sub-models and predictions
# are the same as there. Beside least squares without privacy, which only this page knows:

# %%
least_squares = smf.ols("np.log(wage) ~ age + tenure", data).fit(cov_type="HC1")
pd.DataFrame(
    {
        "dp_lm": fit.coef(),
        "its se": fit.se(),
        "without privacy": least_squares.params,
        "its se ": least_squares.bse,
    }
).round(4)

# %% [markdown]
# ## Text columns
#
# Which levels a text column has is private: a level may be the name of one person. So levels are
# declared, as a code book has them, without a look at the rows. The first one is the baseline.

# %%
model = "log(wage) ~ age + tenure + region"
try:
    dp_lm(model, data, mu=1)
except DPStatsError as error:
    wrap(error)
levels = {"region": ["north", "south", "east"]}
declared = dp_lm(model, data, mu=1, limits=levels, seed=1)

# %% [markdown]
# Or they are released. A level is shown where many rows have it, and a tenth of `delta` is the chance
# that a level of a single row is. So the privacy must be stated by `epsilon` and `delta`. A note says
# which levels were found, and from how many rows on. The first in the alphabet is the baseline.

# %%
released = dp_lm(model, data, epsilon=4, delta=1e-6, seed=1)
wrap(*released.notes)
etable([declared, released], names=["declared", "released"])

# %% [markdown]
# Rows with another level are not used, as if it were missing.
#
# ## Limits
#
# Limits are a box: values outside are cut to it. They are not needed for a plain column. Give them
# where you know them, and where values outside would be mistakes. A note names the columns with
# limits where many rows were cut. It counts rows, with noise, and does not tell the columns apart.

# %%
boxed = dp_lm("log(wage) ~ age + tenure", data, mu=1, limits={"age": (18, 65)}, seed=1)
wrap(*boxed.notes)

# %% [markdown]
# Wide limits cost nothing, because the noise follows what columns are, not what they might be. This
# is the standard error of age, the median of ten fits, with no limits, and with limits from a million
# below zero to a million above:

# %%
wide = dict.fromkeys(("age", "tenure"), (-1e6, 1e6))
for name, box in {"no limits": None, "wide limits": wide}.items():
    errors = [
        dp_lm("log(wage) ~ age + tenure", data, mu=1, limits=box, seed=seed).se()["age"]
        for seed in range(10)
    ]
    print(f"{name}: {np.median(errors):.6f}")

# %% [markdown]
# `poly`, `bs`, `scale` and `center` must know where a column lies before a row is read. They take it
# from its limits, or from public rows.

# %%
curve = "log(wage) ~ poly(age, 2) + tenure"
try:
    dp_lm(curve, data, mu=1)
except DPStatsError as error:
    wrap(error)
dp_lm(curve, data, mu=1, limits={"age": (18, 75)}, seed=1).tidy().round(3)

# %% [markdown]
# For them keep to what is plausible: the curve is laid out over the whole of the limits.
#
# ## What notes say
#
# **A rare level.** About 30 of the 8000 rows are of the isles. Declared, it is a column that hardly
# a row differs in. Its standard error is missing, and a note says why.

# %%
four = {"region": ["north", "south", "east", "isles"]}
rare = dp_lm(model, data, mu=1, limits=four, seed=1)
rare.tidy().round(4)

# %%
wrap(*rare.notes)

# %% [markdown]
# An estimate without a standard error is noise: do not read it, and do not predict for such rows.
# The column also takes from the others, whose errors are larger than above. Leave such a level out
# (its rows are then not used), or merge it with a neighbour in the table:

# %%
merged = data.assign(region=data["region"].replace("isles", "east"))
dp_lm(model, merged, mu=1, limits=levels, seed=1).tidy().round(4)

# %% [markdown]
# **Columns that say the same.** Age in years and in months: no fit can tell them apart, and this one
# says so.

# %%
twice = data.assign(months=12 * data["age"])
wrap(*dp_lm("log(wage) ~ age + months + tenure", twice, mu=1, seed=1).notes)

# %% [markdown]
# **Missing values.** Rows that lack one are not used. How many is released, and a note says so
# where it is a tenth or more.

# %%
gaps = data.copy()
gaps.loc[np.random.default_rng(2).random(len(gaps)) < 0.3, "tenure"] = np.nan
wrap(*dp_lm("log(wage) ~ age + tenure", gaps, mu=1, seed=1).notes)

# %% [markdown]
# **A budget that is too small.** Looking costs something. Where little but noise would come of it,
# the call is refused before a row is read, and says what would do. Nothing is charged. The rule is
# public: n times mu must be at least 20 d^1.5 + 100, for d columns; that is 324 for five of them,
# 732 for ten, 1889 for twenty.

# %%
budget = Budget(mu=2)
try:
    dp_lm(
        "log(wage) ~ age + tenure", data.head(500), epsilon=1, delta=1e-6, budget=budget
    )
except DPStatsError as error:
    wrap(error)
print(f"spent: {budget.spent.mu:g} of {budget.total.mu:g}")

# %% [markdown]
# **A fit that did not converge.** Now and then rounds do not settle, most often close to that rule or with
# strange columns. Then the fit says so and gives no standard errors. It stays charged. More rows, a
# larger budget, fewer columns or a few public rows help; to try again with the same budget is to pay
# twice.
#
# ## Logistic regression
#
# `dp_glm` does the same, with every family. A response of text needs its two levels, `limits={"vote":
# ["no", "yes"]}`; a bool or 0 and 1 need nothing.

# %%
logistic = dp_glm("retires ~ age + tenure", data, mu=1, seed=1)
logistic.tidy().round(4)

# %%
logistic.odds_ratios().round(3)

# %% [markdown]
# ## A curve
#
# `eptr_nw` needs no more: where rows lie is found first, then a polynomial, and the curve corrects it. The
# bandwidth follows from rows and budget; state another with `bandwidth=`, in the unit of the column.

# %%
# alt: The released curve of log wages by age with its band.
eptr_nw("log(wage) ~ age", data, mu=1, seed=1).plot()

# %% [markdown]
# `eptr_bayes("region ~ age + log(wage)", data, epsilon=1, delta=1e-6)` makes a classifier of private rows
# alone in the same way; its classes are released, or declared as levels are.
#
# ## What public rows buy
#
# Ten fits each: how far the slopes are from those without privacy, root mean square, in the
# standard errors of that fit; at 1, privacy adds as much error as sampling does. Five columns need
# n mu = 324.

# %%
in_order = merged.assign(region=pd.Categorical(merged["region"], levels["region"]))
full = smf.ols("np.log(wage) ~ age + tenure + region", in_order).fit(cov_type="HC1")
sample = survey(300, seed=3).replace({"region": {"isles": "east"}})


def error(mu: float, public: pd.DataFrame | None) -> str:
    """Of the slopes, over ten runs; or that the call is refused."""
    squares = []
    for seed in range(10):
        try:
            one = dp_lm(model, merged, public, mu=mu, limits=levels, seed=seed)
        except DPStatsError:
            return "refused"
        away = (one.coef() - full.params[one.coef().index]) / full.bse[one.coef().index]
        squares.append(np.mean(away.iloc[1:] ** 2))
    return f"{np.sqrt(np.mean(squares)):.2f}"


rows = {
    f"mu = {mu:g}": {m: error(mu, sample.head(m) if m else None) for m in (0, 30, 300)}
    for mu in (1, 0.25, 0.1, 0.03)
}
pd.DataFrame(rows).T.rename_axis(columns="public rows")

# %% [markdown]
# Where the budget is ample, public rows buy next to nothing; where it is small, a part of the error
# at best; and where it is too small, a fit at all, which then is not good. With ten columns and n =
# 10 000, `python -m tests.benchmarks.no_public_data --part buys --repeats 40` measures (error over
# least squares, medians; coverage of 95 % intervals):
#
# | public rows | 0 | 30 | 300 |
# |---|---|---|---|
# | the ridge paper's design, mu = 1 | 1.01, .955 | 1.00, .958 | 1.00, .958 |
# | the same, epsilon = 1, delta = 1e-6 | 1.51, .983 | 1.50, .958 | 1.37, .965 |
# | a survey with a text column, mu = 1 | 1.11, .960 | 1.12, .953 | 1.07, .963 |
# | the same, epsilon = 1, delta = 1e-6 | 1.71, .990 | 2.2, .965 | 1.81, .988 |
#
# So begin without. Get a few public rows
#
# - where a call is refused, and neither rows nor budget can be had;
# - where the fit did not converge, or columns have no standard errors that should have some;
# - where you want a plan (`plan_lm`) that knows your columns: without public rows it is one of normal rows;
# - for mixtures, which need some.
#
# People with several rows need none: `person="id"` in `dp_lm`, `dp_glm` and `dp_feols` sums up all rows
# of a person, whatever their number (`vignettes/panels.py`). One row of each, which follows from the
# name, tells how large the columns are.
#
# They need not tell everything. A few rows that lack a level, or are fewer than the columns, are
# used for what they tell, and the rest is found in the private rows. A note says so:

# %%
wrap(*dp_lm(model, merged, sample.head(3), mu=1, limits=levels, seed=1).notes)

# %% [markdown]
# `vignettes/public_data.py` says what can be public, and how to see that a sample is of another
# population.
#
# ## What is not seen
#
# **A few rows.** The protection of each row is also a protection from it. A few rows far out are
# cut, and the fit is that of the others. Least squares follows them. Here are five wages with too
# many zeros:

# %%
slips = data.copy()
slips.loc[slips.index[:5], ["age", "wage"]] = [74, 1e12]
dp_lm("log(wage) ~ age + tenure", slips, mu=1, seed=1).tidy().round(4)

# %%
smf.ols("np.log(wage) ~ age + tenure", slips).fit().params.round(4)

# %% [markdown]
# No note speaks of them, and none can: five rows are fewer than the noise of a count. How many may go
# unseen stands among the diagnostics, as *unseen rows*: 25 to 50 at mu = 1.
# Where such rows are what the study is about (the largest claims, the rarest cases), such a fit is
# not for it.
#
# **Long tails.** A column that is skewed by nature, as costs and wealth are, is cut too. What is
# cut and can be counted is in the standard errors, or a note names the coefficients. Beyond that
# nothing is known: about two or three standard deviations of a noisy count lie out of sight. A
# logarithm is the remedy.
#
# **Mistakes.** Values of -999 that stand for missing ones are numbers like others, and so are ages
# of 200. Nobody can look. Limits cut them; a rule that sets them to missing, written before the fit
# and without a look, takes them out.
#
# ## Where to go on
#
# - `vignettes/getting_started.py`: the summary line by line, what mu = 1 means, budgets, tables;
# - `vignettes/public_data.py`: what can serve as public data;
# - `vignettes/guarantee.py`: what is guaranteed, for the person responsible for the data.
