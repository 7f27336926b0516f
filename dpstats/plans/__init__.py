"""Plans: what a budget would buy, from public data, before a private row is read."""
