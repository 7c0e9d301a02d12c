"""The search for unused code finds code that nothing uses, and ignores code that only a library calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.unused import unused

SOURCE = """
from http.server import BaseHTTPRequestHandler


def used():
    return Handler


def left_over(of, no_use):
    return of


if __name__ == "__main__":
    print(used(), "package.module.named_in_a_string")


def named_in_a_string():
    return 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    nobody_asks = 1
    shown_in_a_template = 1

    def log_message(self, format, *arguments):
        return format
"""


def test_what_nothing_uses_is_found_and_what_a_library_calls_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module_with_leftovers.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "page.html").write_text("{% if page.shown_in_a_template %}yes{% endif %}", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = {item.name for item in unused(tmp_path, ["module_with_leftovers.py"])}
    assert found == {"left_over", "no_use", "nobody_asks"}
