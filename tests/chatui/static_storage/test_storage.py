"""Collected files: what pages ask for is there, joined and under names with hashes, also what scripts load later."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings

from chatui.settings import STORAGES
from tests.support.places import ROOT

HASHED = re.compile(r"\.[0-9a-f]{12}\.(?:js|css)$")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("static")
    with override_settings(STORAGES=STORAGES, STATIC_ROOT=place):
        call_command("collectstatic", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)  # again, as with each start
    return place


def names(collected: Path) -> dict[str, str]:
    paths: dict[str, Any] = json.loads((collected / "staticfiles.json").read_text(encoding="utf-8"))["paths"]
    return paths


def test_every_import_now_or_later_is_of_a_file_that_is_there_under_a_name_with_a_hash(collected: Path) -> None:
    seen = 0
    for name, hashed in names(collected).items():
        if not (name.startswith("js/") and name.endswith(".js")):
            continue
        text = (collected / hashed).read_text(encoding="utf-8")
        for path in re.findall(r"""(?:\bfrom|\bimport)\s*\(?"(\.[^"]+)"\)?""", text):
            assert HASHED.search(path), f"{name}: {path}"
            assert ((collected / hashed).parent / path).resolve().is_file(), f"{name}: {path}"
            seen += 1
    assert seen > 10


def test_what_templates_load_is_collected(collected: Path) -> None:
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html"))
    asked = {name for name in re.findall(r"{% static '([^']+)' %}", pages) if name != "icons/icons.svg"}
    assert len(asked) > 15
    assert asked - set(names(collected)) == set()


def test_modules_are_served_as_parts_of_files_only_and_the_code_of_others_as_published(collected: Path) -> None:
    found = names(collected)
    assert "js/chat.js" in found and "js/chat/composer.js" not in found
    for name in ("vendor/highlight/highlight.min.js", "vendor/katex/katex.min.js", "vendor/mermaid/mermaid.tiny.js"):
        assert (collected / found[name]).read_bytes() == (ROOT / "static" / name).read_bytes()


def test_a_sheet_holds_what_it_imports_and_nothing_else_of_it_is_lost(collected: Path) -> None:
    text = (collected / names(collected)["css/chat.css"]).read_text(encoding="utf-8")
    assert "@import" not in text and "/*" not in text and ".composer" in text and "@media print" in text
    assert (collected / f"{names(collected)['css/chat.css']}.gz").is_file()
