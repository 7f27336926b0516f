"""Kernel regression: `eptr_nw`."""
