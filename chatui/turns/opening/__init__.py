"""The start of a turn: its first request, documents and reservations."""
