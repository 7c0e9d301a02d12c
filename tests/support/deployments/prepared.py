"""What each deployment of the tests begins with: collected static files and a migrated database, made once and copied."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from functools import cache
from hashlib import sha256
from pathlib import Path

from tests.support.places import CACHE, ROOT

_DATABASE = "chatui.sqlite3"
_KEPT_SECONDS = 7 * 24 * 3600
_MAKE = """from django.core.management import call_command; from chatui.static_storage.collecting import collect_changed
collect_changed(); call_command("migrate", verbosity=0)"""


def prepare(data_dir: Path, *, database: bool) -> None:
    """Put the static files, and the ``database`` if it is wanted, into a data directory that has none yet.

    A start there finds nothing to do. What it does elsewhere is tested with a ``NewDeployment``.
    """
    made = _made()
    data_dir.mkdir(parents=True, exist_ok=True)
    if not (data_dir / "static").exists():
        shutil.copytree(made / "static", data_dir / "static", copy_function=_link)
        shutil.copy2(made / "static.collected", data_dir)
    if database and not (data_dir / _DATABASE).exists():
        shutil.copy2(made / _DATABASE, data_dir)


def _link(source: str, target: str) -> None:
    """What writes a static file anew deletes the old one before, so that the others keep theirs."""
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


@cache
def _made() -> Path:
    """One for each state of the migrations and of the files that are collected: several versions of the code may share a cache."""
    place = CACHE / "prepared" / _digest()
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CHATUI_")}
        command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", _MAKE]
        subprocess.run(command, cwd=ROOT, env=environment | {"CHATUI_DATA_DIR": str(place)}, check=True, capture_output=True)
        _forget_old(place.parent)
    return place


def _forget_old(places: Path) -> None:
    for lock in places.glob("*/lock"):
        if lock.stat().st_mtime < time.time() - _KEPT_SECONDS:
            shutil.rmtree(lock.parent, ignore_errors=True)


def _digest() -> str:
    digest = sha256()
    for place in ("chatui/migrations", "chatui/static_storage", "static"):
        for path in sorted((ROOT / place).rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
