"""Middleware: response headers, trusted proxies, and template values for every page."""
