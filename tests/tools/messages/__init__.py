"""The catalogues of translations: found in the code, brought up to date, and checked; ``make messages``.

A *domain* is where sentences come from. ``django`` is what the server renders: templates and Python; ``djangojs`` is what the
scripts say, of which the modules are made that pages load (``modules.py``). Another domain adds itself to
``domains.DOMAINS`` with the function that finds its sentences; its catalogues stand beside the others, as ``<domain>.po``.
Nothing but Babel is needed, and no network.
"""
