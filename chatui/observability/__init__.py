"""What everybody writes to and nobody reads from: measures, spans, error reports. What is read of them is in ``display``.

Nothing here may hold content or a name. It is at the bottom, because the database and the backends write to it as well.
"""
