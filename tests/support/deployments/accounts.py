"""Creates accounts directly in a deployment's database: a management command would take longer than most tests that need them."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from chatui.skeletons import folded_skeleton, skeleton

_BUSY_SECONDS = 60


def create(environment: Mapping[str, str], people: Mapping[str, tuple[bool, Sequence[str]]], password: str) -> None:
    """Create accounts by name, each (is staff, permission code names), with one password. Existing ones get password and permissions.

    ``environment``: the deployment's, which says where its database is. The tables must exist.
    """
    with closing(_Database(environment)) as database:
        for name, (is_staff, permissions) in people.items():
            person = database.person(name, _hashed(password), is_staff=is_staff)
            database.permit(person, permissions)
        database.commit()


class _Database:
    """SQLite or PostgreSQL, whose rows differ only in how keys are written."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        url = environment.get("CHATUI_DATABASE_URL", "")
        self._is_sqlite = not url.startswith("postgres")
        path = Path(environment["CHATUI_DATA_DIR"]) / "chatui.sqlite3"
        self._connection: Any = sqlite3.connect(path, timeout=_BUSY_SECONDS) if self._is_sqlite else psycopg.connect(url)
        self.commit, self.close = self._connection.commit, self._connection.close

    def person(self, name: str, password: str, *, is_staff: bool) -> object:
        """The key of the account, which is created if it does not exist."""
        known = self._run("SELECT id FROM chatui_user WHERE username = ?", name).fetchone()
        if known:
            self._run("UPDATE chatui_user SET password = ? WHERE id = ?", password, known[0])
            return known[0]
        values = {
            "id": self._written(uuid4()), "username": name, "password": password, "is_staff": is_staff, "is_active": True,
            "is_superuser": False, "first_name": "", "last_name": "", "email": "", "date_joined": datetime.now(UTC).isoformat(" "),
            "name_skeleton": skeleton(name), "folded_name_skeleton": folded_skeleton(name),
        }  # fmt: skip
        places = ", ".join("?" for _ in values)
        self._run(f"INSERT INTO chatui_user ({', '.join(values)}) VALUES ({places})", *values.values())
        return values["id"]

    def permit(self, person: object, permissions: Sequence[str]) -> None:
        """Give the account these permissions and no others."""
        self._run("DELETE FROM chatui_user_user_permissions WHERE user_id = ?", person)
        for permission in permissions:
            result = self._run(
                "INSERT INTO chatui_user_user_permissions (user_id, permission_id) SELECT ?, id FROM auth_permission WHERE codename = ?",
                person,
                permission,
            )
            assert result.rowcount == 1, f"there is no permission {permission}, or more than one"

    def _written(self, key: UUID) -> object:
        return key.hex if self._is_sqlite else key

    def _run(self, statement: str, *values: object) -> Any:
        return self._connection.execute(statement if self._is_sqlite else statement.replace("?", "%s"), values)


@cache
def _hashed(password: str) -> str:
    """Hashed as the product does, and only once, because that is deliberately slow. Not the fast hasher that other tests set."""
    hasher = PBKDF2PasswordHasher()
    return hasher.encode(password, hasher.salt())
