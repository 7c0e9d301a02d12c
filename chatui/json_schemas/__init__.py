"""Checks and simplifies untrusted JSON Schemas, of tools and of output formats."""
