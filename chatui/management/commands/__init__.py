"""The management commands, one module each."""
