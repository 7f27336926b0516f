"""Linear models: `dp_lm`."""
