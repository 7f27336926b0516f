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
# # Getting started
#
# For readers who fit linear models in R and have not met differential privacy. You will find
# `lm`, `summary`, `confint`, `predict`, `anova` and broom's tables where you expect them. Three
# things are new: a call says how much privacy it may spend, it can take a few public rows beside
# the private ones (`no_public_data.py` has none), and nothing about a single row is returned.
#
# 1. a first fit, and its summary line by line;
# 2. what mu = 1 means, and how to choose it before the private rows are touched;
# 3. intervals, tables, pictures, sub-models and predictions, which cost nothing more;
# 4. a budget for a study;
# 5. tables for a report.
#
# Pictures need `pip install "dpstats[plot]"`.

# %%
import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

from dpstats import Budget, BudgetExceeded, anova, dp_lm, etable, plan_lm
from dpstats.datasets import fair
from dpstats.errors import FormulaError, NotReleasedError

pd.set_option("display.width", 100)
pd.set_option("display.max_columns", 12)

# %% [markdown]
# ## The data
#
# Fair's survey of married women (Redbook, 1974) ships with statsmodels. `fair()` splits it in two:
# a small sample that we treat as public, and the rest, which we treat as private. In real work the
# public sample is another survey, an earlier wave that was published, or people who agreed to be
# shown.

# %%
public, private = fair()
public.head()

# %%
print(f"{len(public)} public rows, {len(private)} private rows")

# %% [markdown]
# Look at the public rows as long as you like: plot them, try formulas on them. Of the private rows
# we use their number, the names of their columns and whether a column holds numbers or text, and
# nothing else. (That is why there is no `private.describe()` on this page.)
#
# ## A first fit
#
# A formula, the private rows, the public rows, and what the call may spend.

# %%
formula = "rate_marriage ~ age + yrs_married + children + religious + educ"
fit = dp_lm(formula, private, public=public, mu=1, seed=1)
fit

# %% [markdown]
# **About `seed=`.** The estimates carry random noise, and that noise is what protects the rows. With
# a seed the noise is the same in every run, so that this page can be checked; but whoever knows the
# seed can compute the noise and take it off. So a seeded result says "not for release", and a real
# call has no `seed=`: its noise comes from the cryptographic generator of the operating system, and
# two calls give two answers (and spend twice).
#
# ## The summary, line by line

# %%
fit.summary()

# %% [markdown]
# **Coefficients.** As in R. The standard errors cover two sources, the sampling of rows and the
# noise for privacy, so that z values, p-values and intervals may be used as they are. z replaces t:
# the degrees of freedom are thousands, or privacy noise dominates.
#
# **Errors.** Which standard errors these are. By default the sandwich, which assumes neither
# constant variance of the errors nor a correct formula. (What is estimated is then the
# least-squares line of the population that the rows come from.) `vcov="iid"` gives those of R's
# `summary`, for errors of constant variance.
#
# **privacy.** The share s of each *variance* that is due to privacy noise. It makes intervals
# 1/sqrt(1 - s) times as long: 1.03 times at 5 %, 1.41 times at 50 %. Small shares mean that a
# smaller mu would do.
#
# **Rows.** `n` is public. Degrees of freedom are "about": how many rows had missing values is
# private, and is released with noise.
#
# **R-squared, residual standard error.** Computed from released numbers, not from residuals.
# Squares of very large residuals are cut: the line below gives a range for both that allows for
# noise and cuts. Where errors have long tails, sigma is nearer to its upper end, which one in
# twenty of the tails that fit the released counts would exceed. A dozen very large residuals in
# 28 000 leave no trace in noisy counts: if you expect some, report that sigma leaves them out.
#
# **Privacy.** *Total* is the price of the call in three units (explained below). *Unit* is who is
# protected: one row, whatever it is replaced by. *Noise* is the source of randomness. The table has
# every number that left the private rows, a line for each kind: how much noise was added, its part
# of mu, and its share of mu squared. (`fit.summary(full=True)` has a line for each release, and how
# far one row can move it, its sensitivity.) The parts add up in squares:

