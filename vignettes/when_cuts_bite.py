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
# # When cuts bite
#
# A private mean bounds what one row can add: longer scores are cut. On most tables a cut touches a row
# in a thousand and moves nothing. Where the response has a long tail and the budget is small, either
# the cut moves coefficients, towards those of the rows without the tail, or it lies so far out that the
# noise is large. A fit weighs the two, and its intervals allow for both. This page shows one real table
# on which that is costly, how you see it, and what you do.
#
# Run it with `python vignettes/when_cuts_bite.py` (half a minute); pictures need
# `pip install "dpstats[plot]"`.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

from dpstats import dp_glm, dp_lm
from dpstats.datasets import fair

pd.set_option("display.width", 100)

# %% [markdown]
# ## A table with a long tail
#
# Fair's survey: how much of her time a married woman spends in affairs. Two thirds report none, a few
# report a great deal: the largest value is some eighty times the mean.

# %%
public, private = fair()
everybody = pd.concat([public, private])
formula = "affairs ~ age + yrs_married + religious + rate_marriage"
everybody.affairs.describe().to_frame().T.round(2)

# %%
plain = smf.ols(formula, private).fit(cov_type="HC1")
fit = dp_lm(formula, private, public=public, mu=0.3, seed=2)
beside = pd.DataFrame(
    {
        "without privacy": plain.params.to_numpy(),
        "mu = 0.3": fit.coef().to_numpy(),
        "off by, in errors without privacy": (
            (fit.coef().to_numpy() - plain.params.to_numpy()) / plain.bse.to_numpy()
        ),
    },
    index=fit.coef().index,
).round(3)
beside

# %% [markdown]
# In real work the first column is not there. The distances, of one to three errors without privacy, are
# noise and cuts together; the errors that the fit prints are longer by as much, as the table below shows.
#
# ## How you see it
#
# Four places, all computed from released numbers:
#
# 1. `cut allowance` and `leaning scores` among the diagnostics say how much of a variance allows for what
#    cuts are expected to have moved; where they may have moved coefficients by sixteen printed errors or
#    more, if all that is cut pulled in one direction, a note names these;
# 2. `truncated rows` among the diagnostics: not the share alone counts, but how long what was cut is;
# 3. among the bounds, the estimated distance to the fit without noise *and without cuts*;
# 4. the range beside sigma and R-squared in the summary.

# %%
fit.diagnostics()

# %%
fit.bounds()[["statement", "value", "probability"]].head(3)

# %% [markdown]
# A share of 1 % says little by itself. With normal errors cutting 1 % of the rows shortens each of them
# a little, to both sides alike, and slopes stay where they are. With a long tail to one side 0.5 % of
# the rows may hold half of the sum of squares. That is why note and allowance speak of what the cut may
# have moved, and not of the share. The last round releases it: the mean of what the cut takes off the
# lengths of scores, of which none counts for more than that of the cut once more.
#
# Nobody can see from released numbers all that a cut has moved, least where single rows are farther out
# than that: intervals are widened by what this mean and counts of the scores let expect. Ten draws of
# the noise at each of three budgets (`error` in standard errors without privacy, `width` of the
# intervals over theirs):

# %%
rows = []
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for mu in (0.3, 1.0, 3.0):
        for seed in range(10):
            one = dp_lm(formula, private, public=public, mu=mu, seed=seed)
            low, high = one.confint().to_numpy().T
            truth = plain.params.to_numpy()
            rows.append(
                {
                    "mu": mu,
                    "rows cut, %": 100
                    * one.diagnostics().loc["truncated rows", "value"],
                    "median error": np.median(
                        np.abs(one.coef().to_numpy() - truth) / plain.bse.to_numpy()
                    ),
                    "width": np.median(
                        (high - low) / (2 * 1.96 * plain.bse.to_numpy())
                    ),
                    "covered": np.mean((low <= truth) & (truth <= high)),
                    "allowance": one.diagnostics()["value"].get("cut allowance", 0.0),
                    "noted": any("cutting" in str(note) for note in one.notes),
                }
            )
