"""Puts into the wheel what a checkout makes at its first start: compiled catalogues, collected static files, the vocabulary of gpt-oss;
and below ``share/chatui`` what operators copy from ``deploy``. The units there start ``chatui`` in place of ``manage.py``.

``make package`` makes static files and vocabulary, and names their directory in CHATUI_PACKAGED; ``pip install .`` goes without, and the
product makes them itself: the static files at its first start, the vocabulary by ``chatui fetch_vocabulary``.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Called by hatchling while it builds the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        included = build_data["force_include"]
        self._scratch = tempfile.TemporaryDirectory()
        for source in sorted(Path(self.root, "chatui", "locale").glob("*/LC_MESSAGES/*.po")):
            name = source.relative_to(self.root).with_suffix(".mo")
            made = Path(self._scratch.name, str(name).replace("/", "-"))
            with source.open("rb") as file, made.open("wb") as written:
                write_mo(written, read_po(file, abort_invalid=True))
            included[str(made)] = str(name)
        for unit in sorted(Path(self.root, "deploy", "systemd").iterdir()):
            made = Path(self._scratch.name, unit.name)
            made.write_text(unit.read_text(encoding="utf-8").replace("/bin/python manage.py ", "/bin/chatui "), encoding="utf-8")
            build_data["shared_data"][str(made)] = f"share/chatui/systemd/{unit.name}"
        for copied in ("chatui.env.example", "alerts.yml", "restore-postgresql.sh"):
            build_data["shared_data"][f"deploy/{copied}"] = f"share/chatui/{copied}"
        if packaged := os.environ.get("CHATUI_PACKAGED"):
            included[f"{packaged}/static"] = "chatui/assets/collected"
            included[f"{packaged}/static.collected"] = "chatui/assets/collected.collected"
            for vocabulary in Path(packaged).glob("*.tiktoken"):
                build_data["shared_data"][str(vocabulary)] = f"share/chatui/{vocabulary.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._scratch.cleanup()
