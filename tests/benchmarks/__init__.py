"""Accuracy and speed comparisons, run by hand."""
