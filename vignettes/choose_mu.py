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
# # How to choose mu
#
# Which mu is right is a question of harm. What a mu costs is a question of statistics, and can be
# answered before a private row is read. Decide the first with the people responsible for the data,
# then look at the second.
#
# ## What somebody could learn
#
# A person knows every row but one, sees all that you release, and tests at the level of 5 % whether
# the last row is that of somebody they suspect. This is the power of the best such test:

# %%
import numpy as np
import pandas as pd
from scipy.stats import norm

from dpstats import Budget, plan_lm
from dpstats.datasets import fair

mus = [0.1, 0.25, 0.5, 1, 2, 3]
pd.DataFrame(
    {
        "power at level 5 %": [
            f"{100 * norm.sf(norm.isf(0.05) - mu):.0f} %" for mu in mus
        ],
        "epsilon at delta = 1e-6": [
            f"{Budget(mu=mu).total.epsilon(1e-6):.2f}" for mu in mus
        ],
        "rho": [mu**2 / 2 for mu in mus],
    },
    index=pd.Index(mus, name="mu"),
)

# %% [markdown]
# - mu = 0.25 and below: next to nothing can be learnt of a person. For data that could do harm (health,
#   debts, offences) and are released to everybody.
# - mu = 0.5 to 1: a moderate promise. Most studies with some thousands of rows can afford it.
# - mu = 2 and above: thin. A suspicion that is tested is confirmed more often than not.
#
# This is the total of everything that is ever released of the same rows. Where several studies will
# use them, the total is divided: k equal calls within a total of mu have
# $\mu / \sqrt{k}$ each.

# %%
total = 1.0
pd.DataFrame(
    {"mu of each": [total / np.sqrt(k) for k in (1, 2, 4, 10)]},
    index=pd.Index([1, 2, 4, 10], name="calls within mu = 1"),
).round(3)

# %% [markdown]
# ## What it costs
#
# `plan_lm` (or `plan_glm`, `plan_feols`) predicts standard errors from public rows and the number of
# private rows. It reads no private row and spends nothing. `target_se=` asks for the smallest mu, and
# the smallest number of rows, that reach a standard error.

# %%
public, private = fair()
formula = "rate_marriage ~ age + children + religious + educ"
plan = plan_lm(
    formula,
    public,
    n=len(private),
    mu=[0.1, 0.25, 0.5, 1],
    target_se={"religious": 0.02},
)
plan

# %%
# alt: Planned standard errors over those without privacy, against mu: 2.6 to 5.8 at mu = 0.1, about
# 1.6 at mu = 0.25 and 1.2 at mu = 1.
ax = plan.plot()

# %% [markdown]
# Take the smallest mu that answers the question. Where the curve is flat a larger one buys nothing.
#
# ## Without public rows
#
# `plan_lm("y ~ x1 + x2", n=5000, mu=1)` makes a plan of normal rows then, which knows neither levels nor tails
# of yours. A rule of thumb: noise is small beside sampling where n mu is some
# hundreds per column; below 20 d^1.5 + 100, for d columns, a call is refused before it reads a row,
# and nothing is charged.

# %%
columns = np.array([2, 5, 10, 20, 40])
pd.DataFrame(
    {
        f"mu = {mu:g}": np.ceil((20 * columns**1.5 + 100) / mu).astype(int)
        for mu in (0.25, 0.5, 1)
    },
    index=pd.Index(columns, name="columns"),
).rename_axis(columns="rows that are needed")

# %% [markdown]
# ## Say it before you spend it
#
# Write the total down, with who decided it, before the first call, and open a `Budget` for it:
#
# ```python
# with Budget(mu=1, path="study.budget"):
#     dp_lm(formula, private, public=public, mu=0.5)
# ```
#
# What is left after the study may be spent later, on the same rows, by whoever holds the file. See
# `vignettes/guarantee.py` for what the ledger protects against, and `vignettes/privacy_paragraph.py` for how
# to report the total.
