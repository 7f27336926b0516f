"""Plans: the standard errors that a budget would buy, from public data."""
