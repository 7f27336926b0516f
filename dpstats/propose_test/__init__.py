"""Releases behind a private test (propose-test-release): pair, curve, plan and page, for every model."""
