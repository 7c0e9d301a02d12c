"""Asks a live model server questions and names its faults, on the command line and for a page.

``examination`` is the order of questions. Each goes through the real backend (``trial``), which notes how the answer came before anything
of it is held or hidden (``backends.sample_facts``); ``judging`` makes findings of both, and ``faults`` lists every known fault. ``runs`` is
the same for a page of staff: in the background, with one database row for each server, in which only numbers and values of closed lists
from the report are stored.
"""
