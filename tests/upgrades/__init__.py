"""Upgrades from every state of the tables that was ever committed."""
