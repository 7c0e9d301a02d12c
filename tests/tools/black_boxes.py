"""Counts the test files that hold the product by its doors alone, and survive any change inside; and what tests hold of the inside.

A door is a table, a code or a setting, and of a pure room what it publishes: what goes in, and what comes out. Inside are the functions
and classes that only their own room uses.

Usage: ``python -m tests.tools.black_boxes``, as ``make check`` runs it.
"""

import ast
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.support.places import ROOT

LEAST_PERCENT = 50
"""Whoever makes the share fall below this says why in the commit that lowers it."""
MOST_INSIDE = 120
"""Whoever makes tests hold more of the inside says why in the commit that raises it."""
DOORS: dict[str, tuple[str, ...]] = {
    "tables, codes and settings": ("chatui.codes", "chatui.env", "chatui.models", "chatui.settings", "renderer.errors"),
    # as docs/tools.md has it
    "packages with tools": ("chatui.tools.execution.is_cancelled", "chatui.tools.functions.tool", "chatui.tools.tool.ToolError"),
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


def inside(root: Path) -> dict[str, list[str]]:
    """Each function and class that only its own room uses, no package, and no user of the library as its README says, by its full name,
    with the test files outside tests/support that name it."""
    defined: set[str] = set()
    using, holding = defaultdict[str, set[str]](set), defaultdict[str, list[str]](list)
    for path in sorted(path for folder in (*_PRODUCT, "tests") for path in (root / folder).rglob("*.py")):
        relative, tree = path.relative_to(root), ast.parse(path.read_bytes())
        module = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
        if relative.parts[0] in _PRODUCT:
            definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
            defined |= {f"{module}.{node.name}" for node in definitions}
            for name in _named(tree):
                using[name].add(_room(module))
        elif relative.parts[:2] != ("tests", "support"):
            for name in _named(tree):
                holding[name].append(str(relative))
    published = {*DOORS["packages with tools"], *_in_readme(root / "renderer/README.md")}
    return {name: holding[name] for name in sorted(defined & holding.keys()) if using[name] <= {_room(name)} and name not in published}


def _in_readme(readme: Path) -> set[str]:
    """What the examples for users of the library name."""
    examples = re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL) if readme.exists() else ()
    return {name for example in examples for name in _named(ast.parse(example))}


def _room(name: str) -> str:
    return ".".join(name.split(".")[:2])


def _named(tree: ast.Module) -> set[str]:
    """The full names of whatever a file imports, reaches through what it imports, or writes as a string."""
    nodes = list(ast.walk(tree))
    full = {top: top for top in _PRODUCT}
    for node in nodes:
        match node:
            case ast.Import(names=names):
                full |= {each.asname: each.name for each in names if each.asname}
            case ast.ImportFrom(module=str(module), names=names):
                full |= {each.asname or each.name: f"{module}.{each.name}" for each in names}
    return {*full.values(), *(_dotted(node, full) for node in nodes if isinstance(node, ast.Attribute | ast.Constant))}


def _dotted(node: ast.expr, full: dict[str, str]) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Attribute(value=value, attr=name):
            return f"{_dotted(value, full)}.{name}"
        case ast.Name(id=name):
            return full.get(name, "")
    return ""


def _inside_when_last_counted() -> dict[str, list[str]]:
    git = ("git", "-C", str(ROOT))
    log = (*git, "log", "-1", "--format=%H", "-G^MOST_INSIDE = ", "--", "tests/tools/black_boxes.py")
    commit = subprocess.run(log, check=True, capture_output=True, text=True).stdout.strip()
    archive = subprocess.run((*git, "archive", commit, *_PRODUCT, "tests"), check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(("tar", "-x", "-C", folder), input=archive, check=True)
        return inside(Path(folder))


def main() -> int:
    """Print both; 1 if the share fell or more of the inside is held."""
    every = files()
    count = sum(is_black_box(path.read_text(encoding="utf-8")) for path in every)
    percent = 100 * count / len(every)
    print(f"{count} of {len(every)} test files are black boxes ({percent:.1f} %)")
    held = inside(ROOT)
    print(f"Tests outside tests/support name {len(held)} functions and classes that only their own room uses")
    if percent < LEAST_PERCENT:
        print(f"That is less than {LEAST_PERCENT} %: say why in the commit, and lower LEAST_PERCENT in tests/tools/black_boxes.py.")
    if len(held) > MOST_INSIDE:
        known = _inside_when_last_counted()
        print(f"Those are more than {MOST_INSIDE}. Test these through what other rooms, people, programs or operators use:")
        print(*(f"  {name} in {', '.join(where)}" for name, where in held.items() if name not in known), sep="\n")
        print("or say in the commit why that does not pay, and raise MOST_INSIDE in tests/tools/black_boxes.py.")
    return int(percent < LEAST_PERCENT or len(held) > MOST_INSIDE)


if __name__ == "__main__":
    sys.exit(main())
