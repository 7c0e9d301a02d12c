"""What a newcomer reads first is there and true: the first sentence of each module, and the names in the first pages."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.sources import ROOT, all_paths, python_sources
from tests.support.cases import for_each

ARCHITECTURE = ROOT / "ARCHITECTURE.md"
DOCSTRING = re.compile(r'(?:#[^\n]*\n|\n)*r?"""(.+?)(?:\n\n|""")', re.DOTALL)
"""What begins a module, behind comments; up to the first blank line."""
GENERATED = ("chatui/migrations/",)
MADE = ("dist/", "var/")
"""What commands make."""
PREFIXES = ("", "chatui/", "renderer/", "static/", "static/js/", "templates/", "tests/", "docs/")
ENDINGS = ("", ".py", ".js", "/__init__.py")


@for_each(python_sources("chatui/", "renderer/", "tests/"))
def test_each_module_begins_with_one_sentence_that_says_what_it_is_for(source) -> None:
    if source.is_in(*GENERATED) or not source.text.strip():
        return
    # Read off the text: to parse every test for it takes seconds.
    found = DOCSTRING.match(source.text)
    first_line = found[1].strip().replace("\n", " ") if found else ""
    assert re.fullmatch(r"\S.{10,}[.:?]", first_line), f"{source.path} does not say what it is for: {first_line!r}"


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"])
def test_each_file_and_module_that_a_first_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    names = [name for name in re.findall(r"`([^`\s]+)`", text) if looks_like_a_place(name) and not name.startswith(MADE)]
    assert names, f"{page} names nothing, so this test would prove nothing"
    assert [name for name in names if not exists(name)] == [], f"{page} names what is not there: write its new name"


def test_the_layers_of_the_architecture_are_those_of_the_import_contracts() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8").split("\n## Rooms", 1)[1]
    rooms: dict[int, set[str]] = {}
    for number, names in re.findall(r"^\| (\d+) \| ([^|]+) \|", text.split("\n## ", 1)[0], re.MULTILINE):
        rooms.setdefault(int(number), set()).update(name.removesuffix(".py") for name in re.findall(r"`([^`]+)`", names))
    assert rooms == dict(enumerate(layers("chatui"), 1)), "write into the table of ARCHITECTURE.md what pyproject.toml has"
    [sentence] = re.findall(r"`renderer`, whose layers are, from above: ([^.]+)\.", text)
    named = [set(re.split(r",\s+", layer.strip())) for layer in sentence.split(";")]
    assert [{"__main__"}, *named] == layers("renderer"), "write into the sentence of ARCHITECTURE.md what pyproject.toml has"


def layers(package: str) -> list[set[str]]:
    """The layers of a package by its import contract, from above."""
    [contract] = [contract for contract in contracts() if contract["name"] == f"the layers of {package}"]
    return [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]


def contracts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    return found


def test_each_edge_that_exists_is_held_to_the_edge_contract() -> None:
    (edge,) = [contract for contract in contracts() if contract["name"].startswith("the edges")]
    here = {f"chatui.{name}" for name in ("live", "web", "api") if (ROOT / "chatui" / name).is_dir()}
    assert here
    assert here <= set(edge["source_modules"]), "write it into source_modules of the contract “the edges…” in pyproject.toml"


def looks_like_a_place(name: str) -> bool:
    """Whether a name in backquotes means a file, a directory, a module or something in a module, rather than an event or a word."""
    if re.search(r"[<>*{}|:=…\"'()]", name) or name.startswith(("/", "-", ".", "#")):
        return False
    if re.fullmatch(r"[\w./-]+\.(?:py|js|css|html|md|toml|yaml|json|txt)", name):
        return True
    return "/" in name or name.split(".")[0] in {"chatui", "renderer", "tests"}


def exists(name: str) -> bool:
    """Whether a file, directory or module of that name is there, and, after a dot, what it should hold."""
    if _files(name):
        return True
    path, dot, member = name.rpartition(".")
    pattern = re.compile(rf"^\s*(?:class |(?:async )?def |export .*)?{re.escape(member)}\b", re.MULTILINE)
    return bool(dot) and any(pattern.search(file.read_text(encoding="utf-8")) for file in _files(path))


def _files(name: str) -> list[Path]:
    bare = name.rstrip("/")
    forms = {bare} if "/" in bare or bare.endswith((".py", ".js", ".css", ".html")) else {bare, bare.replace(".", "/")}
    expected = {f"{prefix}{form}{ending}" for prefix in PREFIXES for form in forms for ending in ENDINGS}
    files = [ROOT / path for path in all_paths() if path in expected or ("/" not in bare and "." in bare and path.endswith(f"/{bare}"))]
    directories = {f"{prefix}{bare}/" for prefix in PREFIXES}
    if not files and any(path.startswith(tuple(directories)) for path in all_paths()):
        return [ROOT / path for path in all_paths() if path.startswith(tuple(directories))]
    return files
