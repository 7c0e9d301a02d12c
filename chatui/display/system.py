"""What Administration shows about the product: its version, pending migrations, storage sizes, and the last purge."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.db import connection
from django.db.models import Sum
from django.utils import timezone

from chatui import program
from chatui.audit_log import words
from chatui.display import readiness
from chatui.env import environment
from chatui.models.audit import AuditEvent
from chatui.models.files import FileContent
from chatui.models.turn import Turn
from chatui.models.user import User


@dataclass(frozen=True, slots=True)
class System:
    """The release, the database and the disk. Sizes are in bytes."""

    version: str
    database: str
    last_applied: str
    applied: int
    waiting: tuple[str, ...]
    """Migrations that are not applied, such as ``chatui.0052_…``."""
    database_bytes: int
    files: int
    file_bytes: int
    free_bytes: int
    disk_bytes: int
    is_low: bool
    """Whether the disk is nearly full."""
    people: int
    answers: int
    audit_lines: int
    purge: Purge | None


PURGE, PURGE_ENDED = "retention run", "retention run ended"
"""The actions of the lines of the audit log with which a purge begins and ends."""
BACKUP_ENDED = "backup ended"
"""The action of the line of the audit log that says that a backup is complete. It is not in the backup itself."""
PURGE_EVERY = timedelta(days=1)
PURGE_AGAIN = timedelta(hours=1)
"""How long after its beginning a run that has not ended is repeated: its process may have been killed."""


@dataclass(frozen=True, slots=True)
class Purge:
    """The last run. ``done``: its seconds and what it removed, in the words of the audit log; empty if it has not ended, or failed."""

    at: datetime
    done: str

    @property
    def sentence(self) -> str:
        return words.detail_in_words(self.done)


def last_purge() -> Purge | None:
    """The last run; None if there was none."""
    lines = AuditEvent.objects.order_by("-number")
    began = lines.filter(action=PURGE).first()
    if began is None:
        return None
    ended = lines.filter(action=PURGE_ENDED, number__gt=began.number).first()
    return Purge(began.at, ended.detail if ended else "")


def purge_is_due() -> bool:
    """Whether the last run began more than a day ago, or an hour if it has not ended; or there was none since the audit log began, more
    than a day ago."""
    last = last_purge()
    every = PURGE_AGAIN if last and not last.done else PURGE_EVERY
    since = last.at if last else AuditEvent.objects.order_by("number").values_list("at", flat=True).first()
    return since is not None and since <= timezone.now() - every


def waiting() -> tuple[str, ...]:
    """Migrations that are not applied. One statement."""
    return _names(readiness.on_disk() - readiness.applied())


def free_bytes() -> int:
    return shutil.disk_usage(environment().data_dir).free


def system() -> System:
    applied = readiness.applied()
    own = sorted(name for app, name in applied if app == "chatui")
    files = FileContent.objects.aggregate(bytes=Sum("size"))
    disk = shutil.disk_usage(environment().data_dir)
    return System(
        version=program.version(),
        database=f"{connection.display_name} {'.'.join(map(str, connection.get_database_version()))}".strip(),
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
        purge=last_purge(),
    )


def _names(migrations: frozenset[tuple[str, str]] | set[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted(f"{app}.{name}" for app, name in migrations))


def _database_bytes() -> int:
    """On SQLite, including the write-ahead log."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    path = Path(str(connection.settings_dict["NAME"]))
    return sum(each.stat().st_size for each in (path, path.with_name(f"{path.name}-wal")) if each.is_file())
