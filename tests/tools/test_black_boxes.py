"""What counts as a black box among the tests."""

import pytest

from tests.tools import black_boxes


@pytest.mark.parametrize(
    "source",
    [
        "import json\nfrom tests.support import served",
        "from chatui.models.turn import Turn",
        "from chatui.codes import ProductCode\nfrom renderer.errors import Code",
        "def test(settings):\n    settings.setattr(settings, 'X', 1)",
    ],
)
def test_tables_codes_and_settings_are_open_to_every_test(source: str) -> None:
    assert black_boxes.is_black_box(source)


@pytest.mark.parametrize(
    "source",
    [
        "from chatui.turns import running",
        "import chatui.modelsx",
        "from chatui import asgi",
        "def test():\n    from renderer.gate import show",
        "def test(monkeypatch):\n    monkeypatch.setattr('chatui.turns.titles.read', None)",
    ],
)
def test_whatever_else_is_imported_or_patched_is_inside(source: str) -> None:
    assert not black_boxes.is_black_box(source)


def test_this_repository_has_both_kinds() -> None:
    kinds = {black_boxes.is_black_box(path.read_text(encoding="utf-8")) for path in black_boxes.files()}
    assert kinds == {True, False}
