"""Reading the audit log: the proof that it is whole, lines by filter, counts, files. ``chatui/audit.py`` writes it."""
