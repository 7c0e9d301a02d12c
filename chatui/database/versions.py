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
from chatui.program import command

APP = "chatui"
_SQUASHED = re.compile(r"\d{4}_squashed_(\d{4})_")
_LAST_WITH = (("0051_ends_of_frames", "e3d5f427"), ("0065_separation_proofs", "c55f8eb3"))
"""The last migration of each series that became one, and the commit that had them all: it takes a database of that series to its end."""
Migrations = Iterable[tuple[str, str]]
"""Pairs of app and name."""


def refuse_older(connection: BaseDatabaseWrapper) -> None:
    """Refuse a database that lacks some of the migrations that became one, but not all. Django would fail with an error about lazy
    references, or try to create tables that are there.

    Raises:
        CommandError: it has only some of them, or only older ones.
    """
    names = {name for app, name in MigrationRecorder(connection).applied_migrations() if app == APP}
    steps = sorted(name for name in names if _number(name) <= _replaced_until())
    if not steps or _replaced() <= names:
        return
    commits = ", then with ".join(
        f"commit {commit} (or the last one that has chatui/migrations/{last}.py)" for last, commit in _LAST_WITH if last not in names
    )
    first = f"run {command('migrate')} (for a backup, {command('restore')}, and then backup again) with {commits}"
    raise CommandError(
        f"This database is at {steps[-1]}, from which this version cannot continue: {first}, and only then start this version "
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
        "Start the newer version, or go back with the backup from before the upgrade (docs/operating/upgrade.md, Going back)."
    )


def unknown(applied: Migrations) -> list[str]:
    """The names of applied migrations that a newer version of the product must have brought, in order."""
    # By their numbers: to load the migrations that became one takes 23 MB.
    known, replaced = _on_disk(), _replaced_until()
    return sorted(name for app, name in applied if app == APP and name not in known and _number(name) > replaced)


def _replaced_until() -> int:
    """The number of the last of the migrations that became one."""
    return max((_number(name) for name in _on_disk() if _SQUASHED.match(name)), default=0)


def _number(name: str) -> int:
    """The number of a migration; of one that replaces others, that of the last of these. 9999 for a name without one, which is not ours."""
    digits = found[1] if (found := _SQUASHED.match(name)) else name[:4]
    return int(digits) if digits.isdecimal() else 9999


def _on_disk() -> set[str]:
    return {module.name for module in iter_modules(migrations.__path__)}


def _replaced() -> set[str]:
    replacing = MigrationLoader(None).replacements.values()
    return {name for migration in replacing for app, name in migration.replaces if app == APP}
