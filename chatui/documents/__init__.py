"""Reads uploaded files into text, in a sandboxed process."""
