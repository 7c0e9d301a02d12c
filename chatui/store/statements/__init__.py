"""Statements of the store, worded once."""
