"""The sandboxed program that reads one file. It runs in its own process, and contains all code that unpacks untrusted files. It imports
nothing that depends on the rest of the product, and nothing at all after the process has confined itself.
"""
