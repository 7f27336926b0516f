"""Fits side by side."""