# %%
parts = fit.privacy.mechanisms
parts[["released", "numbers", "noise_sd", "mu"]].round(4)

# %%
print("root of the sum of squares:", round(float(np.sqrt((parts["mu"] ** 2).sum())), 6))

# %% [markdown]
# **Error bounds.** How far the coefficients, as a vector in the units of the columns, are from two other
# fits, with probability 0.95. The first has the same cuts and no noise: "at most" is a proof, and
# wide; "as simulated" is the same number from the law of the noise, and is what you can expect. The
# second is the fit without privacy and without cuts: "estimated" adds the bias that cuts may have
# caused, judged by the released tail, and is not a proof. (On real tables it holds in nine fits of
# ten; the bound for noise alone, in three of four.) `fit.bounds()` has more, each with its premises
# and whether they are met.
#
# **Diagnostics.** Released numbers have a noise sd; the others are public.
#
# - *truncated rows*: the share of rows whose score (the row times its residual) was too long for the
#   cut that makes noise finite. The cut is chosen so that its effect on a coefficient is small
#   beside the noise: usually it touches a few rows in a thousand. See the next section.
# - *empty rows*: missing values, or a level that the public rows do not have. They add nothing
#   to the fit.
# - *condition before, after*: how unequal the directions of the design are (mean eigenvalue of the
#   second moments over the smallest), in your units and after the public sample has made them
#   comparable. Near 1 after: the public sample fits the private rows.
# - *rounds*: how often the fit visited the rows and was corrected.
# - *cut allowance*: the largest share of a printed variance that allows for bias from cuts. Small
#   on most tables; see the next section.
# - *unseen rows*: about so many rows, far from all others, may be there and not be seen.
# - *planned error*: what the public numbers promised, over a fit without privacy, for normal errors.
#   Longer tails cost more; the printed errors count them, and so does `plan_lm` (below).
#
# ## How do I know that cutting has not moved my coefficient?
#
# A residual that is cut pulls less on the line than it would. If as much is cut above the line as
# below, nothing moves. If errors are skewed the coefficients move, the constant most.
#
# Released histograms show how far scores reach beyond the cut. Two numbers follow for each
# coefficient: by how much cutting would move it if all that was cut pulled in one direction, as is
# expected from the counts, and what that hardly exceeds, given that noise hides a few rows. Part of
# the first is in the printed error. What is cut pulls both ways in the main, so the truth is mostly
# far below both. Where the second is sixteen printed errors or more, a note names the coefficients and
# says how large the first is. So:
#
# - no note: the intervals may be used as they are. On real tables they cover nearly as often as
#   those without privacy do (the page on accuracy has the figures);
# - a note: take a logarithm of the response (`log(y) ~ ...`), or a family for such data
#   (`dp_glm(..., family="gamma")`), or a larger budget, and see whether the note goes;
# - no note, but a line "cut allowance 0.8" among the diagnostics: four fifths of a printed
#   variance allow for bias from cuts. Such intervals are valid but long: the same three
#   remedies make them shorter;
# - a note that says "noise may hide a long tail": little of one was seen, and the noise is too large to
#   exclude it. A larger budget tells;
# - "truncated rows 1.6 %" by itself says little: many short pieces may be cut, or a few long ones.
#   The note and the allowance take both into account.
#
# What no private fit can tell: a few rows that decide the fit without privacy. Noise hides them, and neither
# interval nor note shows them; *unseen rows* among the diagnostics says how few they are (25 to 50 at mu = 1).
#
# ## What mu = 1 means
#
# Take any row, and any other that could be in its place. Somebody who knows all other rows, and
# sees everything that the call released, tests which of the two was there. The picture shows
# the best that such a test can do: the error of the second kind against that of the first.

# %%
# alt: The least error of the second kind of a test against its error of the first kind. The curve
# of mu = 1 lies between the diagonal, where one guesses, and the axes; at a level of 5 % the
# error of the second kind is 0.74.
ax = fit.plot_privacy()

