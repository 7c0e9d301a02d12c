"""Messaging between sockets, turns and processes. Read ``groups``, ``bus``, ``relay``."""
