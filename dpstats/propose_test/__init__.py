"""Releases behind a private test (propose-test-release): pair, curve and plan, for every model."""
