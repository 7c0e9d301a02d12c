"""The management commands for backups."""
