"""The static files: collected only if they have changed, and stored under names that browsers can cache forever.

Browsers load our scripts as the modules that they are. A page names those that its script imports (``imported``), so that a browser asks
for all of them at once. When files are collected, comments that have lines of their own and indentation are removed, which is a third of a
first load; imports of style sheets are replaced by the imported sheets, because a browser would ask for them one after the other; and names
get a hash of the file's content. In debug mode, browsers load the source files.

Collecting happens only after a change, because compressing the files takes many seconds, and each start would wait for it. A package has
them collected, and a start copies them, unless other versions of the packages that build them are installed.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.files.base import ContentFile
from django.core.management import call_command
from servestatic.compress import Compressor
from servestatic.storage import CompressedManifestStaticFilesStorage

from chatui.env import ASSETS_DIR

OURS = ("js/", "css/")
"""The folders of our own code. Code of others, in ``vendor/`` and in packages, is served as it was published."""

_PACKAGED = ASSETS_DIR / "collected"
"""The files as they are served, in an installed package."""

_PACKAGES = ("django", "servestatic", "brotli")
"""The packages that, besides this one, affect the content of served files."""

_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*(?:[^*]|\*(?!/))*\*/[ \t]*)\n", re.MULTILINE)
_INDENTATION = re.compile(r"^\s+", re.MULTILINE)
_SHEET_IMPORT = re.compile(r"""^@import "(?P<path>[^"]+)";\n""", re.MULTILINE)
_SCRIPT_IMPORT = re.compile(r"""^import\b[^;"]*"(?P<path>\.[^"]+)";""", re.MULTILINE)


@cache
def imported(script: str) -> tuple[str, ...]:
    """The names of the modules that a script needs to run, directly or not, each once."""
    path = finders.find(script)
    targets = _SCRIPT_IMPORT.findall(Path(path).read_text(encoding="utf-8")) if isinstance(path, str) else ()
    direct = [_resolved(script, target) for target in targets]
    return tuple(dict.fromkeys(name for each in direct for name in (each, *imported(each))))


def compacted(text: str) -> str:
    """A script or a style sheet without indentation and empty lines, and without the comments that have lines of their own."""
    return _INDENTATION.sub("", _COMMENT.sub("", text))


def joined_sheet(name: str, sources: Mapping[str, str]) -> str:
    """A sheet with the sheets that it imports. ``sources``: all sheets, by name."""
    return _SHEET_IMPORT.sub(lambda found: joined_sheet(_resolved(name, found["path"]), sources), sources[name])


def _resolved(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def collect_changed() -> bool:
    """Collect all files if one of them, or the code that builds them, has changed. Returns whether it was necessary."""
    fingerprint, manifest = _fingerprint_file(), Path(settings.STATIC_ROOT) / "staticfiles.json"
    current = _fingerprint()
    if manifest.is_file() and _is_of(fingerprint, current):
        return False
    if _is_of(_PACKAGED.with_name(f"{_PACKAGED.name}.collected"), current):
        _copy_packaged(current)
    else:
        call_command("collectstatic", interactive=False, verbosity=0)
    return True


def _is_of(fingerprint: Path, current: str) -> bool:
    return fingerprint.is_file() and fingerprint.read_text(encoding="utf-8") == current


def _copy_packaged(current: str) -> None:
    """Copy the files that were collected when the package was made, each in one step, and last the list by which they are found."""
    mark_incomplete()
    root = Path(settings.STATIC_ROOT)
    paths = sorted((path for path in _PACKAGED.rglob("*") if path.is_file()), key=lambda path: path.name == "staticfiles.json")
    for path in paths:
        target = root / path.relative_to(_PACKAGED)
        target.parent.mkdir(parents=True, exist_ok=True)
        times = path.stat()
        _replace(target, [path.read_bytes()], (times.st_atime, times.st_mtime))
    _fingerprint_file().write_text(current, encoding="utf-8")


def mark_incomplete() -> None:
    """Mark the files as not collected, before the first of them is written."""
    _fingerprint_file().unlink(missing_ok=True)


def _fingerprint_file() -> Path:
    """The file with the fingerprint. It is next to the directory, because everything in the directory is served."""
    root = Path(settings.STATIC_ROOT)
    return root.with_name(f"{root.name}.collected")


def _fingerprint() -> str:
    digest = sha256("\0".join([*map(version, _PACKAGES), Path(__file__).read_text(encoding="utf-8")]).encode())
    for finder in finders.get_finders():
        for name, storage in finder.list(["CVS", ".*", "*~"]):
            with storage.open(name) as file:
                digest.update(f"\0{name}\0".encode() + sha256(file.read()).digest())
    return digest.hexdigest()


class HashedStaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Removes comments, joins sheets, and replaces each file in one step. Django also rewrites the imports of ES modules,
    ``import … from "./x.js";``. Only those that end in a semicolon are found.
    """

    support_js_module_import_aggregation = True
    max_post_process_passes = 30
    """The longest chain of imports, because a name depends on those of the imported modules. One in a circle has no end."""

    _replaces = False

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Compact our scripts and sheets, then have Django name all files by their hashes, and note that they are complete. Django calls it
        when it has copied them. ``paths``: for each name, the storage and path of its source."""
        if dry_run:
            return
        mark_incomplete()
        self._replaces = True
        sources = {name: _text(*place) for name, place in paths.items() if name.startswith(OURS) and name.endswith((".js", ".css"))}
        for name in sources:
            self._save(name, ContentFile(compacted(joined_sheet(name, sources)).encode()))
            paths[name] = (self, name)
        yield from super().post_process(paths, **options)
        self._replaces = False
        _fingerprint_file().write_text(_fingerprint(), encoding="utf-8")

    def delete(self, name: str) -> None:
        """Nothing while files are processed: each is replaced in one step, because another process may be serving it."""
        if not self._replaces:
            super().delete(name)

    def _save(self, name: str, content: Any) -> str:
        if not self._replaces:
            return str(super()._save(name, content))
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, content.chunks())
        return name

    def create_compressor(self, **options: Any) -> Compressor:
        return _InOneStep(**options)


class _InOneStep(Compressor):  # type: ignore[misc]
    """Replaces a compressed file in one step, too: who reads it meanwhile gets the old one or the new one, never a part."""

    @staticmethod
    def write_data(path: str, data: bytes, suffix: str, stat_result: os.stat_result) -> str:
        written = Path(path + suffix)
        _replace(written, [data], (stat_result.st_atime, stat_result.st_mtime))
        return str(written)


def _replace(path: Path, chunks: Iterable[bytes], times: tuple[float, float] | None = None) -> None:
    """Write a file in one step. ``times``: when it was last read and changed; now without them."""
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        file.writelines(chunks)
    os.utime(new, times)
    new.replace(path)


def _text(storage: Any, path: str) -> str:
    with storage.open(path) as file:
        text: str = file.read().decode("utf-8")
    return text
