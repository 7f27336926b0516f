# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # dpstats
#
# **R-style statistical models under differential privacy.** A formula, a table, and what the call
# may spend: regressions, means, mixtures and curves with standard errors that cover the noise, and a
# guarantee that holds for every data set.
#
# ```sh
# pip install dpstats
# ```
#
# ::::{grid} 1 2 2 4
# :gutter: 2
#
# :::{grid-item-card} New here?
# :link: getting_started
# :link-type: doc
# The first hour, for those who know R.
# :::
#
# :::{grid-item-card} A table and nothing else
# :link: no_public_data
# :link-type: doc
# No bounds, no public sample.
# :::
#
# :::{grid-item-card} You sign for the data?
# :link: guarantee
# :link-type: doc
# What is guaranteed, and how it is tested.
# :::
#
# :::{grid-item-card} Reference
# :link: reference/index
# :link-type: doc
# Every function and class.
# :::
# ::::
#
# ## One fit
#
# Fair's survey of 6048 married women, with 318 others as a public sample:

# %%
from dpstats import dp_lm, etable
from dpstats.datasets import fair

public, private = fair()
formula = "rate_marriage ~ age + yrs_married + children + religious + educ"
fit = dp_lm(formula, private, public=public, mu=1, seed=1)
etable(fit, names=["dp_lm"], public=True)

# %% [markdown]
# The second column is what the public sample could say by itself. (`seed=` is for this page; a release
# has none.) In the picture thick bars are the intervals of sampling alone, and thin lines are those with
# the noise for privacy.

# %%
# alt: Five slopes with their intervals. The intervals that count the noise for privacy are hardly
# longer than those of sampling alone; those of children, religious and educ do not contain zero.
ax = fit.plot()

# %% [markdown]
# ## Which function?
#
# | you have | you want | you call |
# |---|---|---|
# | a number that depends on columns | a linear model | `dp_lm` ([page](getting_started.py)) |
# | yes or no, counts, positive skewed numbers | odds ratios, rate ratios | `dp_glm` ([page](glm.py)) |
# | people with several rows | fixed effects, event studies, instruments | `dp_feols` ([page](panels.py)) |
# | several columns | means, a covariance matrix | `dp_mean`, `dp_mvnorm` ([page](mixtures.py)) |
# | groups that nobody has named | clusters, synthetic rows | `dp_mixture` ([page](mixtures.py)) |
# | classes | a classifier | `eptr_bayes` ([page](eptr.py)) |
# | one column that bends | a smooth curve | `eptr_nw` ([page](eptr.py)) |
# | an estimator of your own | noise for the data at hand | `eptr` ([page](eptr.py)) |
# | public rows, and no budget spent yet | standard errors to expect | `plan_lm`, `plan_glm`, `plan_feols` ([page](choose_mu.py)) |
# | several calls on the same rows | one total that is not exceeded | `Budget` ([page](guarantee.py#several-calls-a-budget)) |
# | several fits | a table for a paper | `etable` ([page](tables_for_papers.py)) |
# | a claim of privacy | an attempt to refute it | `audit` ([page](guarantee.py#an-audit)) |
#
# ## Where do I find ...?
#
# | question | page |
# |---|---|
# | How do I fit from a folder of Parquet files, or a CSV file? | [Large data](large_data.py) |
# | How do I write this line of R? | [R phrasebook](r_phrasebook.py) |
# | What does mu = 1 mean? | [Getting started](getting_started.py#what-mu-1-means); [The guarantee](guarantee.py) |
# | Which mu should I choose? | [How to choose mu](choose_mu.py) |
# | What does `limits=` do? | [Limits](no_public_data.py#limits) |
# | What can serve as public data, and where is it? | [Public data](public_data.py); [How to find public data](find_public_data.md) |
# | What does this note or error say? | [Notes and errors](notes_and_errors.md) |
# | What is `condition after`, and what if it is 8? | [When condition after is large](condition_after.py) |
# | How do I write it up? | [The privacy paragraph](privacy_paragraph.py); [Tables for papers](tables_for_papers.py); [Citing](cite.md) |
# | What do these words mean? | [Glossary](glossary.md) |
#
# ```{toctree}
# :hidden:
#
# tutorials
# how_to
# explanation
# reference/index
# ```
