"""Retention of hidden text."""
