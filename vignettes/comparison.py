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
# # Beside other programs
#
# Private regression is offered by other programs as well. This page runs those that can be installed on
# the same rows, and says what each asks of its user.
#
# | | asks for | guarantee | gives |
# | --- | --- | --- | --- |
# | `dp_lm`, `dp_glm` | a formula and a budget; public rows where there are some | mu-GDP, rho-zCDP, or (epsilon, delta) | coefficients, intervals that hold the noise, notes |
# | diffprivlib `LinearRegression` | the bounds of every column and of the response | epsilon | coefficients |
# | diffprivlib `LogisticRegression` | the norm of the longest row | epsilon | coefficients |
# | AdaSSP (Wang, 2018) | the norm of the longest row, the largest response | (epsilon, delta) | coefficients |
# | TukeyEM (Amin et al., 2022) | a number of groups | (epsilon, delta) | coefficients, or nothing |
#
# diffprivlib is IBM's library; the other two are run as their authors print them, and are held against
# the papers by tests. Bounds, norms and the best number of groups are read off the private rows here, as
# nobody could in real work: that favours the others.
#
# ## Figures
#
# Root mean square distance to the fit without privacy, in its standard errors, medians over
# ten draws of the noise; 1 means that privacy costs as much as sampling does. delta = 1e-6 where
# there is one. (`python -m tests.benchmarks.peers --real FOLDER --repeats 10`, with `pip install
# diffprivlib "scikit-learn<1.6"`.)
#
# | rows | epsilon | `dp_lm`, 300 public rows | `dp_lm`, none | diffprivlib | AdaSSP | TukeyEM, best |
# | --- | --- | --- | --- | --- | --- | --- |
# | simulated, n = 10 000 | 1 | 0.89 | 0.98 | 110 | 8.35 | none |
# | simulated, n = 10 000 | 4 | 0.29 | 0.33 | 13 | 2.30 | 1.30 |
# | diamonds_log | 1 | 1.78 | 4.80 | 326979 | 156 | none |
# | diamonds_log | 4 | 0.72 | 0.46 | 157037 | 98 | 7.45 |
# | cps1988_log | 1 | 1.02 | 1.07 | 183 | 100 | none |
# | cps1988_log | 4 | 0.35 | 0.43 | 14 | 103 | 1.42 |
# | twoyear | 1 | 1.34 | 1.18 | 15 | 42 | none |
# | twoyear | 4 | 0.50 | 0.44 | 2.83 | 42 | none |
# | budgetfood | 1 | 1.22 | 1.14 | 6.85 | 60 | none |
# | budgetfood | 4 | 0.51 | 0.49 | 1.60 | 58 | 1.14 |
#
# | rows | epsilon | `dp_glm`, 300 public rows | `dp_glm`, none | diffprivlib |
# | --- | --- | --- | --- | --- |
# | simulated logit | 1 | 0.88 | 1.16 | 1.62 |
# | simulated logit | 4 | 0.30 | 0.38 | 0.41 |
#
# On linear models the distance grows with what a bound has to cover: diffprivlib perturbs every second
# moment by the largest that the bounds allow, AdaSSP by the longest row. On a logit whose columns are of
# one size, objective perturbation is a good method, and near `dp_glm` at a large epsilon; it has no
# intervals, and a column in other units changes the norm.
#
# ## Run it yourself
#
# Fair's survey, epsilon = 1. The peer is run where it is installed.

# %%
import warnings

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

from dpstats import dp_lm
from dpstats.datasets import fair

public, private = fair()
formula = "rate_marriage ~ age + yrs_married + religious + educ"
plain = smf.ols(formula, private).fit(cov_type="HC1")
table = pd.DataFrame(
    {"without privacy": plain.params.to_numpy()}, index=plain.params.index
)

fit = dp_lm(formula, private, public=public, epsilon=1, delta=1e-6, seed=1)
table["dp_lm"] = fit.coef().to_numpy()
alone = dp_lm(formula, private, epsilon=1, delta=1e-6, seed=1)
table["dp_lm, no public rows"] = alone.coef().to_numpy()

# %%
try:
    from diffprivlib.models import LinearRegression
except ImportError:  # not installed, or with a newer scikit-learn than it knows
    LinearRegression = None

if LinearRegression is not None:
    columns = ["age", "yrs_married", "religious", "educ"]
    x, y = private[columns].to_numpy(float), private.rate_marriage.to_numpy(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = LinearRegression(
            epsilon=1.0, bounds_X=(x.min(0), x.max(0)), bounds_y=(1, 5), random_state=1
        ).fit(x, y)
    table["diffprivlib"] = np.append(peer.intercept_, peer.coef_)
table.round(3)

# %%
off = table.sub(table["without privacy"], axis=0).div(plain.bse.to_numpy(), axis=0)
distance = (
    (off**2)
    .mean()
    .pow(0.5)
    .drop("without privacy")
    .rename("standard errors away")
    .to_frame()
)
distance.round(2)
