"""Backups of a SQLite database: created while it is in use, checked, encrypted, and restored without data that was erased since."""
