"""Means and covariances: `dp_mean`, `dp_mvnorm`."""
