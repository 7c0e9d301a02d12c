"""The sandboxed program that reads one file. It has its own process, and holds all code that unpacks untrusted files.

Only what needs nothing of the product is imported here, and nothing after the process has confined itself.
"""
