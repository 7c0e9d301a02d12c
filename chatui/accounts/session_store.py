"""Stores sessions under a digest of their key, so that whoever reads or copies the database can continue none of them; and reads whose
they are.

Django's own store writes the key itself, which is the cookie: a copied backup would sign in everybody who was signed in then.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.utils import timezone

from chatui.database.statements import read
from chatui.models.user import User

_STORED_BACKEND = "django.contrib.auth.backends.ModelBackend"


def _with_backend(session: dict[str, Any], name: str) -> dict[str, Any]:
    return session | {BACKEND_SESSION_KEY: name} if BACKEND_SESSION_KEY in session else session


def stored_key(key: str | None) -> str:
    """What the database has in place of a session's key: as much of its SHA-256 as the column holds. Empty for no session."""
    return sha256(key.encode()).hexdigest()[:40] if key else ""


class SessionStore(db.SessionStore):
    """Django's store in the database. Its name is in the salt of what is stored, so it must stay this one."""

    def encode(self, session_dict: dict[str, Any]) -> str:
        """See Django. A session names Django's own backend, as those of earlier versions do: they may serve the next page of it, during a
        rolling restart or after a way back."""
        stored: str = super().encode(_with_backend(session_dict, _STORED_BACKEND))
        return stored

    def decode(self, session_data: bytes | str) -> dict[str, Any]:
        """See Django, and ``encode``."""
        return _with_backend(super().decode(session_data), settings.AUTHENTICATION_BACKENDS[0])

    def exists(self, session_key: str) -> bool:
        return super().exists(stored_key(session_key))

    async def aexists(self, session_key: str) -> bool:
        return await super().aexists(stored_key(session_key))

    def delete(self, session_key: str | None = None) -> None:
        super().delete(stored_key(session_key or self.session_key) or None)

    async def adelete(self, session_key: str | None = None) -> None:
        await super().adelete(stored_key(session_key or self.session_key) or None)

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        row = super().create_model_instance(data)
        row.session_key = stored_key(row.session_key)
        return row

    async def acreate_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        row = await super().acreate_model_instance(data)
        row.session_key = stored_key(row.session_key)
        return row

    def _get_session_from_db(self) -> Session | None:
        found = read(Session, "session_key = %s AND expire_date > %s", stored_key(self.session_key), timezone.now())
        if not found:
            self._session_key = None
            return None
        return found[0][0]

    async def _aget_session_from_db(self) -> Session | None:
        row = await Session.objects.filter(pk=stored_key(self.session_key), expire_date__gt=timezone.now()).afirst()
        if row is None:
            self._session_key = None
        return row


class PersonBackend(ModelBackend):
    """Django's, which reads the person of a session in plain SQL, because each page does."""

    def get_user(self, user_id: UUID) -> User | None:
        return next((person for person, _ in read(User, "id = %s AND is_active", user_id)), None)
