"""The formats for Korean."""
