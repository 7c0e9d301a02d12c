"""What tells a machine with other keys than the rest of the installation. The keys themselves are never in the database."""

from __future__ import annotations

from django.db import models

from chatui.models.keys import Row


class MachineKey(Row):
    """The digest of a key that the operator gives to each machine (``operations.machine_keys``)."""

    name = models.CharField(max_length=20, unique=True)
    """The name of its setting, without the prefix."""
    digest = models.CharField(max_length=64, blank=True)
    """Empty if there is no such key."""
    recorded_at = models.DateTimeField()
