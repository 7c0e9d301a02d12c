"""The table of ratings."""
