"""The storage of static files: names contain a hash of the content, so that browsers may cache them for ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from servestatic.storage import CompressedManifestStaticFilesStorage

from chatui.static_storage import joined_scripts, joined_sheets

OURS = ("js/", "css/")
"""What is joined. The code of others, under ``vendor/`` and from packages, is served as it was published."""


class HashedStaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Joins our own scripts and style sheets when files are collected. In debug mode, browsers get them one by one, as they are written.

    It also rewrites ES module imports, ``import … from "./x.js";``. Only imports that end in a semicolon are found.
    """

    support_js_module_import_aggregation = True

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """What Django calls when all files are copied. ``paths``: for each name, where its source is."""
        if not dry_run:
            self._join(paths)
        yield from super().post_process(paths, dry_run=dry_run, **options)

    def _join(self, paths: dict[str, Any]) -> None:
        """Puts what browsers load into the place of what it was made from."""
        written = {name: _text(*place) for name, place in paths.items() if name.startswith(OURS) and name.endswith((".js", ".css"))}
        scripts = {name: text for name, text in written.items() if name.endswith(".js")}
        sheets = {name: text for name, text in written.items() if name.endswith(".css")}
        for name in written:
            del paths[name]
        for name, text in (joined_scripts.join(scripts, _named_by_templates()) | joined_sheets.join(sheets)).items():
            self.delete(name)
            self._save(name, ContentFile(text.encode()))
            paths[name] = (self, name)


def _text(storage: Any, path: str) -> str:
    with storage.open(path) as file:
        text: str = file.read().decode("utf-8")
    return text


def _named_by_templates() -> set[str]:
    places: list[Path] = [Path(place) for engine in settings.TEMPLATES for place in engine["DIRS"]]  # type: ignore[attr-defined]
    return joined_scripts.named_in("\n".join(page.read_text(encoding="utf-8") for place in places for page in place.rglob("*.html")))
