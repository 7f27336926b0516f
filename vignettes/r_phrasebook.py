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
# # R phrasebook
#
# What you type in R, what you type here, and what differs. Every line of the middle column is run by
# this page, from top to bottom, on the tables `d` (private) and `pub` (public, of the same columns).
#
# `mu=1` is the privacy that a call may spend; `public=pub` may be left out, but
# not of mixtures. A dot in the last column means: as in R, but for the noise. With next to no noise the
# formulas below give R's numbers, which the tests hold against 189 fits of R.
#
# Names of columns follow R's one by one: `(Intercept)` is `Intercept`, `regionwest` is
# `region[T.west]`, `femaleTRUE` is `female[T.True]`, `poly(exper, 2)1` is `poly(exper, 2)[1]`,
# `size.L` is `size[.L]`, `I(exper^2)` is `I(exper ** 2)`, and `a:b` is `a:b`. Only columns of
# `contr.sum` and `contr.helmert`, which R counts, carry the level: `[S.north]`.
#
# Run it with `python vignettes/r_phrasebook.py` (ten seconds).

# %%
import tempfile
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

pd.set_option("display.width", 250, "display.max_colwidth", 120)

# %% [markdown]
# ## The tables
#
# Wages of 6000 people, of whom 300 may be shown to anybody.

# %%
rng = np.random.default_rng(1)
n = 6300
educ = rng.integers(9, 19, n)
exper = rng.integers(0, 40, n)
female = rng.random(n) < 0.5
region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
log_wage = 1 + 0.09 * educ + 0.03 * exper - 0.0005 * exper**2 - 0.2 * female
log_wage += 0.1 * (region == "west") + rng.normal(0, 0.4, n)
people = pd.DataFrame(
    {
        "wage": np.exp(log_wage),
        "educ": educ,
        "exper": exper,
        "hours": rng.normal(38, 6, n).round(1),
        "female": female,
        "region": region,
        "size": pd.Categorical(
            rng.choice(["small", "mid", "large"], n),
            ["small", "mid", "large"],
            ordered=True,
        ),
        "union": rng.random(n) < 1 / (1 + np.exp(2 - 0.05 * exper)),
        "visits": rng.poisson(np.exp(0.2 + 0.02 * exper)),
        "firm": rng.integers(0, 600, n),
        "year": rng.integers(2018, 2022, n),
        "dist": rng.normal(size=n),
    }
)
pub, d = people[:300], people[300:].reset_index(drop=True)
folder = Path(tempfile.mkdtemp())
d.to_csv(folder / "rows.csv", index=False)
d.to_parquet(folder / "rows.parquet", index=False)
pub.to_csv(folder / "pub.csv", index=False)

# %%
names: dict[str, Any] = {"d": d, "pub": pub, "folder": folder, "np": np}
count = 0


def lines(*rows: tuple[str, str | None, str]) -> pd.DataFrame:
    """The lines as a table, after they were run."""
    global count
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, python, _ in rows:
            if python is not None:
                exec(python, names)
                plt.close("all")  # the lines are shown, not their pictures
                count += 1
    shown = [
        (r, python or "(none)", "." if same == "." else same)
        for r, python, same in rows
    ]
    return pd.DataFrame(shown, columns=["R", "dpstats", "what differs"])


# %% [markdown]
# ## Data

# %% tags=["hide-input"]
lines(
    (
        "library(...)",
        "from dpstats import *",
        "or `import dpstats as dp`",
    ),
    (
        'd <- read.csv("rows.csv")',
        'fit = dp_lm("wage ~ educ", folder / "rows.csv", public=folder / "pub.csv", mu=1)',
        "a path in the place of a table; read in blocks, never whole",
    ),
    (
        'd <- arrow::read_parquet("rows.parquet")',
        'fit = dp_lm("wage ~ educ", folder / "rows.parquet", public=pub, mu=1)',
        "or a folder of files",
    ),
)

# %% [markdown]
# ## Linear models