# %% [markdown]
# It is the picture of a test for a normal variable with mean 0 or mean mu, and that is the
# definition of mu (Gaussian differential privacy). On the diagonal one guesses; the nearer the
# curve comes to it, the better a row is hidden. The dot is a test at the level of 5 %; its power is
# one minus the error in the legend. The same total in the other units in use, zCDP and (epsilon,
# delta):

# %%
fit.privacy

# %%
for delta in (1e-3, 1e-5, 1e-9):
    print(f"epsilon = {fit.privacy.epsilon(delta):.2f} at delta = {delta:g}")

# %% [markdown]
# They are one statement, not three. A call takes any of the units, one at a time:
# `mu=1`, `rho=0.5` or `epsilon=1, delta=1e-6`. (Keep delta far below one over the number of rows.)
# Which mu is right is a question of harm, not of statistics. `vignettes/guarantee.py` is about what
# is promised; here we ask what a mu costs.
#
# ## Choosing mu before touching the data
#
# In a real study this comes first. `plan_lm` takes the public rows and the *number* of private
# rows, rehearses the fit at several budgets, and predicts its standard errors. It reads no
# private row and spends nothing. With `target_se=` it also gives the smallest mu, and how many rows
# one would need.

# %%
plan = plan_lm(formula, public, n=len(private), target_se={"children": 0.02})
plan

# %%
# alt: Planned standard errors over those without privacy, against mu, a line for each
# coefficient. They fall from about 1.6 at mu = 0.25 to less than 1.1 at mu = 2.
ax = plan.plot()

# %% [markdown]
# With 6048 rows the noise of mu = 1 is small beside that of sampling, and mu = 0.25 is
# affordable. Did the plan keep its word? The fit above, and one with mu = 0.25:

# %%
strict = dp_lm(formula, private, public=public, mu=0.25, seed=2)
pd.DataFrame(
    {
        "planned, mu = 1": plan.std_error()["mu = 1"],
        "found, mu = 1": fit.se(),
        "planned, mu = 0.25": plan.std_error()["mu = 0.25"],
        "found, mu = 0.25": strict.se(),
    }
).round(4)

# %% [markdown]
# The column "known to" of the plan says how far off it may be for having few public rows, and the line
# "differ between fits by" how much the errors of one fit differ from those of the next: where the noise is
# large, what a fit allows for cuts follows noisy counts. A plan takes private rows to be like the public
# ones. Here they are not quite: the scores of educ and of the constant have longer tails, and at mu = 0.25
# their errors are half as long again as planned.
#
# ## Intervals, tables, pictures
#
# What you would type next in R, with the names of broom:

# %%
fit.confint(0.9)

# %%
fit.tidy().set_index("term").round(4)

# %%
fit.glance().T.rename(columns={0: "value"})

# %% [markdown]
# `coef()`, `se()` and `vcov()` are there as well. The covariance is the sum of two parts, which
# can be had separately:

# %%
apart = {
    part: np.sqrt(np.diag(fit.vcov(part))) for part in ("sampling", "privacy", "total")
}
pd.DataFrame(apart, index=fit.coef().index).round(5)

# %% [markdown]
# The picture shows both: thick bars are the intervals of sampling alone, thin lines those that the
# summary gives. Left mu = 1, right mu = 0.25.

# %%
# alt: Coefficients with intervals at mu = 1 and at mu = 0.25. At mu = 1 thin lines and thick bars
# are of nearly the same length; at mu = 0.25 the thin lines are visibly longer.
figure, panels = plt.subplots(1, 2, figsize=(10, 3), layout="constrained", sharex=True)
for panel, one in zip(panels, (fit, strict), strict=True):
    one.plot(ax=panel)
    panel.set_title(f"mu = {one.privacy.mu:g}", loc="left")

# %% [markdown]
# ## Sub-models, tests and paths: free
#
# A fit has released the second moments of its design. Whatever can be computed from them spends no
# further privacy: smaller models, tests of terms, and whole paths of penalised fits. So fit the
# largest model that you may want *once*, and go down from there.

# %%
smaller = fit.update("~ . - age - yrs_married")
smaller

# %%
anova(fit, smaller)

# %%
path = fit.path("lasso")
path

