"""A turn from its question to its end: ask, start, open, run, sample, record, publish, end."""
