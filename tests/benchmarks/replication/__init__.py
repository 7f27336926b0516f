"""The papers' figures again: their algorithms, this package's defaults and fits without privacy.

A module for each paper says which figures it has and which claims are made of them; `figure` says
what a figure is, runs its repetitions and gathers them; `draw` draws it; the command ``python -m
tests.benchmarks.replication`` does all of it and writes tidy CSV files, pictures and a table of claims.
"""
