"""Limits of usage where many ask at once."""
