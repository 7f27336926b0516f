"""Tests of dpstats.margins."""
