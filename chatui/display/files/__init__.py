"""Prepares files for pages."""
