"""Asks a live model server questions and names its faults, on the command line and for a page."""
