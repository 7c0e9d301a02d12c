"""Fetches web pages for models. This is the only package that connects to untrusted addresses."""
