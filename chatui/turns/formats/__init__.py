"""Answers that have to have a format."""
