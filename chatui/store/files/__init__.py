"""Stored files: those that tools made for people, and those that people uploaded."""
