"""What tells a machine with other keys than the rest of the installation. The keys themselves are never in the database."""

from __future__ import annotations

from django.db import models

from chatui.models.keys import Row


class MachineKey(Row):
    """The digest of a key that the operator gives to each machine (``operations.machine_keys``). ``name``: that of its setting, without the
    prefix. ``digest``: empty if there is no such key."""

    name = models.CharField(max_length=20, unique=True)
    digest = models.CharField(max_length=64, blank=True)
    recorded_at = models.DateTimeField()
