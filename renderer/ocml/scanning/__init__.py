"""Finds control tokens and places in text that comes in pieces."""
