"""Markdown to safe HTML, whole or while it is being written."""
