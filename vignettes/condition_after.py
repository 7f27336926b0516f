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
# # When condition after is large
#
# The line *condition after* of `fit.diagnostics()` says how unequal the directions of the private design
# are once the public rows have made them comparable. It is 1 where the public sample fits perfectly.
# What to do when it is 8?
#
# In short: nothing, if standard errors are small enough; they count what it costs. Where public rows are
# no guide at all the fit leaves them out by itself, and says so.
#
# ## What makes it large
#
# A public sample that is narrower than the private rows in some direction, far from them, or too small.
# Here are people, and public samples of 200 that differ from them.

# %%
import numpy as np
import pandas as pd

from dpstats import dp_lm


def people(n: int, seed: int, spread: float = 1.0, older: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(45 + older, 12 * spread, n)
    income = 30 + 0.3 * age + rng.normal(0, 8, n)
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "y": 10 + 0.2 * age - 0.1 * income + rng.normal(0, 3, n),
        }
    )


private = people(6000, seed=1)
samples = {
    "200 rows alike": people(200, 2),
    "20 rows alike": people(20, 2),
    "4 rows alike": people(4, 2),
    "half the spread of age": people(200, 2, spread=0.5),
    "a quarter of the spread": people(200, 2, spread=0.25),
    "5 years older": people(200, 2, older=5),
    "10 years older": people(200, 2, older=10),
    "24 years older": people(200, 2, older=24),
    "no public rows": None,
}
rows = {}
for name, sample in samples.items():
    fits = [
        dp_lm("y ~ age + income", private, sample, mu=1, seed=seed) for seed in range(5)
    ]
    after = [one.diagnostics()["value"].get("condition after", np.nan) for one in fits]
    error = [one.se()["age"] for one in fits]
    rows[name] = {"condition after": np.median(after), "se of age": np.median(error)}
table = pd.DataFrame(rows).T
table["se of age, over the first"] = table["se of age"] / table["se of age"].iloc[0]
table.round(
    {"condition after": 1, "se of age": 4, "se of age, over the first": 2}
).astype(object).fillna("-")

# %% [markdown]
# Two things to see. A condition of 2 or 3 costs next to nothing: standard errors are as they would be with
# a sample that is alike. And where public rows are further off, they are left out: the fit finds in the
# private rows what they would have told, has no such condition (a dash), and a note says so. *Condition before* is
# in your units and may be any number; it is no cause for alarm.
#
# ## What to do
#
# | condition after | standard errors | do |
# |---|---|---|
# | below 2 | small enough | nothing |
# | above 2 | small enough | nothing; mention it if you report diagnostics |
# | above 2 | too large | leave `public=` out, or take a sample with the spread of the private rows |
# | public rows left out | small enough | nothing; check units, for the next call |
# | any | not given | check units first; then another sample, more budget, fewer columns |
#
# In detail:
#
# 1. **Check units and codes.** Income in cents against euros gives a condition of thousands.
# 2. **Compare with what is known** of the private population, from its code book: are ages of the same range?
#    Is the largest group there?
# 3. **Look at how many public rows there are.** Twice as many as columns is enough; fewer may be.
# 4. **Look for columns that say nearly the same** (age and years of experience), in the public rows. The
#    condition is then about the question, not about the sample: no design can tell them apart well.
# 5. **Plan again** with `plan_lm` and the better sample, before you spend once more. The first fit stays
#    charged.
#
# A larger mu helps less than a better sample does. A ridge (`ridge=`) makes a fit possible, with bias that
# its standard errors do not hold.
#
# Where to find a better sample: [How to find public data](find_public_data.md). What a shifted sample does to
# estimates: [Another population](public_data.py#another-population).
