"""Backups of a SQLite database: made while it is written to, checked, encrypted, and restored without what was erased since."""
