"""Reasoning summaries of a running turn."""
