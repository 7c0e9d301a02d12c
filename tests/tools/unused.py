"""``make check``: finds unused code of the product with vulture; code that only tests use counts as unused.

Usage: ``python -m tests.tools.unused``. vulture reads only Python, so this adds names from templates and strings, and leaves out code
that a framework calls: anything that overrides a member of a library's class. Other exceptions are in ``STAYS``, with the reason.
"""

import ast
import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from keyword import iskeyword
from pathlib import Path

import django
import vulture
from django.conf import global_settings

from tests.support.places import ROOT

PRODUCT = ("chatui", "renderer", "manage.py")
GENERATED = "*/migrations/*"

# A function registered by one of these is called by the library.
REGISTERED = ["@register", "@_rule", "@atexit.register", "@field_validator", "@model_validator"]

STAYS = {
    "ChatUiConfig": "found by Django in apps.py",
    "clean_*": "called by Django for the field of a form",
    "get_help_text": "called by Django beside the field of a new password",
    "async_capable": "asked by Django of a middleware",
    "REFUSALS": "read by what writes the sentences of refusals for pages",
    "sync_capable": "asked by Django of a middleware",
    "handler*": "found by Django there too, for errors",
    "*_FORMAT": "found by Django by language",
    "ROOT_URLCONF": "a setting of Django",
    "ASGI_APPLICATION": "a setting of Channels",
    "SERVESTATIC_*": "a setting of servestatic",
    "CONTENT_SECURITY_POLICY": "a setting of django-csp",
    "do_*": "called by http.server",
    "close_connection": "read by http.server",
    "buffer_text": "read by expat, which calls the next three",
    "StartDoctypeDeclHandler": "see there",
    "*ElementHandler": "see there",
    "CharacterDataHandler": "see there",
    "requestFactory": "read by Twisted's connection",
    "_has_been_logged": "read by Django, which logs a response otherwise",
    "health_check_done": "read by Django's connection to PostgreSQL",
    "getconn": "called by Django's connection to PostgreSQL, on a pool",
    "putconn": "see there",
    "server_class": "read by Daphne's command line",
    "_verify": "called by the name of a sub-command",
    "SUMMARY_BLOCKED": "a code in rows of earlier releases",
    "LOW": "a choice that is stored and offered, never named in the code; so are the next two",
    "HIGH": "see there",
    "SERVER": "see there",
    "is_cancelled": "called by tools that teams write",
    "raise_for_error": "see there",
    "calls_wait": "sent to pages, which read it",
    "*_EVENTS": "found by what generates the scripts' types",
}
"""Names, or patterns of names, that are reported as unused but must stay, and why."""


def main() -> int:
    """Print all unused names; 1 if there are any."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
    django.setup()
    found = unused(ROOT, PRODUCT)
    excused = {pattern for pattern in STAYS for item in found if fnmatchcase(item.name, pattern)}
    problems = [item.line for item in found if not any(fnmatchcase(item.name, pattern) for pattern in STAYS)]
    problems += [f"{pattern} in STAYS is no longer needed" for pattern in STAYS if pattern not in excused]
    print(*problems, sep="\n")
    return 1 if problems else 0


@dataclass(frozen=True, slots=True)
class Unused:
    """An unused name, and a line with its place."""

    name: str
    line: str


def unused(root: Path, product: Iterable[str]) -> list[Unused]:
    """The unused names below these files and directories of ``root``, from which they can be imported."""
    places = [root / name for name in product]
    sources = [source for place in places for source in ([place] if place.is_file() else place.rglob("*.py"))]
    search = vulture.Vulture(ignore_decorators=REGISTERED)
    search.scavenge([str(place) for place in places], exclude=[GENERATED])
    search.scan(
        "\n".join(f"_.{name}" for name in sorted({*_named_in_templates(root), *_named_in_strings(sources)}) if not iskeyword(name)),
        filename="names in templates and strings",
    )
    return [
        Unused(item.name, f"{place.as_posix()}:{item.first_lineno}: unused {item.typ} {item.name}")
        for item in search.get_unused_code(min_confidence=60)
        if not _is_called_by_a_library(root, place := Path(item.filename).relative_to(root), item.name, item.first_lineno)
    ]


_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def _named_in_templates(root: Path) -> Iterator[str]:
    for template in (root / "templates").rglob("*.html"):
        for tag in re.findall(r"{[{%](.*?)[}%]}", template.read_text(encoding="utf-8")):
            yield from re.findall(r"[A-Za-z_]\w*", tag)


def _named_in_strings(sources: Iterable[Path]) -> Iterator[str]:
    """The last part of a dotted name, the handler of a message ``like.this``, and the columns of a Django look-up."""
    for path in sources:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAME.fullmatch(node.value):
                yield node.value.rpartition(".")[2]
                yield node.value.replace(".", "_")
            if isinstance(node, ast.keyword) and node.arg and "__" in node.arg.strip("_"):
                yield from filter(None, node.arg.split("__"))


def _is_called_by_a_library(root: Path, path: Path, name: str, line: int) -> bool:
    """Whether it overrides a member of a library's class, is a parameter of such a member, a setting of Django, or in a class ``Meta``."""
    if path.name == "settings.py":
        return hasattr(global_settings, name)
    tree = _tree(root / path)
    names = [name, *_around(tree, line, (ast.FunctionDef, ast.AsyncFunctionDef))]
    classes = list(_around(tree, line, (ast.ClassDef,)))
    if "Meta" in classes or any(inner.startswith("__") for inner in names):
        return True
    return any(hasattr(base, inner) for base in _library_bases(path, classes) for inner in names)


def _around(tree: ast.Module, line: int, kind: tuple[type[ast.AST], ...]) -> Iterator[str]:
    """The names of the classes, or functions, around a line, the outermost first."""
    for node in ast.walk(tree):
        if isinstance(node, kind) and isinstance(node, _Named) and node.lineno <= line <= (node.end_lineno or line):
            yield node.name


_Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _library_bases(path: Path, classes: list[str]) -> Iterator[type]:
    """The library classes from which the outermost of these classes inherits."""
    if not classes:
        return
    created = getattr(importlib.import_module(".".join(path.with_suffix("").parts)), classes[0], None)
    for base in getattr(created, "__mro__", ()):
        if base not in (object, created) and base.__module__.partition(".")[0] not in PRODUCT:
            yield base


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