# %% tags=["hide-input"]
lines(
    (
        "fit <- lm(log(wage) ~ educ + exper, data = d)",
        'fit = dp_lm("log(wage) ~ educ + exper", d, public=pub, mu=1)',
        "the formula is text; mu is the privacy spent",
    ),
    (
        "lm(log(wage) ~ educ, d)",
        'alone = dp_lm("log(wage) ~ educ", d, mu=1)',
        "without public rows",
    ),
    (
        "lm(wage ~ educ, d, weights = hours)",
        'dp_lm("wage ~ educ", d, public=pub, mu=1, weights="hours")',
        "the name of a column, as text",
    ),
    (
        "lm(wage ~ educ + offset(dist), d)",
        'dp_lm("wage ~ educ + offset(dist)", d, public=pub, mu=1)',
        "R-squared is that of the response less the offset",
    ),
    (
        "lm(wage ~ . - firm - year, d)",
        'dp_lm("wage ~ . - firm - year", d, public=pub, mu=1)',
        ".",
    ),
    (
        "summary(fit)",
        "fit.summary()",
        "robust (HC1) errors by default; privacy, bounds and diagnostics below",
    ),
    (
        "summary(lm(...))  # errors of constant variance",
        'dp_lm("log(wage) ~ educ", d, public=pub, mu=1, vcov="iid")',
        'R\'s own errors: vcov="iid"',
    ),
    (
        'coeftest(fit, vcov = vcovHC(fit, "HC1"))',
        "fit.summary()",
        "the default here",
    ),
)

# %% [markdown]
# ## Formulas

# %% tags=["hide-input"]
lines(
    (
        "wage ~ educ * female",
        'dp_lm("wage ~ educ * female", d, public=pub, mu=1)',
        ".",
    ),
    (
        "wage ~ (educ + exper + female)^2",
        'dp_lm("wage ~ (educ + exper + female)^2", d, public=pub, mu=1)',
        ".",
    ),
    (
        "wage ~ exper + I(exper^2)",
        'dp_lm("wage ~ exper + I(exper^2)", d, public=pub, mu=1)',
        "named `I(exper ** 2)`",
    ),
    (
        "wage ~ poly(exper, 2)",
        'dp_lm("wage ~ poly(exper, 2)", d, public=pub, mu=1)',
        "orthogonal on the public rows",
    ),
    (
        "wage ~ poly(exper, 2, raw = TRUE)",
        'dp_lm("wage ~ poly(exper, 2, raw = TRUE)", d, public=pub, mu=1)',
        ".",
    ),
    (
        "wage ~ factor(year)",
        'dp_lm("wage ~ factor(year)", d, public=pub, mu=1)',
        "levels are those of the public rows, or `limits=`",
    ),
    (
        "wage ~ relevel(factor(region), ref = 'west')",
        "dp_lm(\"wage ~ relevel(factor(region), ref = 'west')\", d, public=pub, mu=1)",
        ".",
    ),
    (
        "wage ~ size  # ordered",
        'dp_lm("wage ~ size", d, public=pub, mu=1)',
        "contr.poly, as in R: `size[.L]`, `size[.Q]`",
    ),
    (
        "wage ~ C(region, contr.sum)",
        'dp_lm("wage ~ C(region, contr.sum)", d, public=pub, mu=1)',
        "columns carry the level's name, R counts them",
    ),
    (
        "wage ~ cut(exper, c(-1, 10, 20, Inf))",
        'dp_lm("wage ~ cut(exper, c(-1, 10, 20, Inf))", d, public=pub, mu=1)',
        "breaks are numbers: no quantiles of private rows",
    ),
    (
        "wage ~ ifelse(exper > 20, 1, 0)",
        'dp_lm("wage ~ ifelse(exper > 20, 1, 0)", d, public=pub, mu=1)',
        ".",
    ),
    (
        "wage ~ pmin(exper, 20)",
        'dp_lm("wage ~ pmin(exper, 20)", d, public=pub, mu=1)',
        ".",
    ),
    (
        "wage ~ I(region %in% c('south', 'west'))",
        "dp_lm(\"wage ~ I(region %in% c('south', 'west'))\", d, public=pub, mu=1)",
        ".",
    ),
    (
        "wage ~ I(educ >= 16 & !female)",
        'dp_lm("wage ~ I(educ >= 16 & !female)", d, public=pub, mu=1)',
        "named with `and`, `not`",
    ),
    (
        "wage ~ splines::ns(exper, df = 3)",
        'dp_lm("wage ~ ns(exper, df = 3)", d, public=pub, mu=1)',
        "knots from the public rows",
    ),
    (
        "wage ~ splines::bs(exper, df = 5)",
        'dp_lm("wage ~ bs(exper, df = 5)", d, public=pub, mu=1)',
        "knots from the public rows",
    ),
    (
        "wage ~ mgcv::s(exper)",
        'dp_lm("wage ~ ns(exper, df = 5)", d, public=pub, mu=1)',
        "no penalised splines: choose df",
    ),
    (
        "wage ~ interaction(region, female)",
        'dp_lm("wage ~ interaction(region, female)", d, public=pub, mu=1)',
        ".",
    ),
    (
        "wage ~ scale(exper)",
        'dp_lm("wage ~ scale(exper)", d, public=pub, mu=1)',
        "mean and sd of the public rows",
    ),
    (
        "wage ~ educ - 1",
        'dp_lm("wage ~ educ - 1", d, public=pub, mu=1)',
        ".",
    ),
    (
        "log(wage, 2) ~ log1p(exper)",
        'dp_lm("log(wage, 2) ~ log1p(exper)", d, public=pub, mu=1)',
        ".",
    ),
)

