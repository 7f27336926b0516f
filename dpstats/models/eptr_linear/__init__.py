"""Least squares behind a test or with noise of its own: `eptr_lm`."""
