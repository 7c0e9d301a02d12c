"""How this process reads and writes: one writer, pools with deadlines, faults, locks.

``writer`` runs everything that sockets and turns write: all writes that wait are one transaction, with a savepoint for each. A write is a
function that may run twice, if the result of a commit was lost. ``pools`` has threads for each purpose, with deadlines, so that nobody
waits for somebody else's queries and the event loop never waits for any. ``statements`` has what turns write and read, in plain SQL: with
the ORM, it costs more than the rest of the turn. ``base`` is Django's PostgreSQL, with a limited number of connections for pages.
``file_locks`` keeps a second server, a migration and a restore from one
SQLite database. Nothing here knows a table.
"""