# %% [markdown]
# ## Generalised linear models

# %% tags=["hide-input"]
lines(
    (
        "logit <- glm(union ~ exper, binomial, d)",
        'logit = dp_glm("union ~ exper", d, public=pub, mu=1, family="binomial")',
        ".",
    ),
    (
        "glm(visits ~ exper, poisson, d)",
        'dp_glm("visits ~ exper", d, public=pub, mu=1, family="poisson")',
        ".",
    ),
    (
        "glm(visits ~ exper, quasipoisson, d)",
        'dp_glm("visits ~ exper", d, public=pub, mu=1, family="quasipoisson")',
        ".",
    ),
    (
        'glm(wage ~ educ, Gamma("log"), d)',
        'dp_glm("wage ~ educ", d, public=pub, mu=1, family="gamma")',
        "log link by default",
    ),
    (
        "glm(cbind(k, m - k) ~ exper, binomial, d)",
        None,
        'dp_glm("I(k / m) ~ exper", d, weights="m", ...): the share, with the trials as weights',
    ),
    (
        "glm(visits ~ exper + offset(log(hours)), poisson, d)",
        'dp_glm("visits ~ exper + offset(log(hours))", d, public=pub, mu=1, family="poisson")',
        "rather than rates with the exposure as weights",
    ),
    (
        "exp(coef(logit))",
        "np.exp(logit.coef())",
        ".",
    ),
)

# %% [markdown]
# ## After the fit, free of privacy cost

