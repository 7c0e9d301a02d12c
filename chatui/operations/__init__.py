"""What operators run beside the product: canary, doctor, second reader, backups. Only ``web.manage`` and the commands use them.

``backups`` copies a SQLite database that is in use, examines the copy and encrypts it. ``restoring`` prepares a backup beside the database:
migrated, verified, without the people on the list of erasures; only then it replaces the database. The lock that keeps it from a running
server is ``database.file_locks``. ``moving`` takes a database to PostgreSQL.

``second_reader`` runs openai-harmony in a process of its own, and lists how it may differ from our reader.
``manage.py transcript check`` uses it; the live path never does.
"""
