"""The list of conversations in a browser."""
