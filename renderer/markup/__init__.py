"""Renders Markdown as safe HTML, also while it is still being written."""
