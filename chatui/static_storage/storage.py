"""The static files storage. File names contain a hash of the content, so that browsers can cache the files forever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.files.base import ContentFile
from servestatic.storage import CompressedManifestStaticFilesStorage

from chatui.static_storage import collecting, script_bundles, sheet_bundles

OURS = ("js/", "css/")
"""The folders of our own code, which is bundled. Code of others, in ``vendor/`` and in packages, is served as it was published."""


class HashedStaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Bundles our own scripts and style sheets when files are collected. In debug mode, browsers load the source files.

    It also rewrites ES module imports, ``import … from "./x.js";``. Only imports that end in a semicolon are found.
    """

    support_js_module_import_aggregation = True

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Called by Django when all files are copied. ``paths``: for each name, the storage and path of its source."""
        if dry_run:
            return
        collecting.mark_incomplete()
        self._bundle(paths)
        yield from super().post_process(paths, **options)
        collecting.mark_complete()

    def _bundle(self, paths: dict[str, Any]) -> None:
        """Replace the source files of bundles by the bundles."""
        sources = {name: _text(*place) for name, place in paths.items() if name.startswith(OURS) and name.endswith((".js", ".css"))}
        scripts = {name: text for name, text in sources.items() if name.endswith(".js")}
        sheets = {name: text for name, text in sources.items() if name.endswith(".css")}
        for name in sources:
            del paths[name]
        for name, text in (
            script_bundles.bundle_scripts(scripts, collecting.scripts_in_templates()) | sheet_bundles.bundle_sheets(sheets)
        ).items():
            self.delete(name)
            self._save(name, ContentFile(text.encode()))
            paths[name] = (self, name)


def _text(storage: Any, path: str) -> str:
    with storage.open(path) as file:
        text: str = file.read().decode("utf-8")
    return text
