"""Budgets: what may be spent on a data set altogether, and what has been. Sees no private value."""
