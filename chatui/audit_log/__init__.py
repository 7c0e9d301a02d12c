"""What is recorded, in a chain that shows every later change, and how often it was repeated.

``record`` appends a line; if that fails, the caller must not continue. ``aggregation`` counts repetitions and writes their sum, ``chain``
verifies, and ``lines`` reads the log for ``web.audit`` and ``manage.py audit``. Lines are only ever added: the database itself refuses
changes.
"""
