"""A person who signs in."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models

from chatui.models.keys import new_key


class User(AbstractUser):
    """Django's user with a UUIDv7 key; ours from the first migration, so that it can grow."""

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
