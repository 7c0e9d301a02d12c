"""The tables of the audit log: its lines, counts of repeated events, and warnings to staff."""
