"""What a user fits: a folder for each."""
