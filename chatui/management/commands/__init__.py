"""One thin file for each manage.py command.

A command reads its options, calls a room and prints the result. What it does is in that room, so that a page can do the same.
"""
