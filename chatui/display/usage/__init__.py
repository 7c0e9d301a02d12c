"""Prepares usage figures for pages."""
