"""Checks and simplifies untrusted JSON Schemas of tools and output formats, and validates values against them."""
