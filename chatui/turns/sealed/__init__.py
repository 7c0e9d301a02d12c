"""Sealed tokens: hidden text that a program carries for us but cannot read, encrypted for its key's owner with the server's key."""
