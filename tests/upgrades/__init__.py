"""Upgrades from every database schema that was ever committed."""
