"""Blocks of numbers in, private numbers out. The only folder that an audit of privacy has to read.

Everything random that protects a row is drawn here, and every sensitivity is proved in the
docstring of the function that relies on it. Nothing here knows of formulas, columns or pandas.
"""
