"""The tables about files."""
