"""The formats for German."""
