"""Upgrades from databases of earlier commits."""
