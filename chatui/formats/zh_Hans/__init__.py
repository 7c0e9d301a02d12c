"""The formats for simplified Chinese."""
