"""Numbers: tokens counted, reserved, settled, limited, reported.

``turns.start`` reserves the usage of a turn in the transaction that stores it (``reserving``: one statement decides); ``turns.ledger``,
``turns.sweep`` and ``store.erasure``, which end turns, settle it (``settling``). ``counting`` takes the server's counts, or estimates.
``limits`` says what applies to a person; ``reports`` sums up the ledger for ``display.usage`` and ``web.usage``.
"""
