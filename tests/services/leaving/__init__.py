"""Closing accounts where several do it at once."""
