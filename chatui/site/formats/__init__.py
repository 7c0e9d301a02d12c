"""Holds packages only."""
