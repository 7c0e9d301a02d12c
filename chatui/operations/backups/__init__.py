"""Copies, encrypts, restores and moves the database."""
