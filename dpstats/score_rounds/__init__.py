"""What every model that is fitted by score steps shares: rounds, cuts, estimates, results, notes."""
