"""R-style statistical models under differential privacy, made useful by a little public data."""

from dpstats.frame import PublicMoments, public_moments
from dpstats.glm import dp_glm
from dpstats.lm import dp_lm
from dpstats.model import anova

__all__ = ["PublicMoments", "anova", "dp_glm", "dp_lm", "public_moments"]
__version__ = "0.1.0"