# %%
# alt: Coefficients of the lasso against the penalty: they shrink to zero one after the other,
# children last.
ax = path.plot()

# %% [markdown]
# Larger models are not free: a term that was not in the fit needs the rows again.

# %%
try:
    fit.update("~ . + occupation")
except FormulaError as error:
    print(textwrap.fill(str(error), 90))

# %% [markdown]
# ## Predictions
#
# For rows that you may show: public ones, or made up. "confidence" is for the mean, "prediction"
# for a single answer.

# %%
women = pd.DataFrame(
    {
        "age": [22.0, 32.0, 42.0],
        "yrs_married": [2.5, 9.0, 23.0],
        "children": [0.0, 2.0, 4.0],
        "religious": [2.0, 3.0, 4.0],
        "educ": [16.0, 14.0, 12.0],
    }
)
fit.predict(women, interval="confidence").round(3)

# %%
fit.predict(women, interval="prediction").round(3)

# %% [markdown]
# Fitted values and residuals of the private rows do not exist; the error names what to use in
# their place.

# %%
try:
    print(fit.residuals)
except NotReleasedError as error:
    print(textwrap.fill(str(error), 90))

# %% [markdown]
# ## A budget for the study
#
# Two fits of the same rows give away more than one. The squares of their mu add up: the two fits of
# this page together cost

# %%
print(f"mu = {np.hypot(fit.privacy.mu, strict.privacy.mu):.3f}")

# %% [markdown]
# A `Budget` keeps the books, and refuses what would be too much *before* a row is read. Open it, and
# every call inside is charged to it.

# %%
private.attrs["name"] = "Fair's survey"
budget = Budget(mu=1)
with budget:
    ratings = dp_lm(formula, private, public=public, mu=0.6, seed=3)
    fewer = ratings.update("~ . - age")  # free
    schooling = dp_lm(
        "educ ~ religious + children", private, public=public, mu=0.5, seed=4
    )
    try:
        dp_lm("age ~ children", private, public=public, mu=0.8)
    except BudgetExceeded as refused:
        print(textwrap.fill(str(refused), 90))
budget

# %%
budget.tidy()[["mu", "data", "call"]].set_index("mu").round(2)

# %% [markdown]
# The call that was refused is not in the ledger, and `update` was free. `budget.table()` is the
# statement for the file: every call with its time and what it released. `Budget(mu=1,
# path="study.budget")` keeps the ledger in a file that colleagues and later sessions share.
#
# ## Fits side by side
#
# `etable` puts fits next to each other. Two columns show whether all this was worth it:
# `public=True` adds the fit of the public rows alone, which anybody could have; and, **for teaching
# only**, `nonprivate=` adds a fit of the private rows without any protection. A table with such a
# column is as confidential as the rows.

# %%
nonprivate = smf.ols(formula, private).fit()
both = [fit, strict]
etable(both, names=["mu = 1", "mu = 0.25"], public=True, nonprivate=nonprivate)

# %% [markdown]
# Compare the standard errors from column to column. The public sample alone is too small for
# precise estimates; with it, the private rows give nearly the precision that they have without privacy.
#
# ## Into a report
#
# Every page (`summary()`, `etable()`, `plan`, `budget.table()`) exports itself. Markdown:

# %%
print(etable(both, names=["mu = 1", "mu = 0.25"]).to_markdown())

# %% [markdown]
# LaTeX, for booktabs; `caption=` and `label=` make it a table that floats:

# %%
print(
    etable(both, names=["mu = 1", "mu = 0.25"]).to_latex(
        caption="Ratings of marriages", label="tab:ratings"
    )
)

# %% [markdown]
# State the privacy beside such a table, in the words of `print(fit.privacy)`: total, unit, noise.
#
# ## Where to go next
#
# - `vignettes/public_data.py`: what can serve as public data, how little is enough, and how to see
#   that it does not fit;
# - `vignettes/glm.py`: logistic, Poisson and other regressions;
# - `vignettes/large_data.py`: rows that do not fit into memory;
# - `vignettes/guarantee.py`: what is promised, to whom, and how it is tested;
# - `help(dp_lm)`: all arguments.
