"""Stored answers for the API. All their text has passed the gate."""
