"""The beginning of a turn's work."""
