"""Starts sessions, for every sign-in method."""
