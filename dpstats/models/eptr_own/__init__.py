"""An estimator of the user's own: `eptr`, `check_safety`."""
