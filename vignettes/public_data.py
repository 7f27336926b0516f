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
# # Public data
#
# A private fit must know how long rows are and in which directions they vary: else one far row could
# move everything, and the noise would have to cover that. A little public data tells it; without any,
# a part of the budget finds it out (`no_public_data.py`). This page shows
#
# 1. what can be public: rows, moments of rows, moments of the design alone, a published matrix, or
#    nothing; and how accurate a fit is with each;
# 2. how few public rows are enough;
# 3. what happens when the public sample is another population, and how to see it;
# 4. what public rows fix: kinds of columns, levels, transformations; rare levels, missing values;
# 5. what must never serve as public data.
#
# One sentence before all: **public data decide how accurate a fit is, never how private.** A public
# sample that is wrong costs precision, and the guarantee stays as it was.
#
# Calls have `seed=` so that the page says the same whenever it is built. A real release has none,
# since whoever knows the seed can take the noise off.

# %%
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

from dpstats import PublicMoments, dp_lm, public_moments
from dpstats.datasets import fair
from dpstats.errors import SchemaError

pd.set_option("display.width", 100)
pd.set_option("display.max_columns", 12)

public, private = fair()
formula = "rate_marriage ~ age + children + religious + educ"
print(f"{len(public)} public rows, {len(private)} private rows")

# %% [markdown]
# ## What can be public
#
# **Rows** of the same columns: an earlier wave, a published survey, people who agreed to be shown.

# %%
fit = dp_lm(formula, private, public=public, mu=1, seed=1)

# %% [markdown]
# **Moments of rows.** A linear fit uses nothing of public rows but their second moments. So who
# holds them may pass on these, and keep the rows. They are a small text, and give the same fit to
# the last bit (a `dp_glm` begins nearer to the answer with rows):

# %%
text = public_moments(formula, public).to_json()
print(f"{len(text)} characters: {text[:60]} ...")
moments = PublicMoments.from_json(text)
moments

# %%
again = dp_lm(formula, private, public=moments, mu=1, seed=1)
print("same coefficients:", bool((again.coef() == fit.coef()).all()))

# %% [markdown]
# (Second moments of *few* rows can determine the rows. Passing on moments is a matter of
# convenience, and not a way to protect the public sample.)
#
# **Moments of the design alone**: covariates without the response, as a census or a register would
# have them. Write a formula without left side. The fit then begins at zero instead of near the
# answer, and takes a round more.

# %%
design = public_moments("~ age + children + religious + educ", public)
design

# %%
dp_lm(formula, private, public=design, mu=1, seed=1).coef().round(3).to_dict()

# %% [markdown]
# **A published matrix** of mean products, as in the appendix of a report; here it is rounded to one
# digit, and the number of rows behind it is not given. From published means, standard deviations and
# correlations it is made like this: mean products are covariances plus products of means.

# %%
x = public[["age", "children", "religious", "educ"]]
published_means, published_sd = x.mean().round(1), x.std().round(1)
published_correlations = x.corr().round(1)
covariance = published_correlations.to_numpy() * np.outer(published_sd, published_sd)
means = np.append(1.0, published_means)
matrix = np.outer(means, means)
matrix[1:, 1:] += covariance
terms = ["Intercept", *x.columns]
matrix = pd.DataFrame(matrix, index=terms, columns=terms).round(1)
matrix

# %%
declared = PublicMoments.declare(
    "~ age + children + religious + educ", dict.fromkeys(x.columns, float), matrix
)
declared

# %% [markdown]
# **Nothing.** Then noisy counts find where columns lie.

# %%
dp_lm(formula, private, mu=1, seed=1).coef().round(3).to_dict()

# %% [markdown]
# **Nothing but limits**, declared without looking, and their noise: `method="ssp"`, the oldest way.
# Here wide limits are paid for, because the noise covers all that limits allow. It helps much to
# write columns, and the response, as distances from the middle of their limits: a row is then short,
# and the constant is not confused with everything else. Only the meaning of the intercept changes.

# %%
limits = {
    "age": (15, 50),
    "children": (0, 6),
    "religious": (1, 4),
    "educ": (8, 21),
    "rate_marriage": (1, 5),
}
middle = (
    "I(rate_marriage - 3) ~ "
    "I(age - 32) + I(children - 3) + I(religious - 2.5) + I(educ - 14.5)"
)
dp_lm(middle, private, limits=limits, method="ssp", mu=1, seed=1).summary()

# %% [markdown]
# ## How accurate each is
#
# On the same private rows, ten runs each. `error` is the distance to the fit without privacy (which
# only this page knows), root mean square over the four slopes and the runs, in standard errors of
# that fit: at 1, privacy would add as much error as sampling does. `se` is the standard error that
# the fits state, over that of the fit without privacy (median of the runs that give one).

