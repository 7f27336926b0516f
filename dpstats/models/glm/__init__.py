"""Generalised linear models: `dp_glm`."""
