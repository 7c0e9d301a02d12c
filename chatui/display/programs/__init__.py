"""Stored answers for the API. Every text in them has passed the gate."""
