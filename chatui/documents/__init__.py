"""Reads uploaded files into text, in a sandboxed process.

Begin with ``reading``, which starts a process for a file, and validates all that it returns. ``kinds`` detects the type of a file, and
``inside/worker.py`` is the program in that process. ``chatui.sandbox`` removes all rights of the process except reading and writing, and
``reading`` also tests that this holds (with ``inside/probes.py``). ``plain_text`` reads text files, and removes invisible characters from
every text. ``chunks`` splits a long document into passages for the search. No file but plain ASCII text is parsed in the server's own
process.

A document is a frame before its question (``store.documents``). The gate hides it, so it is in no page, link, title or search of others;
``display.files`` shows only that it exists.
"""
