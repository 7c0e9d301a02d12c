"""Decides whether a line of a reasoning summary may be shown: it must not repeat, name or reveal anything hidden."""
