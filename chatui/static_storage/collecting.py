"""Collects static files only if they have changed, because compressing them takes many seconds, and each start would wait for it."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

from chatui.static_storage import script_bundles

_PACKAGES = ("django", "servestatic", "brotli")
"""The packages that, besides this one, affect the content of served files."""


def collect_changed() -> bool:
    """Collect all files if one of them, or the code that builds them, has changed. Returns whether it was necessary."""
    fingerprint, manifest = _fingerprint_file(), Path(settings.STATIC_ROOT) / "staticfiles.json"
    if manifest.is_file() and fingerprint.is_file() and fingerprint.read_text(encoding="utf-8") == _fingerprint():
        return False
    call_command("collectstatic", interactive=False, verbosity=0)
    return True


def mark_incomplete() -> None:
    """Mark the files as not collected, before the first of them is written."""
    _fingerprint_file().unlink(missing_ok=True)


def mark_complete() -> None:
    """Mark the files as collected, after the last of them was written."""
    _fingerprint_file().write_text(_fingerprint(), encoding="utf-8")


def scripts_in_templates() -> set[str]:
    """The names of the scripts that templates load."""
    places: list[Path] = [Path(str(place)) for engine in settings.TEMPLATES for place in engine["DIRS"]]
    pages = [page for place in places for page in place.rglob("*.html")]
    return script_bundles.scripts_in("\n".join(page.read_text(encoding="utf-8") for page in pages))


def _fingerprint_file() -> Path:
    """The file with the fingerprint. It is next to the directory, because everything in the directory is served."""
    root = Path(settings.STATIC_ROOT)
    return root.with_name(f"{root.name}.collected")


def _fingerprint() -> str:
    parts = [*map(_version, _PACKAGES), *sorted(scripts_in_templates())]
    parts += [path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))]
    digest = sha256("\0".join(parts).encode())
    for finder in get_finders():
        for name, storage in finder.list(["CVS", ".*", "*~"]):
            with storage.open(name) as file:
                digest.update(f"\0{name}\0".encode() + sha256(file.read()).digest())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
