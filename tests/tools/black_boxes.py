"""Counts the test files that hold the product by its doors alone, and survive any change inside.

A door is a table, a code or a setting, and of a pure room what it publishes: what goes in, and what comes out.

Usage: ``python -m tests.tools.black_boxes``, as ``make check`` runs it.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.places import ROOT

LEAST_PERCENT = 42
"""Whoever makes the share fall below this says why in the commit that lowers it."""
DOORS: dict[str, tuple[str, ...]] = {
    "tables, codes and settings": ("chatui.codes", "chatui.env", "chatui.models", "chatui.settings", "renderer.errors"),
    # requests and recordings in, raw events out
    "chatui.backends": ("chatui.answer_formats", *(f"chatui.backends.{name}" for name in ("base", "registry", "route", "spec"))),
    # a file in, text out
    "chatui.documents": tuple(f"chatui.documents.{name}" for name in ("kinds", "limits", "reading")),
    # values, whole transcripts, what a model writes and is sent, who may see what, and HTML
    "renderer": (
        *(f"renderer.{name}" for name in ("events", "formats", "frame_kinds", "frames", "gate", "history", "tokens")),
        *(f"renderer.harmony.{name}" for name in ("hip1", "pieces", "prompt", "reader", "vocabulary")),
        *(f"renderer.markup.{name}" for name in ("citations", "growing", "html", "operator_pages")),
        *(f"renderer.ocml.{name}" for name in ("calls", "document", "interchange")),
        "renderer.activities.lines",
    ),
}
"""By what they belong to: of a pure room, what other rooms and users of the library work with."""
_DOORS = tuple(f"{door}." for doors in DOORS.values() for door in doors)
_PRODUCT = ("chatui", "renderer")


def is_black_box(source: str) -> bool:
    """Whether a test file imports nothing of the product but ``DOORS``."""
    return all(f"{name}.".startswith(_DOORS) for name in imported(source))


def imported(source: str) -> Iterator[str]:
    """Every module of the product that is imported, or named as a string to be patched, such as ``"chatui.turns.titles.read"``."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found = [each.name for each in names]
            case ast.ImportFrom(module=str(module), names=names):
                found = [f"{module}.{each.name}" for each in names]
            case ast.Call(func=ast.Attribute(attr="setattr"), args=[ast.Constant(value=str(place)), *_]):
                found = [place]
            case _:
                continue
        yield from (name for name in found if name.partition(".")[0] in _PRODUCT)


def files() -> list[Path]:
    """All files with tests."""
    return sorted((ROOT / "tests").rglob("test_*.py"))


def main() -> int:
    """Print the share; 1 if it fell."""
    every = files()
    count = sum(is_black_box(path.read_text(encoding="utf-8")) for path in every)
    percent = 100 * count / len(every)
    print(f"{count} of {len(every)} test files are black boxes ({percent:.1f} %)")
    if percent >= LEAST_PERCENT:
        return 0
    print(f"That is less than {LEAST_PERCENT} %: say why in the commit, and lower LEAST_PERCENT in tests/tools/black_boxes.py.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
