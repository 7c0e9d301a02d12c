"""Extracts text from uploaded files: detects the type, and returns the text page by page, or the reason why there is none."""
