"""Permissions: who may read, write and see what, and the records of unauthorized attempts."""
