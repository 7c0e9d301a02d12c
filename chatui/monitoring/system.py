"""The product's version, pending migrations, and storage sizes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from django.db import connection
from django.db.models import Sum

from chatui import __version__
from chatui.env import environment
from chatui.models import AuditEvent, FileContent, Turn, User
from chatui.monitoring import readiness


@dataclass(frozen=True, slots=True)
class System:
    """Sizes are in bytes. ``waiting``: migrations that are not applied, such as ``chatui.0041_…``; ``is_low``: the disk is nearly full."""

    version: str
    database: str
    last_applied: str
    applied: int
    waiting: tuple[str, ...]
    database_bytes: int
    files: int
    file_bytes: int
    free_bytes: int
    disk_bytes: int
    is_low: bool
    people: int
    answers: int
    audit_lines: int


def waiting() -> tuple[str, ...]:
    """Migrations that are not applied. One statement."""
    return _names(readiness.on_disk() - readiness.applied())


def free_bytes() -> int:
    """The free space on the disk with the data directory."""
    return shutil.disk_usage(environment().data_dir).free


def system() -> System:
    """The current state of the system."""
    applied = readiness.applied()
    own = sorted(name for app, name in applied if app == "chatui")
    files = FileContent.objects.aggregate(bytes=Sum("size"))
    disk = shutil.disk_usage(environment().data_dir)
    return System(
        version=__version__,
        database=f"{connection.display_name} {_version()}".strip(),
        last_applied=own[-1] if own else "",
        applied=len(applied),
        waiting=_names(readiness.on_disk() - applied),
        database_bytes=_database_bytes(),
        files=FileContent.objects.count(),
        file_bytes=files["bytes"] or 0,
        free_bytes=disk.free,
        disk_bytes=disk.total,
        is_low=disk.free < max(10 * readiness.MIN_FREE_BYTES, disk.total // 20),
        people=User.objects.count(),
        answers=Turn.objects.count(),
        audit_lines=AuditEvent.objects.order_by("-number").values_list("number", flat=True).first() or 0,
    )


def _names(migrations: frozenset[tuple[str, str]] | set[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted(f"{app}.{name}" for app, name in migrations))


def _version() -> str:
    return ".".join(str(part) for part in connection.get_database_version())


def _database_bytes() -> int:
    """On SQLite, including the write-ahead log."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    path = Path(str(connection.settings_dict["NAME"]))
    return sum(each.stat().st_size for each in (path, path.with_name(f"{path.name}-wal")) if each.is_file())