# %%
SLOPES = slice(1, None)  # of coefficients, the intercept left out


def without_privacy(
    formula: str, data: pd.DataFrame, terms: Sequence[str]
) -> pd.DataFrame:
    """Coefficients and standard errors that the rows themselves would give."""
    found = smf.ols(formula, data).fit()
    return pd.DataFrame({"coef": found.params, "se": found.bse}).loc[list(terms)]


full = without_privacy(formula, private, fit.coef().index)


def compare(fits: Sequence[Any], full: pd.DataFrame = full) -> dict[str, float]:
    """How far fits are from the one without privacy, and what they say about it."""
    coef, scale = full.to_numpy()[SLOPES].T
    moved = [(f.coef().to_numpy()[SLOPES] - coef) / scale for f in fits]
    stated = [float(np.mean(f.se().to_numpy()[SLOPES] / scale)) for f in fits]
    given = [value for value in stated if np.isfinite(value)]
    se = float(np.median(given)) if given else np.nan
    return {"error": float(np.sqrt(np.mean(np.square(moved)))), "se": se}


def runs(
    mu: float, formula: str = formula, data: pd.DataFrame = private, **known: Any
) -> list[Any]:
    return [dp_lm(formula, data, mu=mu, seed=seed, **known) for seed in range(10)]


ways: dict[str, dict[str, Any]] = {
    "318 rows, or their moments": {"public": moments},
    "moments of the design alone": {"public": design},
    "published, rounded matrix": {"public": declared},
    "private rows alone": {},
    "ssp, columns centred": {"formula": middle, "limits": limits, "method": "ssp"},
    "ssp, columns as they are": {"limits": limits, "method": "ssp"},
}
table = {}
for name, known in ways.items():
    strict, usual = compare(runs(0.25, **known)), compare(runs(1, **known))
    table[name] = {
        "error, mu = 1": usual["error"],
        "se, mu = 1": usual["se"],
        "error, mu = 0.25": strict["error"],
        "se, mu = 0.25": strict["se"],
    }
alone = without_privacy(formula, public, full.index)
apart = ((alone["coef"] - full["coef"]) / full["se"]).iloc[SLOPES]
table["public rows alone, no private ones"] = {
    "error, mu = 1": float(np.sqrt((apart**2).mean())),
    "se, mu = 1": float((alone["se"] / full["se"]).iloc[SLOPES].mean()),
}
pd.DataFrame(table).T.round(2).astype(object).fillna("not given")

# %% [markdown]
# Four things to see. Public responses add little to the design. With so many rows per column nothing
# at all does as well as public rows, and better than a matrix with one digit. The sample would be a
# poor estimate by itself (the last line, where `error` is that of the public fit). And sufficient
# statistics within limits cost more than anything else, far more if columns are not centred; where
# the noise needs a ridge the fit gives no standard errors, because its bias would not show.
#
# ## How few rows are enough
#
# Samples of m public rows, drawn anew for each of ten runs. Five columns are fitted.

# %%
few = {}
for m in (10, 20, 40, 80, 318):
    row = {}
    for mu in (1, 0.25):
        fits = [
            dp_lm(
                formula,
                private,
                public=public.sample(m, random_state=seed),
                mu=mu,
                seed=seed,
            )
            for seed in range(10)
        ]
        row |= {f"{what}, mu = {mu}": value for what, value in compare(fits).items()}
        after = [f.diagnostics().loc["condition after", "value"] for f in fits]
        row["condition after"] = float(np.median(after))
    few[m] = row
pd.DataFrame(few).T.round(2).rename_axis("public rows")

# %% [markdown]
# Twice as many rows as columns will do, here for both budgets. Beyond eight or ten rows per column
# nothing is to be gained: the errors of estimates do not fall any more. (The stated ones at mu = 0.25
# allow for what cuts may have moved, and differ from run to run by more than between the lines.)
#
# ## Another population
#
# Public samples are rarely drawn like the private ones. Here is a made-up population, and public
# samples of 200 that differ from it: older and older people; people of much the same age; people
# for whom the coefficients have the opposite sign; and the same people, with income in another unit.


# %%
def people(
    n: int, seed: int, older: float = 0, spread: float = 1, sign: float = 1
) -> pd.DataFrame:
    """Rows of age, income and a group; ``older`` in years, ``spread`` of age as a factor."""
    rng = np.random.default_rng(seed)
    age = rng.normal(45 + older, 12 * spread, n)
    group = rng.choice(["A", "B", "C"], n, p=[0.6, 0.3, 0.1])
    income = 30 + 0.3 * age + rng.normal(0, 8, n)
    level = pd.Series(group).map({"A": 0, "B": 1, "C": 2}).to_numpy()
    y = 10 + sign * (0.2 * age - 0.1 * income + level) + rng.normal(0, 3, n)
    return pd.DataFrame({"y": y, "age": age, "income": income, "group": group})


