"""Formulas: parsed, learnt on public rows, bound to columns, and evaluated row by row."""
