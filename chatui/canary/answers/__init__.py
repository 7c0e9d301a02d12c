"""Scripted answers of the canary's own model server, with markers in each place that nobody may read."""
