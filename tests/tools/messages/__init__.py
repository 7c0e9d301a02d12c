"""Collects, updates and checks the translation catalogues; ``make messages``.

A *domain* is a source of sentences. ``django`` is text that the server renders: templates and Python; ``djangojs`` is text of the
scripts, from which the modules are built that pages load (``modules.py``). Another domain adds itself to
``domains.DOMAINS`` with the function that finds its sentences; its catalogues are next to the others, as ``<domain>.po``.
This needs only Babel, and no network.
"""
