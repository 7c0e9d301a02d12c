"""Collected files: everything that pages request, or scripts load later, exists, with hashes in the names."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from chatui.settings import STORAGES
from chatui.site import static_files
from chatui.site.static_files import collect_changed
from tests.support.deployments import prepared
from tests.support.places import ROOT

HASHED = re.compile(r"\.[0-9a-f]{12}\.(?:js|css)$")


@pytest.fixture(scope="module")
def collected() -> Path:
    return prepared.static_files()


def names(collected: Path) -> dict[str, str]:
    paths: dict[str, Any] = json.loads((collected / "staticfiles.json").read_text(encoding="utf-8"))["paths"]
    return paths


@pytest.mark.slow
def test_every_import_is_of_an_existing_file_with_a_hash_in_its_name(collected: Path) -> None:
    seen = 0
    for name, hashed in names(collected).items():
        if not (name.startswith("js/") and name.endswith(".js")):
            continue
        text = (collected / hashed).read_text(encoding="utf-8")
        for path in re.findall(r"""(?:\bfrom|\bimport)\s*\(?"(\.[^"]+)"\)?""", text):
            assert HASHED.search(path), f"{name}: {path}"
            assert ((collected / hashed).parent / path).resolve().is_file(), f"{name}: {path}"
            seen += 1
    assert seen > 100


@pytest.mark.slow
def test_what_templates_load_is_collected(collected: Path) -> None:
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html"))
    loaded = {name for name in re.findall(r"{% (?:static|module) '([^']+)' %}", pages) if name != "icons/icons.svg"}
    assert len(loaded) > 15
    assert loaded - set(names(collected)) == set()


@pytest.mark.slow
def test_vendor_code_is_served_unchanged(collected: Path) -> None:
    found = names(collected)
    for name in ("vendor/highlight/highlight.min.js", "vendor/katex/katex.min.js", "vendor/mermaid/mermaid.tiny.js"):
        assert (collected / found[name]).read_bytes() == (ROOT / "static" / name).read_bytes()


@pytest.mark.slow
def test_a_joined_sheet_contains_its_imports_and_keeps_all_rules(collected: Path) -> None:
    text = (collected / names(collected)["css/chat.css"]).read_text(encoding="utf-8")
    assert "@import" not in text and "/*" not in text and ".composer" in text and "@media print" in text
    assert (collected / f"{names(collected)['css/chat.css']}.gz").is_file()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """One style sheet to collect, and where it is collected."""
    (tmp_path / "source" / "css").mkdir(parents=True)
    (tmp_path / "source" / "css" / "one.css").write_text("p { color: red }\n", encoding="utf-8")
    (tmp_path / "static").mkdir()
    finders = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    templates = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [tmp_path / "pages"]}]
    own = {"STATICFILES_FINDERS": finders, "STATICFILES_DIRS": [tmp_path / "source"], "TEMPLATES": templates}
    with override_settings(STORAGES=STORAGES, STATIC_ROOT=tmp_path / "static", **own):
        yield tmp_path


def test_a_start_collects_only_what_has_changed_since_the_last_one(small: Path) -> None:
    assert collect_changed()
    manifest = small / "static" / "staticfiles.json"
    first = (manifest.stat().st_ino, manifest.stat().st_mtime_ns)
    assert not collect_changed()
    assert (manifest.stat().st_ino, manifest.stat().st_mtime_ns) == first

    (small / "source" / "css" / "one.css").write_text("p { color: tan }\n", encoding="utf-8")  # of the same length
    assert collect_changed()
    assert "tan" in (small / "static" / names(small / "static")["css/one.css"]).read_text(encoding="utf-8")


def test_partly_collected_or_deleted_files_are_collected_again(small: Path) -> None:
    assert collect_changed()
    static_files.mark_incomplete()  # and the process was killed
    assert collect_changed()
    (small / "static" / "staticfiles.json").unlink()
    assert collect_changed()
    assert not collect_changed()


def test_files_are_replaced_and_never_written_over_as_another_process_may_be_serving_them(small: Path) -> None:
    (small / "source" / "css" / "one.css").write_text("p { color: red }\n" * 200, encoding="utf-8")
    assert collect_changed()
    static_files.mark_incomplete()
    opened = {path: path.open("rb") for path in (small / "static").rglob("one.*")}
    assert {path.suffix for path in opened} == {".css", ".gz", ".br"}
    assert collect_changed()
    for path, reader in opened.items():
        with reader:
            assert not os.path.samestat(os.fstat(reader.fileno()), path.stat()), path
