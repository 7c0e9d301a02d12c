"""The one-time code that lets a person at the console create the first account."""

from __future__ import annotations

from django.db import models


class FirstAccountCode(models.Model):
    """The SHA-256 hash of a code that the server printed when it started. Each process prints its own; using one deletes them all."""

    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return "First-account code"
