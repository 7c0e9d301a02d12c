"""Asks a live model server questions and names its faults, on the command line and for a page.

``examination`` is the order of questions. Each goes through the real backend (``trial``), and ``judging`` compares its result with the raw
bytes; ``faults`` lists every known fault. Token ids are read again by openai-harmony. ``runs`` is the same for a page of staff: in the
background, with one database row for each server, in which only numbers and values of closed lists from the report are stored.
"""