# %% tags=["hide-input"]
lines(
    (
        "coef(fit)",
        "fit.coef()",
        "a pandas Series",
    ),
    (
        "vcov(fit)",
        "fit.vcov()",
        '`vcov("sampling")` and `vcov("privacy")` are its parts',
    ),
    (
        "confint(fit)",
        "fit.confint()",
        "holds the noise for privacy",
    ),
    (
        'confint(fit, "educ", level = 0.9)',
        'fit.confint("educ", level=0.9)',
        ".",
    ),
    (
        "nobs(fit)",
        "fit.nobs",
        "public",
    ),
    (
        "formula(fit)",
        "fit.formula",
        "text",
    ),
    (
        "broom::tidy(fit)",
        "fit.tidy()",
        ".",
    ),
    (
        "broom::glance(fit)",
        "fit.glance()",
        "with what was spent",
    ),
    (
        "anova(fit)",
        "anova(fit)",
        "Wald tests, in the order of the formula",
    ),
    (
        "car::Anova(fit, type = 2)",
        "anova(fit, type=2)",
        ".",
    ),
    (
        "anova(small, fit)",
        'anova(fit.update("~ . - exper"), fit)',
        "the sub-model comes from the released moments",
    ),
    (
        "anova(lm(wage ~ educ, d), lm(wage ~ ns(educ, 3), d))",
        'anova(dp_lm("wage ~ educ", d, public=pub, mu=1), dp_lm("wage ~ ns(educ, 3)", d, '
        "public=pub, mu=1))",
        "Wald, in the larger fit: is it a line?",
    ),
    (
        "car::vif(fit)",
        "fit.vif()",
        ".",
    ),
    (
        "update(fit, ~ . - exper)",
        'fit.update("~ . - exper")',
        "no new look at the rows",
    ),
    (
        'car::linearHypothesis(fit, "educ = exper")',
        'fit.wald_test("educ = exper")',
        ".",
    ),
    (
        'multcomp::glht(fit, "educ - exper = 0")',
        'fit.hypotheses("educ - exper = 0")',
        "with its error and interval; a list of them is a table",
    ),
    (
        "predict(fit, new)",
        "fit.predict(pub[:5])",
        "new rows are rows that you may show",
    ),
    (
        'predict(fit, new, interval = "prediction")',
        'fit.predict(pub[:5], interval="prediction")',
        ".",
    ),
    (
        "predict(fit, list(educ = 12, exper = 5), se.fit = TRUE)",
        'fit.predict({"educ": 12, "exper": 5}, se_fit=True)',
        ".",
    ),
    (
        'predict(logit, new, type = "response")',
        'logit.predict(pub[:5], type="response")',
        ".",
    ),
    (
        "marginaleffects::avg_predictions(logit, newdata = pub)",
        "logit.predictions(pub, by=True)",
        ".",
    ),
    (
        "marginaleffects::avg_slopes(logit, newdata = pub)",
        "logit.slopes(pub)",
        ".",
    ),
    (
        "marginaleffects::avg_slopes(logit)",
        "logit.slopes(data=d, mu=0.3)",
        "over the private rows: a release, with its own mu",
    ),
    (
        "marginaleffects::avg_comparisons(logit, newdata = pub)",
        "logit.comparisons(pub)",
        ".",
    ),
    (
        "avg_comparisons(logit, variables = list(exper = 10), newdata = pub)",
        'logit.comparisons(pub, {"exper": 10})',
        'also `{"exper": (0, 20)}`, and of levels `{"region": "pairwise"}`',
    ),
    (
        'avg_comparisons(logit, comparison = "ratioavg", newdata = pub)',
        'logit.comparisons(pub, comparison="ratio")',
        "risk ratios by standardisation",
    ),
    (
        "table(pub$y, predict(logit, pub) > 0)",
        "logit.confusion(pub)",
        "rows that you may show, with their response",
    ),
    (
        'emmeans::emmeans(fit, "region")',
        'dp_lm("wage ~ educ + region", d, public=pub, mu=1).emmeans("region")',
        '`by="g"` for `region | g`; `.contrasts()` for pairs, `method="trt.vs.ctrl"` and others',
    ),
    (
        "emmeans::emmip(fit, region ~ educ, at = list(educ = c(8, 16)), CIs = TRUE)",
        'dp_lm("wage ~ educ * region", d, public=pub, mu=1)'
        '.emmeans("educ", by="region", at={"educ": [8, 16]}).plot()',
        "`plot()` of contrasts, predictions, slopes and comparisons too",
    ),
    (
        "simulate(fit, 1)",
        "fit.simulate(100, pub, seed=1)",
        "covariates are drawn from rows that you give",
    ),
    (
        "glmnet::glmnet(x, y)",
        'fit.path("lasso")',
        "from the released moments",
    ),
    (
        "residuals(fit)",
        None,
        "residuals are rows: they are not released",
    ),
)

# %% [markdown]
# ## Panels, fixed effects, instruments

