"""Linear models with effects of persons and instruments: `dp_feols`."""
