"""Ratings of answers: what pages show of them, and how a person gives one."""
