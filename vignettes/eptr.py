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
# # Bring your own estimator
#
# Some estimators hardly move when one row of ordinary data is replaced, and move wildly on odd
# data. Noise for the worst data set would drown them. This page shows `eptr`, which makes the
# noise that ordinary data need and lets a private test refuse the others; what you must prove to
# use it, and how `check_safety` finds mistakes in the proof; and the three estimators that come
# with it, `eptr_lm`, `eptr_bayes` and `eptr_nw`.
#
# Calls have `seed=` so that the page says
# the same whenever it is built; a release has none, for whoever knows the seed can take the noise
# off.

# %%
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dpstats import (
    Budget,
    check_safety,
    dp_lm,
    eptr,
    eptr_bayes,
    eptr_lm,
    eptr_nw,
    etable,
)
from dpstats.datasets import fair

EPSILON, DELTA = 1.0, 1e-6

# %% [markdown]
# ## A median
#
# Twenty thousand households have reported their income, in thousands. Nobody has more than 1000, or is
# counted as 1000. Four hundred households of an earlier survey are public. (All are made up here.)


# %%
def survey(rows: int, seed: int) -> pd.DataFrame:
    income = np.random.default_rng(seed).lognormal(
        mean=np.log(40), sigma=0.7, size=rows
    )
    return pd.DataFrame({"income": income})


private, public = survey(20_001, 1), survey(401, 2)
MOST = 1000.0


def cut(d: pd.DataFrame) -> np.ndarray:
    """Incomes within the known range, in order; what is missing counts as 0."""
    return np.sort(np.clip(np.nan_to_num(d["income"].to_numpy(dtype=float)), 0, MOST))


