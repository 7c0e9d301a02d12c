"""Stored answers as programs read them again. Every text in them has passed the gate."""
