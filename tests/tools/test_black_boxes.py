"""What counts as a black box among the tests."""

from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.tools import black_boxes

ROOMS = ("chatui.backends", "chatui.documents", "renderer")


@pytest.mark.parametrize(
    "source",
    [
        "import json\nfrom tests.support import served",
        "from chatui.models.turn import Turn",
        "from chatui.codes import ProductCode\nfrom renderer.errors import Code",
        "def test(settings):\n    settings.setattr(settings, 'X', 1)",
        "from chatui.backends import registry\nfrom chatui.backends.base import Endpoint",
        "from chatui.documents.reading import read",
        "from renderer.ocml import document\nfrom renderer.markup.html import render",
    ],
)
def test_tables_codes_settings_and_the_doors_of_pure_rooms_are_open_to_every_test(source: str) -> None:
    assert black_boxes.is_black_box(source)


@pytest.mark.parametrize(
    "source",
    [
        "from chatui.turns import running",
        "import chatui.modelsx",
        "from chatui import asgi",
        "def test():\n    from renderer.strict_json import finite",
        "def test(monkeypatch):\n    monkeypatch.setattr('chatui.turns.titles.read', None)",
        "from chatui.backends.chat.backend import ChatCompletionsBackend",
        "from chatui import backends",
        "from chatui.documents.inside import html",
        "from renderer.ocml import document_header",
        "from renderer.markup.htmlx import render",
    ],
)
def test_whatever_else_is_imported_or_patched_is_inside(source: str) -> None:
    assert not black_boxes.is_black_box(source)


def test_what_counts_as_a_door_of_a_pure_room_is_used_from_outside_of_it() -> None:
    """By other rooms, or as the README of the library says."""
    paths = [path for room in ("chatui", "renderer") for path in (ROOT / room).rglob("*.py")]
    imported = {path: set(black_boxes.imported(path.read_text(encoding="utf-8"))) for path in paths}
    published = (ROOT / "renderer/README.md").read_text(encoding="utf-8")
    for room in ROOMS:
        folder = ROOT / room.replace(".", "/")
        used = {name for path, names in imported.items() if not path.is_relative_to(folder) for name in names}
        for door in black_boxes.DOORS[room]:
            assert any(f"{name}.".startswith(f"{door}.") for name in used) or f"{door.replace('.', '/')}.py" in published, door


def test_what_counts_as_a_door_for_packages_is_documented() -> None:
    documented = (ROOT / "docs/tools.md").read_text(encoding="utf-8")
    for door in black_boxes.DOORS["packages with tools"]:
        module, _, name = door.rpartition(".")
        assert f"`{door}" in documented or f"from {module} import {name}\n" in documented, door


def test_this_repository_has_both_kinds() -> None:
    kinds = {black_boxes.is_black_box(path.read_text(encoding="utf-8")) for path in black_boxes.files()}
    assert kinds == {True, False}


@pytest.mark.parametrize(
    ("test", "held"),
    [
        ("from chatui.turns.titles import read", True),
        ("from chatui.turns import titles\ntitles.read()", True),
        ("import chatui.turns.titles\nchatui.turns.titles.read().strip()", True),
        ("import chatui.turns.titles as made\ndef test():\n    made.read()", True),
        ("def test(monkeypatch):\n    monkeypatch.setattr('chatui.turns.titles.read', None)", True),
        ("from chatui.turns import titles\ntitles.shown()\ntitles.LONGEST", False),
        ("from chatui.turns.titles import shown\n'read'", False),
        ("from chatui.tools.functions import tool", False),
        ("from chatui.turns.titles import read\nfrom chatui.tools.functions import tool", True),
    ],
)
def test_inside_is_what_no_other_room_uses_and_no_readme_publishes(test: str, held: bool, tmp_path: Path) -> None:
    sources = {
        "chatui/turns/titles.py": "LONGEST = 1\ndef read(): ...\ndef shown(): ...",
        "chatui/turns/ending.py": "from chatui.turns.titles import read",
        "chatui/tools/functions.py": "def tool(): ...",
        "chatui/web/pages.py": "from chatui.turns import titles\ntitles.shown()",
        "tests/support/titles.py": "from chatui.turns.titles import read",
        "renderer/ocml/document.py": "def parse(): ...",
        "renderer/README.md": "```python\nfrom renderer.ocml import document\ndocument.parse()\n```",
        "tests/test_parse.py": "from renderer.ocml.document import parse",
        "tests/test_titles.py": test,
    }
    for path, source in sources.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(source)
    assert black_boxes.inside(tmp_path) == ({"chatui.turns.titles.read": ["tests/test_titles.py"]} if held else {})