by_budget = pd.DataFrame(rows).groupby("mu").mean().round(2)
by_budget

# %% [markdown]
# ## What you do
#
# *More budget, or more rows.* Cuts lie farther out the smaller the noise is: from mu = 0.3 to 3 the
# share of rows that are cut falls, and errors and intervals with it.
#
# *Ask what the tail does not decide.* Often the question is not about the sum that few rows make up. A
# logarithm, a bounded response, or whether there is anything at all are other questions, to be chosen
# before the rows are seen. Whether there is an affair at all has short scores, and a third of the error.
# A bound helps where it takes off the tail: a pmin at 10 is still fourteen times the mean, and helps not.

# %%
short = {
    "affairs": "affairs ~ age + yrs_married + religious + rate_marriage",
    "log1p(affairs)": "log1p(affairs) ~ age + yrs_married + religious + rate_marriage",
    "pmin(affairs, 10)": "pmin(affairs, 10) ~ age + yrs_married + religious + rate_marriage",
    "pmin(affairs, 3)": "pmin(affairs, 3) ~ age + yrs_married + religious + rate_marriage",
    "I(affairs > 0)": "I(affairs > 0) ~ age + yrs_married + religious + rate_marriage",
}
found = []
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for response, written in short.items():
        inside = written.replace("pmin", "np.minimum").replace("log1p", "np.log1p")
        inside = inside.replace("I(affairs > 0)", "I(1 * (affairs > 0))")
        without = smf.ols(inside, private).fit(cov_type="HC1")
        for seed in range(10):
            one = dp_lm(written, private, public=public, mu=0.3, seed=seed)
            off = np.abs(one.coef().to_numpy() - without.params.to_numpy())
            found.append(
                {
                    "response": response,
                    "rows cut, %": 100
                    * one.diagnostics().loc["truncated rows", "value"],
                    "median error": np.median(off / without.bse.to_numpy()),
                    "allowance": one.diagnostics()["value"].get("cut allowance", 0.0),
                    "noted": any("cutting" in str(note) for note in one.notes),
                }
            )
other_questions = pd.DataFrame(found).groupby("response", sort=False).mean().round(2)
other_questions

# %% [markdown]
# *A model whose scores are bounded.* Whether there is an affair at all is a logit, whose scores are no
# longer than the columns are:

# %%
logit = dp_glm(
    formula.replace("affairs", "I(affairs > 0)"),
    private,
    public=public,
    family="binomial",
    mu=0.3,
    seed=2,
)
logit

# %% [markdown]
# *Winsorise in the open.* If the upper tail is nothing that you would defend in a report anyway,
# `pmin(affairs, 3)` cuts it by a bound that you name, and the coefficient is that of the named
# response: an estimand instead of a bias.
#
# *Say so.* Where a note stays, quote it: the coefficient is that of a table with its longest scores cut,
# and the printed interval allows for the part of the cut that the released tail shows.

# %%
# alt: Slopes at mu = 0.3, 1 and 3 as distances to the fit without privacy, with intervals; at 0.3
# they are up to three errors off and intervals are long, at 3 they lie near the line.
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
slopes = fit.coef().index[1:]
at = np.arange(len(slopes))
error = plain.bse[1:].to_numpy()
for shift, mu, colour in (
    (-0.2, 0.3, "#D55E00"),
    (0.0, 1.0, "#0072B2"),
    (0.2, 3.0, "#009E73"),
):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = dp_lm(formula, private, public=public, mu=mu, seed=2)
    low, high = one.confint().to_numpy()[1:].T
    truth = plain.params.to_numpy()[1:]
    middle = (one.coef().to_numpy()[1:] - truth) / error
    ax.errorbar(
        middle,
        at + shift,
        xerr=np.array(
            [middle - (low - truth) / error, (high - truth) / error - middle]
        ),
        fmt="o",
        color=colour,
        label=f"mu = {mu:g}",
    )
ax.axvline(0, color="#444444", linestyle=":")
ax.set_yticks(at, slopes)
ax.set_xlabel("distance to the fit without privacy, in its standard errors")
ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
ax.spines[["top", "right"]].set_visible(False)
