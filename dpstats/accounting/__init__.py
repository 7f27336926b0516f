"""Statements of privacy: their units, whom they protect, how costs add up. Sees no data."""
