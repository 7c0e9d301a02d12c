"""Ratings of answers: how pages show them, and how a person gives one."""
