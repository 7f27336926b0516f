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
# # People with several rows
#
# For economists and epidemiologists who type `feols(y ~ x | id + year)` or `ivreg`. A panel has
# several rows of each person, and it is the person who is to be protected: with all rows, however
# many there are. This page shows
#
# 1. clustered errors, and why noise does not grow with the number of rows;
# 2. effects of persons and years, which take out what differs between persons at no cost;
# 3. an event study, from raw rows to a picture;
# 4. instruments, and what to do when they are weak;
# 5. a table of all that, and what is public.
#
# Pictures need `pip install "dpstats[plot]"`.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dpstats import Budget, dp_feols, dp_lm, etable, plan_feols

pd.set_option("display.width", 100)

# %% [markdown]
# ## The data
#
# A training programme begins in 2011 for half of the persons. Wages differ between persons for
# reasons that no column holds; some of these also decide how many hours of training somebody takes.
# Letters are sent at random, and whoever gets one trains a little longer: an instrument. Some years
# of some persons are missing.


# %%
def panel(persons: int, seed: int) -> pd.DataFrame:
    """Up to six years of each person, 2008 to 2013, in no order."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), 6)
    n, year = len(who), np.tile(np.arange(2008, 2014), persons)
    able = rng.normal(size=persons)
    treat = (rng.random(persons) < 0.5).astype(float)[who]
    letter = (rng.random(n) < 0.5).astype(float)
    taste = rng.normal(size=n)
    hours = 2 + letter + 0.5 * able[who] + taste + rng.normal(size=n)
    effect = treat * np.select(
        [year == 2011, year == 2012, year == 2013], [0.1, 0.2, 0.25], 0.0
    )
    tenure = year - 2008 + rng.integers(0, 10, persons)[who]
    wage = 2 + 0.04 * tenure + effect + 0.08 * hours + 0.4 * able[who] - 0.1 * taste
    table = pd.DataFrame(
        {
            "who": who,
            "year": year,
            "treat": treat,
            "letter": letter,
            "hours": hours,
            "tenure": tenure.astype(float),
            "wage": wage + 0.3 * rng.normal(size=n),
        }
    )
    return table[rng.random(n) < 0.8].sample(
        frac=1, random_state=seed, ignore_index=True
    )


public, private = panel(100, seed=1), panel(4000, seed=2)
public.head()

# %% [markdown]
# How good will a fit be? `plan_feols` rehearses it on persons like the public ones; nothing is spent.

# %%
plan_feols("wage ~ hours | who + year", public, n=4000, mu=[0.3, 1], person="who")

# %% [markdown]
# ## Clustered errors
#
# `person=` names the column that says whose a row is. All rows of a person are then one term of every
# sum, cut once: the noise that hides the person is the same for one row and for fifty, and standard
# errors are clustered by person, as `cluster="who"` would have them.

# %%
pooled = dp_lm("wage ~ hours + tenure", private, public, mu=1, person="who", seed=1)
pooled.summary()

# %% [markdown]
# Two things are new on that page. *Unit*: one person is replaced by another, with any rows. So the
# number of persons is public, and the number of rows is not: "about" stands before it, because it was
# released with noise. Where a bound on the rows of a person is natural, `rows_per_person=6` uses the
# first six and makes the number of rows public as well.
#
# Public rows help where persons are few, and are not needed: what they would tell is then found in
# one row of each person, or in the difference of two.

# %%
dp_lm("wage ~ hours + tenure", private, mu=1, person="who", seed=1)

# %% [markdown]
# ## Effects of persons and years
#
# Able persons earn more, and train longer; the pooled coefficient of hours has both in it. What is
# left after the bar are effects. Those of the person are taken out within the person's own rows:
# no dummies, no release, no noise. Those of the years are dummies of the levels that public rows
# have.

# %%
within = dp_feols(
    "wage ~ hours | who + year", private, public, mu=1, person="who", seed=1
)
within.summary()

# %% [markdown]
# What does not change within a person (where somebody was born) cannot be told from the person's
# effect; `dp_feols` says so from the public rows before it reads a private one, or in a note where there
# are none. Effects of a second
# unit that persons share, such as firms, are dummies: up to about n mu^2 / 40 columns are of use, and
# more are refused with that number.
#
# ## An event study
#
# `i(year, treat, ref=2010)` is the difference between treated persons and others in every year, as
# far as it differs from 2010. Before the programme it should be nothing.

# %%
study = dp_feols(
    "wage ~ hours + i(year, treat, ref=2010) | who + year",
    private,
    public,
    mu=1,
    person="who",
    seed=1,
)
study.event_study().round(3).set_index("term")

# %%
# alt: Event study. The difference between treated persons and others is about zero before 2010
# and grows from 2011 on, to about 0.22 in 2013; there the intervals lie above zero.
fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
study.iplot(ax=ax)
_ = ax.axvline(2.5, color="grey", linestyle=":", linewidth=1)

# %% [markdown]
# Thick bars are 95 % intervals of each year by itself. Thin ones hold all years at once in 95 of 100
# studies: the ones to look at for "nothing before, something after". Both count the noise.
#
# ## Instruments
#
# Within a person, those who like to train may still differ from year to year. The letters were sent
# at random: after a second bar stand the endogenous column and its instruments.

# %%
both = dp_feols(
    "wage ~ tenure | who | hours ~ letter", private, public, mu=1, person="who", seed=1
)
both.summary()

# %% [markdown]
# A round of scores releases the mean of (all columns) times the residual, and the second moments of all
# columns: two-stage least squares, the first stage and its F, Hansen's J where there are more
# instruments than needed, and the Anderson-Rubin set are computed from these. F counts the noise of
# the moments. Where it is small, believe the Anderson-Rubin set, not the standard error: it holds the
# coefficient however weak the instrument is, and may have no end.

# %%
weak = private.assign(letter=np.random.default_rng(3).normal(size=len(private)))
nothing = dp_feols(
    "wage ~ tenure | who | hours ~ letter",
    weak,
    public.assign(letter=np.random.default_rng(4).normal(size=len(public))),
    mu=1,
    person="who",
    seed=1,
)
name, first = nothing.second.first_stages[0]
print(f"F of {name}: {first.value:.2f}")
nothing.anderson_rubin()

# %% [markdown]
# ## A table
#
# Fits of one study share a budget. It protects persons too, and says so when it is opened.

# %%
with Budget(mu=2, person="who") as budget:
    fits = [
        dp_lm("wage ~ hours + tenure", private, public, mu=1, person="who", seed=1),
        dp_feols(
            "wage ~ hours | who + year", private, public, mu=1, person="who", seed=1
        ),
        dp_feols(
            "wage ~ tenure | who | hours ~ letter",
            private,
            public,
            mu=1,
            person="who",
            seed=1,
        ),
    ]
etable(fits)

# %%
print(f"spent: mu = {budget.spent.mu:.3f} of 2")

# %% [markdown]
# ## How well it does
#
# 2000 persons with five rows each, whose errors have seven tenths of their variance in common, mu = 1,
# 60 public persons, 60 panels (`python -m tests.benchmarks.panel --draws 60`). *Cover* of 95 %
# intervals; *width* of the printed error over the clustered one without privacy; *error* over that of
# the same fit without privacy; *noted*: fits with a note.
#
# | | cover | width | error | noted |
# |---|---|---|---|---|
# | pooled, `y ~ x + w` | .96 | 1.07 | 1.06 | .07 |
# | counts, `k ~ x + w`, quasi-Poisson | .99 | 1.13 | 1.06 | 0 |
# | effects of persons, `y ~ x + w`, `| who` | .93 | 1.04 | 1.04 | .05 |
# | the same, public rows without the column of persons | .93 | 1.03 | 1.05 | .02 |
# | instruments, `y ~ x`, `| d ~ z` | .94 | 1.14 | 1.20 | .08 |
#
# The same without public rows (`--no-public`):
#
# | | cover | width | error | noted |
# |---|---|---|---|---|
# | pooled | .93 | 1.08 | 1.11 | 1 |
# | counts | .97 | 1.13 | 1.07 | 0 |
# | effects of persons | .93 | 1.05 | 1.11 | 1 |
# | instruments | .97 | 1.22 | 1.41 | 1 |
#
# (The note says that 2000 persons at mu = 1 do not show how long the tails of residuals are.)
#
# On real data: children and work of 253 654 mothers (Angrist and Evans) at epsilon = 1 with 1000 public
# rows, 20 draws: a median of .12 standard errors from two-stage least squares without privacy, with
# printed errors 1.03 of its own. Durations of injuries in Kentucky (Meyer and others), Michigan public,
# mu = 1: .193 (.079), without privacy .191 (.069).
#
# ## What to know before you use it
#
# - *Public rows*, if there are any, have the same columns; that of persons may be missing. Then they do
#   not tell how much varies within persons, and a part of the budget finds it out.
# - *Who names the person* must be one column of text or whole numbers; rows without a name do not
#   count.
# - *Memory.* The rows of a person may lie anywhere: in one table, in many files, in a Dask DataFrame.
#   They are encoded once, sorted by person and held, 8 bytes for each row and column, until the call
#   ends. What `executor=` offers is not used for them.
# - *Rows that are not used* (missing values, levels that public rows lack) are told by a note where a
#   fifth of the persons have some, and by `unused rows` among the diagnostics.
# - *Not released*: the effects themselves, residuals, the number of rows. `predict` gives x'b without
#   the effects.
# - *Errors are clustered by the person* and nothing else. Clusters of several persons (villages)
#   would need a guarantee for all their members at once: name them as the "person".
# - *Persons with one row* tell nothing once effects are taken out, and count as empty.
