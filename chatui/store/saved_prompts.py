"""The rows of saved prompts that their owners deleted."""

from __future__ import annotations

from datetime import datetime

from chatui.models.saved_prompts import SavedPrompt


def erase_expired(before: datetime) -> None:
    """Erase the prompts that were deleted before that time."""
    SavedPrompt.objects.filter(deleted_at__lt=before).delete()
