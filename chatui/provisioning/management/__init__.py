"""The command that makes tokens for directories."""