population = people(6000, seed=1)
model = "y ~ age + income + group"
answer = without_privacy(
    model, population, ["Intercept", "age", "income", "group[T.B]", "group[T.C]"]
)
samples = {
    "alike": people(200, seed=2),
    "12 years older": people(200, seed=2, older=12),
    "24 years older": people(200, seed=2, older=24),
    "36 years older": people(200, seed=2, older=36),
    "half the spread of age": people(200, seed=2, spread=0.5),
    "a fifth of the spread": people(200, seed=2, spread=0.2),
    "opposite coefficients": people(200, seed=2, sign=-1),
    "income in cents": people(200, seed=2).assign(income=lambda t: 100 * t.income),
}
shifted = {}
for name, sample in samples.items():
    fits = runs(1, model, population, public=sample)
    said = pd.DataFrame([f.diagnostics()["value"] for f in fits]).median()
    noise = [np.sqrt(np.diag(f.vcov("privacy"))) for f in fits]
    ratio = [
        (f.coef() - answer["coef"]).to_numpy() / sd
        for f, sd in zip(fits, noise, strict=True)
    ]
    shifted[name] = {
        **compare(fits, answer),
        "over stated": float(np.sqrt(np.nanmean(np.square(ratio))))
        if np.isfinite(ratio).any()
        else np.nan,
        "cond. before": said.get("condition before", np.nan),
        "cond. after": said.get("condition after", np.nan),
        "rounds": said["rounds"],
        "truncated": said["truncated rows"],
        "no se": sum(not np.isfinite(f.se()).all() for f in fits),
        "left out": sum(
            "lie far from the public ones" in " ".join(f.notes) for f in fits
        ),
    }
shown = pd.DataFrame(shifted).T
shown.map(lambda v: f"{v:,.0f}" if v >= 1000 else f"{v:.3g}" if np.isfinite(v) else "-")

# %% [markdown]
# (`over stated`: the same errors in standard deviations of the noise that the fits state; 1 is honest.
# `no se`: in how many of the ten runs the fit gave no standard errors, and said why in a note; `left
# out`: in how many private rows lay so far from the public ones that these were left out, and a note
# said so.)
#
# How to read the diagnostics of a fit:
#
# - *condition after*: between 1 and 2 the sample fits. From about 5 on some direction of the private
#   design is one that the public sample hardly has, or the other way round; where the sample is no guide
#   it is left out, and there is no such line. (*condition before* is
#   about your units and correlations, and no cause for alarm.)
# - *rounds*: public responses that mislead cost one round more, or two where rows are long, and next to
#   nothing in accuracy.
# - *truncated rows*: a share of several per cent means that private rows are longer than the public
#   ones let one expect. A note says when it matters.
# - *notes*: where private rows lie so far from the public ones, or vary so much less, that these are no
#   guide, as in another unit, the fit goes on as without public rows, and says so. Where noise is as large as the
#   information it says that, and gives no standard errors.
#
# Standard errors stay honest for samples that are somewhat off (`over stated` is near 1), and are those of a
# fit without public rows where these are left out. Where some runs give none, the others are a selection,
# and may say too little. A sample should have the spread of the private rows in every column, and their
# units.

# %%
# alt: Coefficients with intervals for two public samples. With one that is alike, and with one that has
# a fifth of the spread of age and is left out, thin lines hardly exceed the bars of sampling.
figure, panels = plt.subplots(
    1, 2, figsize=(10, 2.8), layout="constrained", sharex=True
)
for panel, name in zip(panels, ("alike", "a fifth of the spread"), strict=True):
    one = dp_lm(model, population, public=samples[name], mu=1, seed=1)
    one.plot(ax=panel)
    panel.set_title(name, loc="left")

# %% [markdown]
# Bars are what sampling alone would give, lines the intervals of the fit: a sample that is of no use costs
# next to nothing here. Now a real one: women under 25 as the public sample for all of Fair's women.
# Their ages are next to each other, and so are the years that they have been married. The fit
# notices, leaves them out, and its errors are hardly longer than without privacy. What it cannot find out
# is a level that the sample lacks.

# %%
for name, sample in {
    "under 25": public[public["age"] < 25],
    "under 32": public[public["age"] < 32],
}.items():
    one = dp_lm(formula, private, public=sample, mu=1, seed=1)
    measured = {
        k: f"{v:.2f}" if np.isfinite(v) else "not given"
        for k, v in compare([one]).items()
    }
    print(f"{name}: {len(sample)} rows, {measured}")
    print(textwrap.fill(" ".join(one.notes) or "No note.", 90))

# %% [markdown]
# ## What public rows fix
#
# Names and kinds of columns, levels of categories, and whatever a transformation learns (means of
# `scale`, knots of splines, levels of `C`) come from the public rows alone. So the columns of the
# result are the same whatever the private rows are, and no error can depend on one of them.
#
# **Kinds.** A private column of another kind is refused before it is read:

