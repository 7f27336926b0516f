"""Pages, tables and plots of results. Nothing here knows how numbers were computed."""
