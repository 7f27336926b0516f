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
# # Generalised linear models
#
# `dp_glm` is R's `glm` with a budget: logistic regression on a survey of extramarital affairs, then
# counts of doctor visits, and in short the other families. The page also says where such a fit has
# its limits: rare outcomes, and columns that separate the responses.
#
# `vignettes/getting_started.py` explains public and private rows, `mu=` and the parts of a summary;
# they are the same here. Calls have `seed=` so that the page says the same whenever it is built. A real
# release has none, since whoever knows the seed can take the noise off.

# %%
import textwrap

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

from dpstats import anova, dp_glm, etable, plan_glm
from dpstats.datasets import fair, randhie

pd.set_option("display.width", 100)
pd.set_option("display.max_columns", 12)

# %% [markdown]
# ## Logistic regression
#
# Did a married woman have an affair? A bool is a response; so are 0 and 1, a share between them, or
# a category of which the second public level is the success.

# %%
public, private = (table.assign(affair=table["affairs"] > 0) for table in fair())
formula = "affair ~ rate_marriage + age + yrs_married + religious"
print(f"{len(public)} public rows, {len(private)} private rows")
public["affair"].value_counts()

# %% [markdown]
# First the plan, from public rows alone: what would several budgets buy?

# %%
plan = plan_glm(formula, public, n=len(private), target_se={"religious": 0.05})
plan

# %% [markdown]
# mu = 0.5 will do for the coefficient that we ask about. The fit:

# %%
fit = dp_glm(formula, private, public=public, mu=0.5, seed=1)
fit.summary()

# %% [markdown]
# The upper part is R's `summary.glm`. What differs:
#
# - Deviances are not released (each would need a pass over the rows, and a budget); the Wald test of
#   all terms takes their place, and `anova` that of some.
# - *Number of private Newton steps*: the fit begins at the public one, takes private Newton steps,
#   and stops when a step is small beside its own noise. `iterations=` fixes their number.
# - *step 1, step 2* in the diagnostics: how long each step was, and how noisy, both in standard errors
#   per coefficient. The first may be long (the public fit was off by so much); the last should be
#   short, or the fit says that it has not settled.
# - *condition*: of the released information after the public rows have made directions comparable.
#
# ### Odds ratios

# %%
fit.odds_ratios()[["odds_ratio", "2.5%", "97.5%"]].round(3)

# %%
fit.ratio_table()

# %% [markdown]
# `ratio_table()` is the same for a report, `.to_markdown()` and `.to_latex()` included. For the
# picture, on the scale of the coefficients, thick bars are sampling alone and thin lines the
# intervals that the summary gives:

# %%
# alt: Coefficients of the logistic fit with intervals; only that of age lies near zero.
ax = fit.plot()

# %% [markdown]
# ### Tests and sub-models: free

# %%
smaller = fit.update("~ . - age - religious")
anova(fit, smaller)

# %% [markdown]
# For a linear model `update` is exact. Here it is one Newton step from the release of the larger
# model, good while what is left out matters little. Age and religion matter, as the test says, so
# one would fit the smaller model anew if it were the one to report.
#
# ### Predictions
#
# `type="link"` is the default, as in R; `type="response"` gives probabilities.

# %%
women = pd.DataFrame(
    {
        "rate_marriage": [5.0, 4.0, 3.0, 2.0, 1.0],
        "age": 32.0,
        "yrs_married": 9.0,
        "religious": 2.0,
    }
)
predicted = fit.predict(women, type="response", interval="confidence")
women[["rate_marriage"]].join(predicted.round(3))

# %% [markdown]
# ### Beside the fit without privacy
#
# For teaching: what would R have estimated? `nonprivate=` puts a statsmodels fit of the private
# rows next to it, and `public=True` that of the public rows. A table with a column that is not
# private is as private as the rows.

# %%
counted = private.assign(affair=private["affair"].astype(float))
nonprivate = smf.glm(formula, counted, family=sm.families.Binomial()).fit()
generous = dp_glm(formula, private, public=public, mu=1, seed=2)
etable(
    [fit, generous], names=["mu = 0.5", "mu = 1"], public=True, nonprivate=nonprivate
)

# %% [markdown]
# How far off are the private coefficients, in standard errors of the fit without privacy?

# %%
off = {
    f"mu = {one.privacy.mu:g}": (one.coef() - nonprivate.params) / nonprivate.bse
    for one in (fit, generous)
}
pd.DataFrame(off).round(2)

# %% [markdown]
# ### Other links
#
# Probit and the complementary log-log differ in the scale of the coefficients, hardly in what they
# predict:

# %%
links = {
    name: dp_glm(formula, private, public=public, family=name, mu=1, seed=3)
    for name in ("binomial", "binomial(probit)", "binomial(cloglog)")
}
pd.DataFrame({name: one.coef() for name, one in links.items()}).round(3)

# %%
pd.DataFrame(
    {name: one.predict(women, type="response") for name, one in links.items()}
).round(3)

