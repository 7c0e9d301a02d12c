"""Prepares a test deployment before its first page: a database with tables, static files, and accounts."""
