"""Turns that programs ask for: what they want, how such a turn starts, and what is kept of it."""