# %%
try:
    dp_lm(model, population.astype({"age": str}), public=samples["alike"], mu=1, seed=1)
except SchemaError as error:
    print(textwrap.fill(str(error), 90))

# %% [markdown]
# **Levels that no public row has.** 60 private people are of a fourth group, D. The fit does not know
# it: their rows count as empty, and the summary says how many there are, with noise.

# %%
rng = np.random.default_rng(3)
with_d = population.copy()
with_d.loc[rng.choice(len(with_d), 60, replace=False), "group"] = "D"
sample = samples["alike"]
unknown = dp_lm(model, with_d, public=sample, mu=1, seed=1)
unknown.diagnostics().loc[["empty rows"], ["value", "noise_sd"]].round(4)

# %%
print(f"the share of D is {60 / len(with_d):.4f}")

# %% [markdown]
# That D exists may be public, from a code book. Say so by `limits=`, as a list of levels. What a
# column of zeros does not tell is then found in the private rows, and a note says so. A little ridge
# on the public moments lets the column through as well; so do two public rows that are made up:

# %%
levels = {"group": ["A", "B", "C", "D"]}
partly = dp_lm(model, with_d, public=sample, limits=levels, mu=1, seed=1)
print(textwrap.fill(" ".join(partly.notes), 90))
ridged = public_moments(model, sample, limits=levels).with_ridge(0.01)
two = sample.copy()
two.loc[two.index[:2], "group"] = "D"
best = without_privacy(model, with_d, ["group[T.D]"]).iloc[0]
rare = {}
for name, known in {
    "declared": {"public": sample, "limits": levels},
    "no public row of D, a ridge": {"public": ridged},
    "two public rows of D": {"public": two},
}.items():
    fits = runs(1, model, with_d, **known)
    of_d = pd.DataFrame([f.tidy().set_index("term").loc["group[T.D]"] for f in fits])
    rare[name] = {
        "mean estimate": of_d["estimate"].mean(),
        "sd of the estimates": of_d["estimate"].std(),
        "stated se, smallest": of_d["std_error"].min(),
        "largest": of_d["std_error"].max(),
        "runs without se": of_d["std_error"].isna().sum(),
    }
rare["without privacy"] = {
    "mean estimate": best["coef"],
    "stated se, smallest": best["se"],
    "largest": best["se"],
}
pd.DataFrame(rare).T.round(2).astype(object).fillna("")

# %% [markdown]
# The two public rows of D are made up: copies of others with another letter, written without a look
# at the private rows. They show the fit how rare D is, and its errors are on the safe side. A ridge
# lets the column through but adds no information on it: most runs give no standard error of it, and the
# others one that is too small. A level of 60 people is estimated poorly in any case, since each of them
# is protected; merging it with a neighbour is often the better model.
#
# **Missing values.** Rows with a missing value are left out on both sides, public ones visibly (they
# are counted in the summary), private ones as empty rows, whose share is released with noise. The
# degrees of freedom and the standard errors take it into account. This is complete-case analysis:
# if rows are missing for a reason that bears on the response, estimates are biased as in R.

# %%
gaps = [population.copy(), sample.copy()]
for table_with_gaps in gaps:
    lost = rng.choice(len(table_with_gaps), len(table_with_gaps) // 10, replace=False)
    table_with_gaps.loc[lost, "income"] = np.nan
holes = dp_lm(model, gaps[0], public=gaps[1], mu=1, seed=1)
lines = str(holes.summary()).splitlines()
print(*[line for line in lines if line.startswith(("Rows:", "About"))], sep="\n")

# %% [markdown]
# ## Never as public data
#
# The guarantee takes the public data as given. Whatever they show of private rows is shown.
#
# - **Not the private table**, nor a part of it whose people did not agree. Where it is the same
#   object the fit says so:

# %%
print(
    textwrap.fill(
        " ".join(dp_lm(formula, private, public=private, mu=1, seed=1).notes), 90
    )
)

# %% [markdown]
# - **Not a sample chosen by looking at private rows**: matched to them, cleaned of what is not among
#   them, or picked because the fit came out well.
# - **Not exact statistics of the private rows**: their means, their minimum and maximum as `limits=`,
#   their levels, their correlation matrix. That they are "only aggregates" does not help.
# - **Not a synthetic copy** whose maker gives no guarantee.
#
# What may serve, besides data that were public all along: a private release of the same rows, paid
# for. `dp_mvnorm(...).to_moments(formula)` makes public moments of one, and the fit says what both
# cost together.
#
# A random sample of the people themselves, who are asked and agree, is the best public sample there
# is, in so far as those who agree are like the others: the table above shows that a few dozen of
# them will do.