# %% [markdown]
# ## Counts: Poisson and quasi-Poisson
#
# Visits to a doctor in the RAND health insurance experiment. `lncoins` is the logarithm of the
# coinsurance rate, `idp` an individual deductible, `physlm` a physical limitation, `disea` the number
# of chronic diseases, `hlthg`, `hlthf`, `hlthp` health that is good, fair, or poor.

# %%
public, private = randhie()
visits = "mdvis ~ lncoins + idp + lpi + fmde + physlm + disea + hlthg + hlthf + hlthp"
poisson = dp_glm(
    visits, private, public=public, family="poisson", vcov="iid", mu=1, seed=1
)
poisson

# %% [markdown]
# (`vcov="iid"` asks for the family's own standard errors. The default, the sandwich, holds whatever
# the variance is, and makes no difference between the two families of this section.)
#
# The note is the important line. A Poisson model says that the variance is the mean; the released
# Pearson dispersion says that it is several times as much, so that standard errors are too small
# by the root of it. Quasi-Poisson takes the dispersion into account. The public rows could have shown
# us before a budget was spent:

# %%
before = smf.glm(visits, public, family=sm.families.Poisson()).fit()
print(f"dispersion of the public rows: {before.pearson_chi2 / before.df_resid:.2f}")
print(f"released, of the private rows: {poisson.glance()['pearson'].iloc[0]:.2f}")

# %%
quasi = dp_glm(
    visits, private, public=public, family="quasipoisson", vcov="iid", mu=1, seed=1
)
open_fit = smf.glm(visits, private, family=sm.families.Poisson()).fit(scale="X2")
etable([poisson, quasi], names=["Poisson", "quasi-Poisson"], nonprivate=open_fit)

# %% [markdown]
# (The same seed: so the first two columns have one noise, and differ in their errors only.) The share
# of each variance that privacy makes falls from the first fit to the second, because the sampling
# error was understated in the first:

# %%
shares = {
    one.family.name: one.tidy().set_index("term")["privacy_share"]
    for one in (poisson, quasi)
}
pd.DataFrame(shares).round(2)

# %% [markdown]
# Exponentiated coefficients are rate ratios:

# %%
quasi.ratio_table()

# %%
# alt: Coefficients of the quasi-Poisson fit with intervals; the bars of sampling and the thin
# lines with privacy are of similar length.
ax = quasi.plot()

# %% [markdown]
# `family=sm.families.NegativeBinomial(alpha=...)` is there as well, for an alpha that is public.
#
# ### Exposure
#
# People who are watched for half a year have half the visits. `offset(log(years))` in the formula says
# so. The data have no such column; we make one, and thin the visits accordingly.


