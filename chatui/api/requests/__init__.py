"""Parses API requests: checks them and converts them into the input of a turn."""
