"""What a statement of privacy means: its units, whom it protects, how costs add up. Sees no data."""
