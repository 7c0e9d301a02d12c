"""Records that one person created or changed another's account. The four-eyes rule needs it: if a second person must approve, such a pair
does not count as two people.
"""

from __future__ import annotations

from django.db import models

from chatui.models.keys import new_key


class AccountChange(models.Model):
    """One change. It has no foreign keys, so that a chain through a third account counts after that account is deleted. ``what`` is plain
    text."""

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    changer_id = models.UUIDField()
    changed_id = models.UUIDField()
    what = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["changer_id", "at"], name="account_change_by_changer")]
        default_permissions = ()

    def __str__(self) -> str:
        return f"Account change {self.id}"
