"""Prepares the admin pages about failed answers and model servers. They contain no conversation text."""
