"""Budgets: the total that may be spent on a data set, and what was spent. Sees no private value."""
