"""Closing accounts concurrently."""
