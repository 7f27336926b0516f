"""Where the columns of private rows lie, and how far they spread, where no public row tells it."""
