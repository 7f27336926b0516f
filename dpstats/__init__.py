"""R-style statistical models under differential privacy, with errors that cover the noise."""

import sys
from typing import NoReturn

from dpstats import audit, datasets
from dpstats.budget.budget import Budget
from dpstats.compare.etable import etable
from dpstats.errors import BudgetExceeded
from dpstats.frame import PublicMoments, public_moments
from dpstats.models.eptr_bayes.eptr_bayes import eptr_bayes
from dpstats.models.eptr_linear.eptr_lm import eptr_lm
from dpstats.models.eptr_nw.eptr_nw import eptr_nw
from dpstats.models.eptr_own.eptr import eptr
from dpstats.models.eptr_own.safety_check import check_safety
from dpstats.models.feols.dp_feols import dp_feols
from dpstats.models.gaussian.dp_mvnorm import dp_mean, dp_mvnorm
from dpstats.models.glm.dp_glm import dp_glm
from dpstats.models.linear.dp_lm import dp_lm
from dpstats.models.mixture.dp_mixture import dp_mixture
from dpstats.plans.panel import plan_feols
from dpstats.plans.plan import plan_glm, plan_lm
from dpstats.report.options import options
from dpstats.report.table import no_attribute
from dpstats.score_rounds.anova import anova

__all__ = [
    "Budget",
    "BudgetExceeded",
    "PublicMoments",
    "anova",
    "audit",
    "check_safety",
    "datasets",
    "dp_feols",
    "dp_glm",
    "dp_lm",
    "dp_mean",
    "dp_mixture",
    "dp_mvnorm",
    "eptr",
    "eptr_bayes",
    "eptr_lm",
    "eptr_nw",
    "etable",
    "options",
    "plan_feols",
    "plan_glm",
    "plan_lm",
    "public_moments",
]
__version__ = "0.1.0"
_FAMILIES = {
    **dict.fromkeys(("logit", "logistic"), "binomial"),
    **{name: f"binomial({name})" for name in ("probit", "cloglog")},
    "poisson": "poisson",
    "gamma": "gamma",
}
_OTHER_NAMES = {
    **{name.removeprefix("dp_"): name for name in __all__ if name.startswith("dp_")},
    **dict.fromkeys(("ols", "OLS", "dp_ols", "dp_linear"), "dp_lm"),
    **{
        name: f"a method of what was fitted: fit.{name}()"
        for name in ("summary", "coef", "confint", "vcov", "predict", "update", "tidy", "glance")
    },
    **{name: f"a method of regressions: fit.{name}(...)" for name in ("emmeans", "slopes", "plot")},
    **{
        f"avg_{name}": f"a method of regressions: fit.{name}(newdata)"
        for name in ("slopes", "comparisons", "predictions")
    },
    **dict.fromkeys(("modelsummary", "summary_col", "stargazer"), "etable(fit1, fit2)"),
    **{
        written: f"dp_glm(formula, data, family={family!r}, mu=1)"
        for name, family in _FAMILIES.items()
        for written in (name, f"dp_{name}")
    },
    **dict.fromkeys(
        ("fepois", "dp_fepois", "feglm", "dp_feglm"),
        "dp_glm(formula, data, family='poisson', mu=1), with C(group) for effects of few groups",
    ),
}
"""What functions are called elsewhere, and what is typed here."""


def __getattr__(name: str) -> NoReturn:
    raise no_attribute(sys.modules[__name__], name, _OTHER_NAMES)
