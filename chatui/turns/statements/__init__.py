"""Compiled SQL statements that every turn uses."""
