"""R-style statistical models under differential privacy, made useful by a little public data."""

from dpstats import audit, datasets
from dpstats.bayes import eptr_bayes
from dpstats.budget import Budget
from dpstats.eptr import eptr
from dpstats.eptr_linear import eptr_lm
from dpstats.errors import BudgetExceeded
from dpstats.etable import etable
from dpstats.frame import PublicMoments, public_moments
from dpstats.gaussian import dp_mean, dp_mvnorm
from dpstats.glm import dp_glm
from dpstats.kernel import eptr_nw
from dpstats.lm import dp_lm
from dpstats.mixture import dp_mixture
from dpstats.model import anova
from dpstats.plan import plan_glm, plan_lm
from dpstats.report.options import options
from dpstats.safety_check import check_safety

__all__ = [
    "Budget",
    "BudgetExceeded",
    "PublicMoments",
    "anova",
    "audit",
    "check_safety",
    "datasets",
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
    "plan_glm",
    "plan_lm",
    "public_moments",
]
__version__ = "0.1.0"
