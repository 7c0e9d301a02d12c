"""What operators run beside the product: canary, doctor, second reader, backups. Only admin and the commands use them.

``second_reader`` runs openai-harmony in a process of its own (``second_reader_worker``), and lists how it may
differ from our reader. The doctor and ``manage.py transcript check`` use it; the live path never does.
"""
