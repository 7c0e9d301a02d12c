"""Backups of a SQLite database: made while it is in use, checked, encrypted, and restored without what was erased since."""
