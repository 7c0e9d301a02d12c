"""What comes in and goes out as a file or link: imports, exports, uploads, shares, ratings.

Everything that leaves takes only VisibleText or SafeHtml, as pages do, except what staff with the permission export. ``upload`` reads a
transcript within limits, ``imports`` makes a conversation of it, all or nothing, and ``store.bulk_append`` stores it in short transactions
and hides it until it is complete. ``exports`` writes downloads, ``shares`` makes a link: a token, and the message at which the snapshot
ends. ``ratings`` writes exports for the page and for ``manage.py ratings``.

``files``: an upload is stored, read and counted at once, and belongs to no conversation until ``turns.start`` inserts it before a question.
Files that were sent before can be attached again.
"""
