"""Stops a sample early, so that another one can follow it in the same turn."""
