"""Every HTTP view and form, one file for each kind of page. Holds only what has passed the gate; imports no tables.

A view asks ``permissions`` in its first line, and ``display`` for what it shows. ``guards`` has the decorators that turn a refusal into a
response; they also tell whether the person or another site caused an attempt. A page of the chat is ``conversations``,
``permissions.access``, ``display.conversation``, the gate, and the templates of the chat. Its fragments are what a page fetches that has
missed events.

``middleware`` decides the language of each page: sentences are in English in the code and translated where they are shown; everything that
is stored, logged or recorded is in English. Views with hidden channels (``debug``, and whole downloads) carry the decorator
``guards.hidden_channels``: the permission and the opt-in are checked and the access is recorded before any text is read.
"""