# %% tags=["hide-input"]
lines(
    (
        "fixest::feols(log(wage) ~ exper | firm, d)",
        'dp_feols("log(wage) ~ exper | firm", d, public=pub, mu=1, person="firm")',
        "person= is whom privacy and errors protect",
    ),
    (
        "fixest::feols(log(wage) ~ exper + i(year), d)",
        'dp_feols("log(wage) ~ exper + i(year)", d, public=pub, mu=1)',
        ".",
    ),
    (
        "AER::ivreg(log(wage) ~ exper + educ | exper + hours + dist, data = d)",
        'dp_feols("log(wage) ~ exper | educ ~ hours + dist", d, public=pub, mu=2)',
        "endogenous ~ instruments, as in fixest",
    ),
    (
        "lm(...); vcovCL(fit, ~ firm)",
        'dp_lm("log(wage) ~ educ", d, public=pub, mu=1, person="firm")',
        "clustered by person, and all rows of a person protected",
    ),
    (
        "lme4::lmer(wage ~ educ + (1 | firm), d)",
        None,
        "no random effects: dp_feols has fixed ones",
    ),
)

# %% [markdown]
# ## Means, tables, planning

# %% tags=["hide-input"]
lines(
    (
        "colMeans(d[c('educ', 'exper')])",
        'dp_mean(["educ", "exper"], d, public=pub, mu=0.5)',
        "with intervals",
    ),
    (
        "cov(d[c('educ', 'exper')])",
        'dp_mvnorm(["educ", "exper"], d, public=pub, mu=0.5)',
        "means and covariance",
    ),
    (
        "modelsummary::modelsummary(list(alone, fit))",
        "etable([alone, fit])",
        "`.to_latex()`, `.to_html()`, `.to_markdown()`; means and averages may be columns, too",
    ),
    (
        "modelsummary::modelsummary(logit, exponentiate = TRUE)",
        "etable(logit, exponentiate=True)",
        "odds ratios with their intervals; `logit.odds_ratios()` as numbers",
    ),
    (
        "xtable::xtable(summary(fit))",
        "fit.summary().to_latex()",
        ".",
    ),
    (
        "plot(fit)",
        "fit.plot_privacy()",
        "coefficients: `fit.plot()`; there is no plot of residuals",
    ),
    (
        "pwr::pwr.f2.test(...)",
        'plan_lm("log(wage) ~ educ + exper", public=pub, n=6000, mu=1)',
        "standard errors before a budget is spent",
    ),
    (
        "(nothing in R)",
        "budget = Budget(mu=2)",
        "a budget for a study: calls take `budget=budget`",
    ),
)

# %% [markdown]
# ## Groups, imputed tables, surveys
#
# One fit for each group: to which group a row belongs must be public, since the sizes of the groups are,
# and the two tables are two calls. A budget adds up what they cost.
#
# Imputed tables: a model of imputation that has seen private rows lets one row change the others, and no
# guarantee of a fit holds for that. Impute by a model of the public rows alone, row by row; then m
# tables are m calls, and Rubin's rules take `coef()` and `vcov()`. Or leave cells missing: such rows count
# as zero, and the page says how many they are.

# %% tags=["hide-input"]
lines(
    (
        "lm(log(wage) ~ educ, d, subset = female)",
        'women = dp_lm("log(wage) ~ educ", d[d.female], public=pub[pub.female], mu=1)',
        "where `female` is public; else one fit of all rows:",
    ),
    (
        "lm(log(wage) ~ female * educ, d)",
        'dp_lm("log(wage) ~ female * educ", d, public=pub, mu=1)',
        "the same slopes, and the group stays private",
    ),
    (
        "mice::pool(with(imputed, lm(...)))",
        None,
        "see above; m calls at mu / sqrt(m) cost mu together",
    ),
    (
        "survey::svyglm(union ~ exper, svydesign(~1, weights = ~hours))",
        'dp_glm("union ~ exper", d, public=pub, weights="hours", mu=1)',
        "sandwich errors, whatever the weights sum to; no strata; clusters: `person=`",
    ),
    (
        'car::deltaMethod(fit, "educ / exper")',
        "b, v = fit.coef(), fit.vcov()",
        "by hand, from these",
    ),
)

# %%
print(f"{count} lines were run")
