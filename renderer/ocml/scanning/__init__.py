"""Finds control tokens and positions in streamed text."""
