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
# # The privacy paragraph of a paper
#
# A reader must be able to check what was promised, to whom, and for what. Seven facts do it; all are
# in the result or in the ledger. This page collects them and fills in a paragraph.
#
# | fact | where |
# |---|---|
# | the total, in the unit that was asked for | `fit.privacy.mu`, or `budget.spent.mu` for a study |
# | the same as epsilon at a delta far below 1/n | `fit.privacy.epsilon(delta)` |
# | the unit of privacy | `fit.privacy.unit` |
# | what counts as neighbouring: replaced, n public | the same line |
# | what was public | `public=`, `limits=`, names and kinds of columns |
# | what was released, and what follows from it for free | `fit.privacy.mechanisms`; `update`, `predict`, `anova` |
# | software, version, source of randomness | `dpstats.__version__`; no `seed=` |

# %%
import textwrap

import dpstats
from dpstats import Budget, dp_glm, dp_lm
from dpstats.datasets import fair

public, private = fair()
private.attrs["name"] = "Fair's survey"
with Budget(mu=1) as budget:
    rating = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=0.8)
    affair = dp_glm("I(affairs > 0) ~ age + religious", private, public=public, mu=0.6)
rating.privacy

# %%
budget

# %% [markdown]
# ## One fit

# %%
p = rating.privacy
paragraph = f"""
Coefficients were estimated under Gaussian differential privacy with
mu = {p.mu:g} (epsilon = {p.epsilon(1e-6):.2f} at delta = 1e-6; the unit of privacy is
{p.unit}), by dp_lm of dpstats {dpstats.__version__}. A public sample
of {rating.m} women was used without protection. Standard errors cover sampling and
the noise for privacy.
"""
print(textwrap.fill(paragraph.strip(), 80))

# %% [markdown]
# ## A study

# %%
spent = budget.spent
paragraph = f"""
All results of this study that use the {rating.n} private rows are computed from
{len(budget.tidy())} releases, with a total of mu = {spent.mu:.2f} (Gaussian differential
privacy; epsilon = {spent.epsilon(1e-6):.2f} at delta = 1e-6). The unit of privacy is
{p.unit}. Sub-models, tests, predictions and figures were computed from these
releases and spend no further privacy. The formulas were chosen without looking at the
private rows.
"""
print(textwrap.fill(paragraph.strip(), 80))

# %% [markdown]
# ## What must be true of it
#
# - *The total is that of everything.* Tables that another tool released from the same rows count too:
#   `budget.charge("counts by region, published in May", rho=0.08)`.
# - *No result with a seed.* A page that says "seeded: not for release" belongs to a test.
# - *Calls that failed to please count.* A fit that you did not report was released to you.
# - *Say who chose the model, and from what.* A formula that was chosen by looking at private rows is
#   outside the promise.
# - *Do not say "anonymous"*, nor that nobody can learn anything. Say what mu bounds: how well a test can
#   tell one person's row from another in its place (`vignettes/choose_mu.py` has a table).
#
# ## In an appendix
#
# Every release of a fit, with its sensitivity and noise, and the statement of the ledger:

# %%
rating.privacy.mechanisms.set_index("released").round(4)

# %%
budget.table()
