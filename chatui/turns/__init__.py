"""A turn from its question to its end: ask, start, open, run, sample, record, publish, end.

Begin with ``runner``, which runs a turn by calling names in order. ``asks`` is what somebody wants; ``running`` takes it, and has the turns
of this process; ``start`` (with ``program_start``) stores the question and the turn in one transaction; ``slots`` lets it wait;
``running_turn`` is what is known of it, from then on; ``opening`` loads it and makes the first request; ``sampling`` asks the model once,
and its events go the way back: through a list of stages to ``frame_recorder``, which makes frames of them, and to ``publisher``, which
sends them to those who follow; ``ledger`` writes the frames and the end. ``leases``, ``reaping`` and ``sweep`` see to turns whose process
dies. Only ``calls`` runs tools, and only ``streams`` decides what a follower gets, by the gate. No module here knows an HTTP request or a
socket.

A conversation runs one turn at a time, and a question that arrives twice is one turn: both are constraints of the database. What ends a
turn takes place once, in one transaction that first checks that the turn is still ours.

After a crash: all turns of a process are renewed about once a second (``leases``), with the text that no message holds yet, so a crash
costs at most the last second. When a lease has expired, every process looks for such turns (``sweep``) every ten seconds, as does every
request that opens the conversation; nobody sweeps a turn that it runs itself, nor anything within half a minute of an outage. A question
that still waited for a slot loses nothing (``slots``).

Where text waits on its way back, and why there; no later stage has a timer, because what is read together is guarded, gated, rendered and
sent in one step:

- In the socket's buffer, up to 50 ms, or 100 ms in a busy process (``backends.pace``). Waiting costs nothing there.
- In the leak guard, while it may be the beginning of leaked reasoning.
- In the open block. Plain words are appended to it (``renderer.markup.tails``); anything else renders the block again.
- At the end of a message, up to 0.1 s in the publisher, for the end of the turn: both then travel together. Its text has been sent.
- In the outbox of a page that does not keep up (``live.page_socket``); that page then skips ahead.
- After the gate, if more arrives at once than ``renderer.markup.growing.STEP_CHARS``: the rest is rendered with the next flush, so that
  other turns continue. The end of the turn waits for all of it.
- After the gate, if no page shows the turn, as with most turns of programs. It is rendered when a page opens the turn, or never.
- In Twisted's buffer, if the operating system does not accept it. Daphne writes each frame at once (``live.http_channel``).

When it is stored. A question is stored before any request to a model; streamed text does not wait for storage. A finished frame goes to the
queue of ``database.writer``, where it stays while the database is locked, full or down. The frame of an answer waits for the end of its
turn, or for the next visible frame: both are one write. Then the end is announced. The statements of every turn are plain SQL or
compiled once (``database.statements``): they are in ``start``, ``ledger``, ``store.transcripts`` and ``usage.settling``, and a test counts
those of a turn.
"""
