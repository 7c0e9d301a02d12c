"""The commands that back up and restore."""
