"""The program that reads one file: it runs in a process of its own, which may die, and holds all code that unpacks what strangers packed.

Only what needs nothing of the product is imported here, and nothing after the process has confined itself.
"""
