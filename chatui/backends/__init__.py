"""Speaks with model servers: request out, raw events in, for every wire format. Knows no Django.

Begin with ``base``: a Backend samples raw events. ``spec`` is the configuration of one model server, ``registry`` lists the wire formats:
``chat`` (Chat Completions), ``responses``, ``harmony`` (token ids) and ``demo``. If the operator named none, ``auto`` detects before the
first request which one the server supports, with what ``discovery`` finds out. ``address_pool`` picks one of several addresses: the least
busy one, or another if it fails before its first event. ``http`` is one request with its deadlines, ``http1`` the connection, ``sse`` the
decoder, ``pace`` the clock by which all answers are read, ``sample_facts`` what is noted of one for those who examine a server.
``text_backend`` is the base of ``chat`` and ``responses``.

All formats go through ``context_fitting``, which leaves out the oldest turns of a request until it fits the model's known context window
(``context_window``: from the operator, from the server, or from its refusals); only token ids are counted exactly. ``answer_format`` passes
schemas on, ``continuation`` asks for the rest of a cut answer where it cannot be opened in the prompt.

``speaker`` decides for all formats whose text may be an answer: an unknown label hides. ``leaks`` searches the answers of servers without
channels. An error is a code (``failures``); people never read a server's words. A key goes to the one origin that it belongs to (``keys``).
"""