# %%
def watched(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The table with a time of observation, and the visits that fall into it."""
    rng = np.random.default_rng(seed)
    years = rng.uniform(0.25, 1, len(table))
    seen = rng.binomial(table["mdvis"].astype(int), years)
    return table.assign(years=years, seen=seen)


some_public, some_private = watched(public, 1), watched(private, 2)
rates = {}
for right in (
    "lncoins + physlm + disea",
    "lncoins + physlm + disea + offset(log(years))",
):
    one = dp_glm(
        f"seen ~ {right}",
        some_private,
        public=some_public,
        family="quasipoisson",
        mu=1,
        seed=4,
    )
    rates["with offset" if "offset" in right else "without"] = one.odds_ratios().iloc[
        :, 0
    ]
whole = dp_glm(
    "mdvis ~ lncoins + physlm + disea",
    private,
    public=public,
    family="quasipoisson",
    mu=1,
    seed=4,
)
rates["whole years"] = whole.odds_ratios().iloc[:, 0]
pd.DataFrame(rates).round(3)

# %% [markdown]
# The intercept is a rate per year with the offset, as it is with whole years; without it, a rate per
# whatever time people happened to be watched.
#
# ### Weights
#
# Prior weights, as in R: `weights=` names a column. With a share as the response they are trials. One
# heavy row could move everything, so the largest weight must be public: it is that of the public
# rows, or `limits={"(weights)": (0, bound)}`. Here we make up the number of quarters that a person was
# watched, and the share of them in which there was a visit.


# %%
def by_quarter(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The table with quarters of observation, and the share of them with a visit."""
    rng = np.random.default_rng(seed)
    quarters = rng.integers(1, 5, len(table))
    hits = rng.binomial(quarters, 1 - np.exp(-table["mdvis"] / 4))
    return table.assign(quarters=quarters.astype(float), share=hits / quarters)


shared = "share ~ lncoins + physlm + disea"
quarterly_public, quarterly = by_quarter(public, 1), by_quarter(private, 2)
grouped = dp_glm(
    shared,
    quarterly,
    public=quarterly_public,
    family="quasibinomial",
    weights="quarters",
    mu=1,
    seed=5,
)
etable(grouped, names=["share of quarters"])

# %% [markdown]
# ### Gamma
#
# For positive, skewed responses: the bill of those who went at all, with a made-up price of a visit.
# The link is the logarithm, so that exponentiated coefficients are ratios of means.


# %%
def bills(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    some = table[table["mdvis"] > 0]
    return some.assign(bill=20 * some["mdvis"] * rng.lognormal(0, 0.3, len(some)))


cost = dp_glm(
    "bill ~ lncoins + physlm + disea",
    bills(private, 2),
    public=bills(public, 1),
    family="gamma",
    mu=1,
    seed=6,
)
cost.ratio_table()

# %% [markdown]
# (That these rows had a visit is a fact about the rows, and how many there are is public in every
# call: here it was not protected. In a real study, select rows by public facts, or model the
# visits and the bills of all.)
#
# ## Where it ends: rare outcomes
#
# The precision of a logistic fit depends on the rarer of the two outcomes, in R as here. Privacy needs
# rather more of them. The same model for more and more affairs:


# %%
rare = "often ~ rate_marriage + age + yrs_married + religious"
rows = {}
for least in (0, 2, 5, 10):
    open_rows, closed = (
        table.assign(often=table["affairs"] > least) for table in fair()
    )
    one = dp_glm(rare, closed, public=open_rows, mu=1, seed=1)
    r = smf.glm(
        rare,
        closed.assign(often=closed["often"].astype(float)),
        family=sm.families.Binomial(),
    ).fit()
    rows[f"affairs > {least}"] = {
        "public": int(open_rows["often"].sum()),
        "private": int(closed["often"].sum()),
        "religious": one.coef()["religious"],
        "se": one.se()["religious"],
        "without privacy": r.params["religious"],
        "its se": r.bse["religious"],
        "ratio": one.se()["religious"] / r.bse["religious"],
        "steps": one.iterations,
        "settled": not any("settled" in note for note in one.notes),
    }
pd.DataFrame(rows).T.map(lambda v: f"{v:.3g}" if isinstance(v, float) else v)

# %% [markdown]
# (The number of private successes, and the fit without privacy, are shown for teaching.) With
# hundreds of successes privacy costs little. With a hundred and fewer standard errors grow (`ratio`), or
# there are none, and a note says that the fit has not settled:

# %%
print(textwrap.fill(next(note for note in one.notes if "settled" in note), 90))

# %% [markdown]
# Take such an answer as a hint of signs and sizes and not more. `plan_glm` sees it coming, from the
# public rows, before anything is spent: look at its row "over no privacy".

# %%
hint = plan_glm(
    rare,
    fair()[0].assign(often=lambda t: t["affairs"] > 5),
    n=len(closed),
    mu=[0.5, 1, 2],
)
hint.std_error().round(3)

# %% [markdown]
# ## Where it ends: separation
#
# Where a column separates the responses (everybody with z = 1 has y = 1), the likelihood has no
# largest value: R's coefficient grows until the iterations stop, and R warns of fitted probabilities
# of 0 or 1. Here is such a column.


# %%
def separated(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), (rng.random(n) < 0.2).astype(float)
    return pd.DataFrame({"y": (x + rng.logistic(size=n) > 0) | (z > 0), "x": x, "z": z})


known, secret = separated(200, 2), separated(5000, 1)
pd.crosstab(known["z"], known["y"])

# %%
tries = [
    dp_glm("y ~ x + z", secret, public=known, mu=1, seed=seed) for seed in range(6)
]
found = pd.DataFrame(
    {
        "z": [one.coef()["z"] for one in tries],
        "se of z": [one.se()["z"] for one in tries],
        "x": [one.coef()["x"] for one in tries],
        "se of x": [one.se()["x"] for one in tries],
        "notes": [len(one.notes) for one in tries],
    }
)
found.round(2).astype(object).fillna("not given")

# %% [markdown]
# The coefficient of x is unharmed where its error is given. That of z is "large", and its digits mean
# nothing: they are where the steps ended. Nearly all runs say so, by a note that all rows with z may
# have the same outcome, or by giving no standard errors. **A few do not** where such rows are rare, and show a
# small standard error and three stars: the fit sees the empty cell through noise only. So look for empty cells where they can be seen, in
# the public rows, as in the table above. Then leave such a column out, or take a ridge, which gives a finite
# answer and says that it is shrunk:

# %%
ridge = dp_glm("y ~ x + z", secret, public=known, ridge=0.01, mu=1, seed=1)
ridge

# %% [markdown]
# ## In short
#
# | you have | you write |
# |---|---|
# | yes or no | `dp_glm("y ~ x", ..., mu=1)`, `odds_ratios()` |
# | shares of known trials | `weights="trials"`, `family="quasibinomial"` if they vary more |
# | counts | `family="quasipoisson"`; `offset(log(time))` |
# | positive, skewed | `family="gamma"`, or `dp_lm("log(y) ~ x")` |
# | rare outcomes | `plan_glm` first; merge categories; a larger mu |
# | a note that the fit has not settled | public rows with responses, a ridge, fewer columns |
