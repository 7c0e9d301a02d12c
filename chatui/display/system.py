"""What Administration show about the product: its version, pending migrations, storage sizes, and the settings in force.

Settings are under headings, each with the documentation page that explains them, and with where each comes from. For a secret, it is shown
only whether it is set.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.db import connection
from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from chatui import program
from chatui.audit_log import words
from chatui.display import readiness
from chatui.env import Environment, environment
from chatui.models.audit import AuditEvent
from chatui.models.files import FileContent
from chatui.models.turn import Turn
from chatui.models.user import User


@dataclass(frozen=True, slots=True)
class System:
    """Sizes are in bytes. ``waiting``: migrations that are not applied, such as ``chatui.0052_…``; ``is_low``: the disk is nearly full."""

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
    def said(self) -> str:
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


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """A group of settings. ``prefixes``: the prefixes of the names, in lower case and without ``CHATUI_``. ``page``: the file of the
    documentation."""

    heading: str
    page: str
    prefixes: tuple[str, ...]


GROUPS = (
    SettingGroup(
        noop("Installation"),
        "docs/settings.md",
        (
            *("data_dir", "secret_", "sealing_", "file_key", "debug", "hosts", "origins", "trusted_", "database_", "redis_", "drain_"),
            *("service_worker", "metrics_", "traces_", "log_"),
        ),
    ),
    SettingGroup(
        noop("Accounts and signing in"),
        "docs/accounts.md",
        ("sign_in_", "mail_", "second_factor_", "closed_account", "close_own_", "key_rest_"),
    ),
    SettingGroup(noop("Pages and appearance"), "docs/settings.md", ("pages_", "name", "language", "mark", "accent")),
    SettingGroup(
        noop("Model servers and answers"),
        "docs/back-ends.md",
        ("backend", "title", "max_", "group_answers_", "group_instructions_", "demo_", "instructions", "summary_"),
    ),
    SettingGroup(
        noop("Hidden channels and audit"), "docs/operating/debug-views.md", ("debug_", "four_eyes_", "alert_", "tell_owners", "hidden_days")
    ),
    SettingGroup(noop("Tools"), "docs/tools.md", ("tool", "search", "browser_", "python_")),
    SettingGroup(noop("Files"), "docs/files.md", ("file_", "files_")),
    SettingGroup(noop("Sharing and deleting"), "docs/settings.md", ("share_", "bin_", "purge_")),
    SettingGroup(noop("Usage and programs"), "docs/usage.md", ("currency", "usage_", "api", "group_api_")),
)


def group_of(name: str) -> SettingGroup | None:
    """The group of a setting, by its longest matching prefix; None if there is none."""
    fitting = [(len(start), number) for number, group in enumerate(GROUPS) for start in group.prefixes if name.startswith(start)]
    return GROUPS[max(fitting)[1]] if fitting else None


_SECRET = re.compile(r"(^|_)(key|keys|token|password|secret)(_|$)")
_IN_ADDRESS = re.compile(r"(?s)(?<=://).*@")
"""Matches up to the last "@": a password may contain one, or a slash or a space, even if unencoded."""
_IN_QUERY = re.compile(r"(?i)(?<![a-z])([\w-]*(?:key|token|pass|passwd|password|secret|sig|signature|auth|credential|code)s?)=[^&\s]+")
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting in force. ``value`` is text; it is empty for secrets and unset settings. ``is_set``: it is set in the environment."""

    name: str
    value: str
    meaning: str
    is_secret: bool
    is_set: bool
    has_value: bool

    @property
    def said(self) -> str:
        """The meaning, in the language of the page."""
        return gettext(self.meaning)


def search(words: str) -> list[tuple[SettingGroup, list[Setting]]]:
    """The settings that contain all these words in their name, value or meaning, by group. Values of secrets are not searched."""
    wanted = words.casefold().split()
    named: dict[str, list[Setting]] = {}
    for setting in settings_in_force():
        text = f"{setting.name} {setting.value} {setting.meaning} {setting.said}".casefold()
        if all(word in text for word in wanted):
            group = group_of(setting.name.removeprefix("CHATUI_").lower()) or GROUPS[0]
            named.setdefault(group.heading, []).append(setting)
    return [(group, named[group.heading]) for group in GROUPS if group.heading in named]


def settings_in_force() -> list[Setting]:
    """All settings, those that are set first. The content of a file named .env is loaded into the environment when the process starts."""
    set_names = {name.upper() for name in os.environ}
    found = [_setting(environment(), name, set_names) for name in Environment.model_fields]
    return sorted(found, key=lambda setting: not setting.is_set)


def _setting(env: Environment, name: str, set_names: set[str]) -> Setting:
    field, value = Environment.model_fields[name], getattr(env, name)
    variable = f"CHATUI_{name.upper()}"
    # Fails closed: a name that sounds like a secret counts as one, except names of files and numbers.
    sounds_secret = bool(_SECRET.search(name)) and not name.endswith("_file") and not isinstance(value, int | float)
    is_secret = field.repr is False or sounds_secret
    has_value = value not in ("", None, [], {})
    shown = "" if is_secret or not has_value else _IN_QUERY.sub(r"\1=…", _IN_ADDRESS.sub("…@", _text(value)))[:_SHOWN_CHARS]
    return Setting(variable, shown, field.description or "", is_secret, variable in set_names, has_value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Mapping):
        return ",".join(f"{name}={'|'.join(each) if isinstance(each, tuple) else each}" for name, each in value.items())
    if isinstance(value, list):
        return ",".join(str(each) for each in value)
    return str(value)