def median(d: pd.DataFrame) -> float:
    x = cut(d)
    return float(x[(len(x) - 1) // 2])


# %% [markdown]
# How far can one row move the median? On these data, next to nothing: it can go to the next
# income below or above. But there are data sets on which it goes from 0 to 1000: half of the
# households have nothing, half have 1000. Privacy is a promise for every data set, and so plain
# noise has to be made for that one.

# %%
ordered = cut(public)
middle = (len(ordered) - 1) // 2
worst = MOST / Budget(epsilon=EPSILON, delta=DELTA).total.mu
print(
    f"gaps next to the public median: {np.diff(ordered[middle - 1 : middle + 2]).round(3)}"
)
print(
    f"noise for the worst data set: {worst:,.0f}; the public median: {median(public):.1f}"
)

# %% [markdown]
# ## What you bring
#
# 1. `estimate(data)`: the estimator.
# 2. `alpha`: how far one row may move it on data that you call safe.
# 3. `safety(data)`: a lower bound on how many rows somebody must replace to make the data unsafe.
#
# And a proof, **for every pair of data sets that differ in one row, however odd**, that
#
# - safety changes by 1 at most, and
# - if safety is above 0 for one of the two, the estimate changes by `alpha` at most.
#
# The package cannot check either. If one of them fails for any pair, there is no privacy.
#
# There are two ways to a safety function that are easy to prove.
#
# **A count with a threshold.** The mean of a subgroup moves by at most 1/c when it has c members or
# more and values lie in [0, 1]. The number of members changes by 1 at most. So `members - 199`,
# where it is positive, is a safety function for alpha = 1/200. (That is the example of `help(eptr)`.)
#
# **The distance to the nearest unsafe data set.** Call data unsafe if one row can move the estimate
# by more than alpha, and let safety be the number of rows that have to be replaced to get there. A
# distance to a set changes by 1 at most when the data move by 1; and data at distance 1 or more are
# not unsafe. Both statements hold by definition, and so they do for whatever stands below that
# distance and changes by 1 at most. What is left is to compute it.
#
# For the median: somebody has replaced k rows, and now there is a gap wider than alpha next to the
# median. Within that gap lie only old incomes that were replaced, k of them at most. So two of the
# old incomes, k + 1 places apart and close to the middle, are more than alpha apart. Hence the
# smallest k for which there is such a pair is at most the distance; and it is one that changes by 1
# at most (replacing one income moves what is k + 1 places apart to what is k or k + 2 places apart,
# and no further). We stop counting at 200: the smaller of a safety and a constant is one as well.

# %%
ALPHA = 0.5  # half a thousand


def rows_to_unsafe(d: pd.DataFrame, alpha: float = ALPHA) -> int:
    """Smallest k for which two incomes, k + 1 places apart near the middle, are alpha apart."""
    x, middle, most = cut(d), (len(d) - 1) // 2, 200
    x = np.concatenate([np.zeros(most + 1), x, np.full(most + 1, MOST)])
    middle += most + 1
    for k in range(most):
        near = x[middle - k - 1 : middle + k + 2]
        if (near[k + 1 :] - near[: -k - 1]).max() > alpha:
            return k
    return most


print(f"safety of the public data: {rows_to_unsafe(public)}")
print(
    f"safety of made-up rows, as many as the private ones: {rows_to_unsafe(survey(20_001, 3))}"
)

# %% [markdown]
# ## Looking for mistakes
#
# `check_safety` walks from public data to ever odder ones, one row at a time, and compares
# neighbours. `hostile=True` puts in huge and missing numbers as well. The public rows are too few to
# be safe, so that alpha would not be put to the test; a larger made-up sample will do.

# %%
check_safety(median, rows_to_unsafe, ALPHA, survey(4_001, 4), hostile=True, trials=600)


# %% [markdown]
# Here is a safety function that looks reasonable and is wrong. It looks at the gaps that there are,
# finds them small, and answers "very safe".


# %%
def gaps_now(d: pd.DataFrame) -> int:
    """WRONG: safe if the median can hardly move now."""
    x, middle = cut(d), (len(d) - 1) // 2
    return 100 if np.diff(x[middle - 1 : middle + 2]).max() <= ALPHA else 0


check_safety(median, gaps_now, ALPHA, survey(4_001, 4), hostile=True, trials=600)

# %% [markdown]
# One row takes it from 100 to 0: whether there is an answer then shows whether that row was there.
# And one that counts honestly, but forgets that a row goes from one side to the other:


# %%
def rows_near(d: pd.DataFrame) -> int:
    """WRONG: incomes within alpha of the median."""
    x = cut(d)
    return int((np.abs(x - median(d)) <= ALPHA).sum())


check_safety(median, rows_near, ALPHA, survey(4_001, 4), hostile=True, trials=600)

# %% [markdown]
# The median has moved, and with it what is near: the count jumps. A search that finds nothing
# proves nothing; one that finds something is worth a proof.
#
# ## The answer
#
# `target=` is the safety that you expect of your data: the noise is then the smallest with which
# such data are answered with probability 0.999. Without it, noise is what a plain release would
# need, and a tenth more.

# %%
answer = eptr(
    private,
    median,
    rows_to_unsafe,
    ALPHA,
    EPSILON,
    DELTA,
    target=100,
    public=public,
    seed=1,
)
answer.summary()

# %% [markdown]
# What did that buy? The median of the rows without privacy has a sampling error of its own; noise
# for the worst data set would be thousands. (A hundred seeds, and a look at the rows themselves, are
# for made-up data only.)

# %%
errors = [
    float(
        eptr(private, median, rows_to_unsafe, ALPHA, EPSILON, DELTA, target=100, seed=s)
    )
    - median(private)
    for s in range(100)
]
samples = [median(survey(20_001, 100 + s)) for s in range(100)]
pd.Series(
    {
        "noise for the worst data set": worst,
        "noise of eptr": answer.noise_sd,
        "distance to the median of the rows, 100 runs (rms)": np.sqrt(
            np.mean(np.square(errors))
        ),
        "sampling error of the median, 100 samples (sd)": np.std(samples),
    }
).round(2).to_frame("thousands")

# %% [markdown]
# ### When it pays, and when not
#
# It pays where ordinary data are far from unsafe ones: medians and quantiles, ratios, regression,
# means of groups that are not tiny. It does not pay for what is stable on all data. The mean of
# the same incomes moves by 1000/20001 at most, whatever they are, and `dp_mean` needs no test:

# %%
print(f"plain noise on the mean: {MOST / len(private) / answer.privacy.mu:.2f}")
print(f"noise of eptr on the median: {answer.noise_sd:.2f}")

# %% [markdown]
# Which alpha? A smaller one means less noise and less safety. Both can be tried on public or
# made-up rows, as many as the private ones, before the call:

# %%
rehearsal = survey(20_001, 3)
lines = []
for alpha in (0.1, 0.2, 0.35, 0.5, 1.0):
    reached = rows_to_unsafe(rehearsal, alpha)
    trial = eptr(
        rehearsal, median, reached, alpha, EPSILON, DELTA, public=public, seed=1
    )
    needed = dict(trial.answers.rows)
    lines.append(
        {
            "alpha": alpha,
            "noise sd": round(trial.noise_sd, 2),
            "safety": reached,
            "needed for 0.5": int(needed[0.5]),
            "needed for 0.999": int(needed[0.999]),
            "answered": trial.released,
        }
    )
pd.DataFrame(lines).set_index("alpha")

# %% [markdown]
# (A number in place of the function `safety` is taken as it is; `estimate` may be one too.) Here
# alpha = 0.2 would have done, with less than half of the noise that we took.
#
# ## "No reply"
#
# When the test does not pass, `value` is that of `no_reply=`, or None. It must not depend on the
# data; a guess, or the public estimate, will do. The privacy is spent all the same: that there was
# no reply is information on the rows, and the total covers it.

# %%
silent = eptr(
    private,
    median,
    lambda d: rows_to_unsafe(d, 0.1),
    0.1,
    EPSILON,
    DELTA,
    no_reply=median(public),
    public=public,
    seed=2,
)
silent

# %% [markdown]
# Three things look the same: data that are not safe enough, bad luck at the coin, and a function of
# yours that failed on the private rows. An error there is never shown, because it may quote a row;
# that is what `public=` is for, on which the functions run first.
#
# Why a coin, and not a threshold on a noisy safety? The test and the noise are one mechanism, whose
# probabilities of an answer are as high as privacy lets them be, level by level. Every summary has
# the safety that is needed for an answer with some probabilities; the picture has them for the paper's
# logistic test and for the two curves of this package. The legend says how much noise each takes.
# `calibration="dp"` is the highest curve for a single release; `"gdp"`, the default, composes with
# other releases like Gaussian noise.

# %%
# alt: Probability of an answer against the safety of the data, for three calibrations. All need a
# safety of 15 to 20 for a small chance and of 45 to 55 for near certainty; the paper's test takes
# twice the noise.
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for name, style in (("paper", "s--"), ("gdp", "o-"), ("dp", "^-")):
    tested = eptr(private, 40.0, 100, ALPHA, EPSILON, DELTA, calibration=name, seed=1)
    chances, needed = zip(*tested.answers.rows, strict=True)
    ax.plot(needed, chances, style, label=f'"{name}", noise sd {tested.noise_sd:.1f}')
ax.set_xlabel("safety of the data: rows from unsafe")
ax.set_ylabel("probability of an answer")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## Least squares: `eptr_lm`
#
# The same idea, with the proofs done. How far one row moves a least-squares fit depends on the
# smallest eigenvalue of the design. "rounds" (the default) finds the neighbourhood of the fit as
# `dp_lm` does, releases that eigenvalue, and takes the last step with noise for a private lower bound
# of it. "adaptive" releases the whole solution in that way, at once; both always answer. "ptr" fixes
# the noise beforehand and tests. "adassp" releases moments, and needs neither.

# %%
public, private = fair()
FORMULA = "rate_marriage ~ age + religious"
fits = [
    eptr_lm(FORMULA, private, public, EPSILON, DELTA, method=method, seed=1)
    for method in ("rounds", "adaptive", "ptr", "adassp")
]
fits[0].summary()

# %% [markdown]
# A note says where `dp_lm` at the same total has a clearly smaller error. Side by side, with the fit of
# the public rows alone:

# %%
fits.append(
    dp_lm(FORMULA, private, public=public, epsilon=EPSILON, delta=DELTA, seed=1)
)
etable(fits, names=["rounds", "adaptive", "ptr", "adassp", "dp_lm"], public=True)

# %% [markdown]
# The standard errors cover sampling and privacy; the plot has both parts.

# %%
# alt: Coefficients of eptr_lm with intervals: bars of sampling, thin lines with the noise for
# privacy.
ax = fits[0].plot()

# %% [markdown]
# ## A classifier: `eptr_bayes`
#
# Class means and covariances, averaged with those of the public rows by what each is worth. "sums"
# (the default) adds noise to sums, products and counts and needs no test; "ptr" tests the size of the
# smallest class. Naive Bayes, one covariance for all classes, or one for each: public rows choose.

# %%
public, private = (table.assign(affair=table.affairs > 0) for table in fair())
who = eptr_bayes(
    "affair ~ age + religious + rate_marriage", private, public, EPSILON, DELTA, seed=1
)
who

# %%
who.confusion(public)

# %%
print(f"balanced error on the public rows: {who.balanced_error(public):.2f}")

# %% [markdown]
# Predictions cost nothing. Here is the released probability of an affair by age, for the happiest
# and the unhappiest marriages:

# %%
# alt: Released probability of an affair by age, for marriages rated 1, 3 and 5: it is highest
# where the rating is lowest.
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ages = np.linspace(18, 42, 50)
for rating in (1, 3, 5):
    women = pd.DataFrame(
        {"age": ages, "religious": 2.5, "rate_marriage": float(rating)}
    )
    ax.plot(
        ages, who.predict(women, type="prob")[True], label=f"marriage rated {rating}"
    )
ax.set_xlabel("age")
ax.set_ylabel("released probability of an affair")
ax.set_ylim(0, 1)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## A curve: `eptr_nw`
#
# Kernel regression. A public polynomial gives the rough shape, and the private rows correct it. One
# release answers every point, now and later. "gp" (the default) adds noise that is itself a smooth
# curve; "adaptive" makes noise for a private bound on how many rows are near each node, and "ptr"
# tests all nodes at once.


# %%
# alt: Three released curves with their bands and the true curve, which they follow; by method:
# gp, adaptive and ptr.
def truth(x: Any) -> Any:
    return np.sin(2 * np.pi * x) + x


def truth_in(found: pd.DataFrame) -> str:
    inside = (found["lwr"] <= truth(grid)) & (truth(grid) <= found["upr"])
    return f"{100 * inside.mean():.0f} %"


def wave(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=rows)
    return pd.DataFrame({"x": x, "y": truth(x) + 0.3 * rng.normal(size=rows)})


public, private = wave(200, 5), wave(3_000, 6)
grid = np.linspace(0.02, 0.98, 100)
figure, panels = plt.subplots(
    1, 3, figsize=(11, 3.8), layout="constrained", sharey=True
)
lines = []
for panel, method in zip(panels, ("gp", "adaptive", "ptr"), strict=True):
    curve = eptr_nw("y ~ x", private, public, EPSILON, DELTA, method=method, seed=1)
    curve.plot(ax=panel)
    panel.plot(grid, truth(grid), "k--", linewidth=1, label="truth")
    panel.set_title(method)
    panel.legend(frameon=False, fontsize="small")
    found = curve.predict(pd.DataFrame({"x": grid}), interval="confidence")
    lines.append(
        {
            "method": method,
            "bandwidth": round(float(curve.bandwidth["x"]), 3),
            "released": curve.released,
            "rms error": round(
                float(np.sqrt(np.mean((found["fit"] - truth(grid)) ** 2))), 4
            ),
            "half width of the band": round(
                float((found["upr"] - found["lwr"]).mean() / 2), 4
            ),
            "truth in the band": truth_in(found),
        }
    )
pd.DataFrame(lines).set_index("method")

# %% [markdown]
# The bands cover noise and sampling; those of "gp" also what smoothing would do to a curve like the
# fit, the others not: where the curve bends most they may miss it. The summary says which parts of the
# error are bounded, and by what:

# %%
curve.bounds()[["statement", "value", "premises"]].set_index("statement")

# %% [markdown]
# ## Which function
#
# | you want | use |
# |---|---|
# | a regression | `dp_lm`, `dp_glm` |
# | means, covariances, clusters | `dp_mean`, `dp_mvnorm`, `dp_mixture` |
# | a curve | `eptr_nw` |
# | a classifier | `eptr_bayes`, or `dp_glm` |
# | a median, a ratio, a thing of your own | `eptr`, with your proof |
#
# Before you release an estimator of your own, audit it: `dpstats.audit.audit` runs it on two
# neighbouring data sets and tries to distinguish them (see `vignettes/guarantee.py`).
