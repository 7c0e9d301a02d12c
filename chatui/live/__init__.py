"""A page's socket: commands in, events out, one way to close; and the server under it. Holds only what has passed the gate.

Begin with ``routing``, which lets a socket in, and ``consumer``, which has one instance for each open page. Turns never run here.
``snapshots``: a page that opens during a turn asks for a snapshot of it and continues from its number. ``server`` is
Daphne with limits on slow clients and a drain; ``reactor`` loads it.

While Redis does not answer, pages that follow a turn of another process get the answer as it is stored (``turns.streams.stored``), through
the same gate and as a snapshot that contains no event. Every event after it is a gap, so the page then asks the turn's process again.
Stored text that is older than two seconds is not sent, because some of it may have been withdrawn since, nor any that is older than what
the page has heard of. A turn is read once for all sockets that follow it. One thread renders, and rests for twice as long as it works: with
many such pages each gets its text less often, but nobody else waits.
"""
