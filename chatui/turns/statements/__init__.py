"""Statements of every turn, worded once."""
