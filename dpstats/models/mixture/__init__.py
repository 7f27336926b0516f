"""Gaussian mixtures: `dp_mixture`."""
