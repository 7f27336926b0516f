"""What a fit says on the scale of the response: predictions, slopes, comparisons and their averages."""
