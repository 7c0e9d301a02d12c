"""The rows of saved prompts that their owners deleted."""

from __future__ import annotations

from datetime import datetime

from chatui.database.faults import Refused
from chatui.models.saved_prompts import SavedPrompt


def erase_expired(before: datetime, refused: Refused) -> None:
    """Erase the prompts that were deleted before that time. One that cannot be erased does not stop the others."""
    expired = SavedPrompt.objects.filter(deleted_at__lt=before)
    for key in list(expired.values_list("pk", flat=True)):
        with refused.one(f"saved prompt {key}"):
            expired.filter(pk=key).delete()
