"""Copies, encrypts, restores and moves the database.

``creation`` copies a SQLite database that is in use, examines the copy and encrypts it. ``restoring`` prepares a backup beside the
database: migrated, verified, without the people on the list of erasures; only then it replaces the database. The lock that keeps it from a
running server is ``database.file_locks``.
"""
