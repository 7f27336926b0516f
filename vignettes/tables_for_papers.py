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
# # Tables for papers
#
# `etable` puts fits side by side; this page makes such a table fit for print, and takes it to LaTeX, to a
# word processor and to a spreadsheet. What is said of `etable` holds for every page: `fit.summary()`,
# `plan`, `budget.table()`.

# %%
from dpstats import dp_lm, etable
from dpstats.datasets import fair

public, private = fair()
fit = dp_lm(
    "rate_marriage ~ age + yrs_married + children + religious + educ",
    private,
    public=public,
    mu=1,
    seed=1,
)
fits = [fit, fit.update("~ . - age - yrs_married")]
table = etable(
    fits,
    names=["Full", "Small"],
    labels={
        "rate_marriage": "Rating of the marriage",
        "educ": "Years of education",
        "religious": "Religiousness",
        "children": "Children",
    },
    drop=["age", "yrs_married"],
    order=["religious", "educ"],
    notes="Fair's survey, 1974.",
)
table

# %% [markdown]
# - `labels=` names terms and responses, or parts of terms: `{"educ": "Education"}` also names `educ:age`.
# - `keep=` and `drop=` are regular expressions, searched in the terms as the fits name them. Terms that
#   are not shown stay in the fits, so say in a note what was controlled for.
# - `order=` puts terms first, in the order of its expressions.
# - `interval=True` has intervals below the estimates, `digits=` and `stars=` change both.
#
# The lines of privacy belong to the table: what each column cost, and who is protected. Columns of one
# release share its cost, which a note says.
#
# ## LaTeX
#
# The document loads `booktabs`, and nothing else. Tables that are too wide for a page of LaTeX's `article`
# are set smaller, and long texts folded, until they fit.

# %%
print(table.to_latex(caption="Ratings of marriages", label="tab:ratings"))

# %% [markdown]
# ## Word processors
#
# `to_html()` keeps rules and alignment in the cells, so that they survive. Save it, open it in the word
# processor and copy; or copy the table from a notebook.
#
# ```python
# Path("table.html").write_text(table.to_html(), encoding="utf-8")
# ```
#
# ## Markdown, and all digits

# %%
print(table.to_markdown())

# %%
print(table.to_csv())

# %% [markdown]
# What to write below such a table, and in the methods section: `vignettes/privacy_paragraph.py`.
