"""Stores the web pages that models opened."""
