"""Reading the audit log: the proof that it is whole, lines by filter, counts, files. ``chatui/audit_log/record.py`` writes it."""
