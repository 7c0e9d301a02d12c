"""Checks whether a line of a reasoning summary may be shown."""
