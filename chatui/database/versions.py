"""Which migrations a database has applied, and whether this version can continue from them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pkgutil import iter_modules

from django.core.management.base import CommandError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from chatui import migrations

APP = "chatui"
_SQUASHED = re.compile(r"\d{4}_squashed_(\d{4})_")
Migrations = Iterable[tuple[str, str]]
"""Pairs of app and name."""


def refuse_separate_steps(connection: BaseDatabaseWrapper) -> None:
    """Refuse a database with only some of the migrations that became one. Django would fail with an error about lazy references.

    Raises:
        CommandError: the database has only some of them.
    """
    steps = _replaced()
    applied = steps & {name for app, name in MigrationRecorder(connection).applied_migrations() if app == APP}
    if applied and applied != steps:
        raise CommandError(
            f"This database is at {max(applied)}, from which this version cannot continue: with the last commit that has "
            f"chatui/migrations/{max(steps)}.py, run manage.py migrate (for a backup, manage.py restore), and only then start this version "
            "(CHANGELOG.md, Upgrading); nothing was changed."
        )


def newer(connection: BaseDatabaseWrapper) -> str:
    """One sentence with both versions and the remedy if a newer version of the product has migrated this database; empty otherwise."""
    return sentence(unknown(MigrationRecorder(connection).applied_migrations()))


def refuse_newer(connection: BaseDatabaseWrapper) -> None:
    """For commands that run without Django's checks.

    Raises:
        CommandError: a newer version of the product has migrated this database.
    """
    if found := newer(connection):
        raise CommandError(found)


def sentence(unknown: list[str]) -> str:
    """The same for the names of migrations that only the newer version has, in order; empty if there are none."""
    if not unknown:
        return ""
    own = max(_on_disk())
    return (
        f"The database was migrated by a newer version of the product: it has {unknown[-1]}, and this version ends at {own}. "
        "Start the newer version, or go back with the backup from before the upgrade (docs/operating.md, Upgrade)."
    )


def unknown(applied: Migrations) -> list[str]:
    """The names of applied migrations that a newer version of the product must have brought, in order."""
    known = _on_disk()
    # By their numbers: to load the migrations that became one takes 23 MB.
    replaced = max((int(found[1]) for found in map(_SQUASHED.match, known) if found), default=0)
    return sorted(name for app, name in applied if app == APP and name not in known and not _is_until(replaced, name))


def _is_until(number: int, name: str) -> bool:
    return name[:4].isdecimal() and int(name[:4]) <= number


def _on_disk() -> set[str]:
    return {module.name for module in iter_modules(migrations.__path__)}


def _replaced() -> set[str]:
    replacing = MigrationLoader(None).replacements.values()
    return {name for migration in replacing for app, name in migration.replaces if app == APP}
