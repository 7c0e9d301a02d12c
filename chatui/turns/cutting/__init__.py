"""Ending a sampling early, so that another one follows it in the same turn."""
