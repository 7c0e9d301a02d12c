"""The tables of the audit log: its lines, what is counted after them, and warnings to staff."""
