"""The project's own files, as the tests of the source text read them."""

import ast
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_MADE = {".git", ".venv", ".cache", "node_modules", "__pycache__", "var"}


@dataclass(frozen=True, slots=True)
class Source:
    """One text file of the repository: its path from the root, with slashes, and its text."""

    path: str
    text: str

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def is_in(self, *places: str) -> bool:
        """Whether the file is one of ``places``, or below one of them that ends in a slash."""
        return any(self.path.startswith(place) if place.endswith("/") else self.path == place for place in places)

    def tree(self) -> ast.Module:
        """The syntax tree of a Python file; the same one for every test, so none may change it."""
        return _parsed(self)

    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree. Traversing all trees takes as long as parsing them, so it is done once."""
        return _nodes_of(self)


@cache
def _parsed(source: Source) -> ast.Module:
    try:
        return ast.parse(source.text, filename=source.path)
    except SystemError:
        # Python 3.11 counts the depth of a tree for all threads together, so it can be wrong if another one parses at the same time.
        return ast.parse(source.text, filename=source.path)


@cache
def _nodes_of(source: Source) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(source.tree()))


@cache
def all_paths() -> tuple[str, ...]:
    """Every file that is in the repository or would be with the next commit."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return tuple(sorted(path for path in done.stdout.split("\0") if path and (ROOT / path).is_file()))
    return tuple(sorted(_files_on_disk()))  # an unpacked archive has no git


def _files_on_disk() -> Iterator[str]:
    for directory, names, files in os.walk(ROOT):
        names[:] = [name for name in names if name not in _MADE]
        yield from (Path(directory, name).relative_to(ROOT).as_posix() for name in files)


@cache
def all_sources() -> tuple[Source, ...]:
    """Every text file. What is no UTF-8 is data, and left out."""
    return tuple(source for path in all_paths() if (source := _read(path)))


def _read(path: str) -> Source | None:
    try:
        return Source(path, (ROOT / path).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        return None


def python_sources(*places: str) -> list[Source]:
    """The Python files below ``places``, by default the product's own."""
    return [source for source in all_sources() if source.path.endswith(".py") and source.is_in(*(places or ("chatui/", "renderer/")))]
