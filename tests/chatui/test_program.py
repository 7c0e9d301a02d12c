"""Sentences name the command that their reader can type: that of the package, or that of a checkout."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from chatui import __version__, program
from tests.support.new_process import forget
from tests.support.places import ROOT

SAYS_ITSELF = {"chatui/program.py", "chatui/command_line.py"}
"""The function, and what runs before the product can be imported, in a checkout only."""


@pytest.mark.parametrize(
    ("started", "named"),
    [
        ("manage.py", "python manage.py purge --heir NAME"),
        ("/srv/chatui/manage.py", "python manage.py purge --heir NAME"),
        ("/opt/chat/bin/chatui", "chatui purge --heir NAME"),
        ("/usr/bin/pytest", "python manage.py purge --heir NAME"),
    ],
)
def test_a_command_is_named_as_this_process_was_started(started: str, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [started])
    forget(program)
    try:
        assert program.command("purge --heir NAME") == named
    finally:
        forget(program)


@pytest.mark.parametrize(
    ("is_checkout", "installed", "named"),
    [(True, "9.9.dev1", __version__), (False, "9.9.dev1", "9.9.dev1"), (False, None, __version__)],
)
def test_the_version_is_that_of_the_installed_package(
    is_checkout: bool, installed: str | None, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(name: str) -> str:
        assert name == "chatui"
        if installed is None:
            raise metadata.PackageNotFoundError
        return installed

    monkeypatch.setattr(metadata, "version", asked)
    monkeypatch.setattr(program, "__file__", program.__file__ if is_checkout else "/opt/chat/lib/chatui/program.py")
    program.version.cache_clear()
    try:
        assert program.version() == named
    finally:
        program.version.cache_clear()


@pytest.mark.parametrize("words", ["--version", "version"])
def test_the_command_says_the_version_of_the_product_and_not_djangos(words: str) -> None:
    said = subprocess.run([sys.executable, ROOT / "manage.py", words], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout == f"{__version__}\n"


def texts(path: Path) -> Iterator[str]:
    """The strings of a module that are no docstrings; all of a template."""
    if path.suffix == ".html":
        yield path.read_text(encoding="utf-8")
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


def test_no_sentence_of_the_product_says_by_itself_how_a_command_is_called() -> None:
    paths = [*(ROOT / "chatui").rglob("*.py"), *(ROOT / "templates").rglob("*.html")]
    assert len(paths) > 400, "the premise"
    found = {str(path.relative_to(ROOT)) for path in paths for text in texts(path) if re.search(r"manage\.py\b", text)}
    assert found == SAYS_ITSELF
