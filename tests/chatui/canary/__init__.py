"""``manage.py canary``: its parts, and whole runs against served deployments, sound ones and broken ones."""
