"""The starting point of deployments in tests: a migrated database and collected static files, built once and copied."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

from tests.support.places import CACHE, ROOT

_DATABASE = "chatui.sqlite3"
_KEPT_SECONDS = 7 * 24 * 3600
_MIGRATE = """from django.core.management import call_command; call_command("migrate", verbosity=0)"""
_IMPORTED = """import json, sys; from pathlib import Path; import chatui.asgi, chatui.live.server, chatui.urls
Path("{place}/modules.json").write_text(json.dumps([name for name in sys.modules if name not in ("__main__", "manage")]))"""
_COLLECT = """from chatui.site.static_files import collect_changed; collect_changed()"""


def prepare(data_dir: Path, *, database: bool) -> None:
    """Put the static files, and if ``database`` is set the database, into a data directory that has none yet.

    Such a deployment needs no work when it starts. ``tests/operating/test_first_start.py`` starts one without preparation.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    if not (data_dir / "static").exists():
        result = _collected()
        shutil.copytree(result / "static", data_dir / "static", copy_function=_link)
        shutil.copy2(result / "static.collected", data_dir)
    if database and not (data_dir / _DATABASE).exists():
        shutil.copy2(migrated(), data_dir / _DATABASE)


def static_files() -> Path:
    """All collected static files, for reading only."""
    return _collected() / "static"


@cache
def migrated() -> Path:
    """A database that has every table and no accounts, for copying only."""
    return _cached("database", _MIGRATE, "chatui/migrations") / _DATABASE


@cache
def imported_modules() -> Path:
    """A JSON list of the modules that a served process has imported, in import order."""
    return _cached("modules", _IMPORTED, "chatui") / "modules.json"


@cache
def _collected() -> Path:
    return _cached("static", _COLLECT, "chatui/site", "static")


def _link(source: str, target: str) -> None:
    """Hard-link the file. Collecting deletes a static file before it writes a new one, so the other copies stay intact."""
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def _cached(what: str, code: str, *sources: str) -> Path:
    """The results of a program, in a place that is kept."""
    with kept(what, *sources) as place:
        if not (place / "made").exists():
            environment = {name: value for name, value in os.environ.items() if not name.startswith("CHATUI_")}
            command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code.replace("{place}", str(place))]
            subprocess.run(command, cwd=ROOT, env=environment | {"CHATUI_DATA_DIR": str(place)}, check=True, capture_output=True)
            (place / "made").touch()
    return place


@contextmanager
def kept(what: str, *sources: str) -> Iterator[Path]:
    """A place for each state of sources and packages, since several versions of the code may share a cache; for one process at a time."""
    place = CACHE / "prepared" / f"{what}-{_digest(*sources)}"
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place
        _forget_old(place.parent)


def _forget_old(places: Path) -> None:
    for lock in places.glob("*/lock"):
        if lock.stat().st_mtime < time.time() - _KEPT_SECONDS:
            shutil.rmtree(lock.parent, ignore_errors=True)


def _digest(*sources: str) -> str:
    digest = sha256((ROOT / "requirements.txt").read_bytes())
    for source in sources:
        for path in sorted((ROOT / source).rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
