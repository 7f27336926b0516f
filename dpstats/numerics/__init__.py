"""Pure functions on arrays: matrices, histograms, public rows."""
