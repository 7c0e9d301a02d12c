"""Compiled SQL statements of the store."""
