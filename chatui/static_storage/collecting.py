"""Collects static files only if they have changed: compressing them all takes many seconds, and every start needs them."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

from chatui.static_storage import joined_scripts

_PACKAGES = ("django", "servestatic", "brotli")
"""What decides, beside this package, how a file becomes the one that is served."""


def collect_changed() -> bool:
    """Collect all files, if one of them or what makes them has changed. Returns whether it was necessary."""
    mark, manifest = _mark(), Path(settings.STATIC_ROOT) / "staticfiles.json"
    if manifest.is_file() and mark.is_file() and mark.read_text(encoding="utf-8") == _fingerprint():
        return False
    call_command("collectstatic", interactive=False, verbosity=0)
    return True


def begin() -> None:
    """Files are about to be written: until all are, nothing counts as collected."""
    _mark().unlink(missing_ok=True)


def finish() -> None:
    """All files are written."""
    _mark().write_text(_fingerprint(), encoding="utf-8")


def named_by_templates() -> set[str]:
    """The scripts that pages load."""
    places: list[Path] = [Path(str(place)) for engine in settings.TEMPLATES for place in engine["DIRS"]]
    pages = [page for place in places for page in place.rglob("*.html")]
    return joined_scripts.named_in("\n".join(page.read_text(encoding="utf-8") for page in pages))


def _mark() -> Path:
    """Beside the directory and not in it: everything in it is served."""
    root = Path(settings.STATIC_ROOT)
    return root.with_name(f"{root.name}.collected")


def _fingerprint() -> str:
    parts = [*map(_version, _PACKAGES), *sorted(named_by_templates())]
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
