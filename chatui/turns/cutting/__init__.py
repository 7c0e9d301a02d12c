"""Stopping a sample early, so that another one can follow in the same turn."""
