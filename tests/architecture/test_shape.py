"""The shape of the code: functions are short, and imports lead down and never in a circle."""

import ast
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

from tests.architecture.sources import ROOT, Source, python_sources

MAX_FUNCTION_LINES = 44
ROOTS = ("chatui", "renderer")


def modules() -> list[Source]:
    """The product's modules, without those that only name a package and those that Django writes."""
    found = [source for source in python_sources() if not source.path.endswith("/__init__.py") and "/migrations/" not in source.path]
    assert len(found) > 100
    return found


def test_no_function_is_too_long_to_be_seen_at_once() -> None:
    long = [
        f"{source.path}:{node.lineno} {node.name}"
        for source in modules()
        for node in source.nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert long == [], f"take the function apart: it may have {MAX_FUNCTION_LINES} lines"


@cache
def imports() -> frozenset[tuple[str, str]]:
    """Who imports whom among the product's own modules, also where only an annotation needs the name."""
    graph = grimp.build_graph(*ROOTS, cache_dir=None, exclude_type_checking_imports=False)
    found = frozenset((importer, imported) for importer in graph.modules for imported in graph.find_modules_directly_imported_by(importer))
    assert len(found) > 500
    return found


def within(package: str, edges: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """The imports between the children of a package, each with everything below it: the siblings in one folder."""
    pairs = {(child_of(package, importer), child_of(package, imported)) for importer, imported in edges}
    return {(one, other) for one, other in pairs if one and other and one != other}


def child_of(package: str, module: str) -> str:
    """The child of ``package`` that ``module`` is, or is below; empty where it is not in there."""
    below = module.removeprefix(f"{package}.")
    return "" if below == module else below.split(".")[0]


def circle(edges: Iterable[tuple[str, str]]) -> list[str]:
    """A circle of imports, if there is one."""
    sorter = TopologicalSorter[str]()
    for importer, imported in edges:
        sorter.add(importer, imported)
    try:
        sorter.prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.slow
def test_no_two_that_stand_side_by_side_lead_back_to_each_other() -> None:
    packages = {module.rpartition(".")[0] for module, _ in imports()} - {""}
    circles = {package: found for package in packages if (found := circle(within(package, imports())))}
    assert circles == {}, "each imports the one before it: move what two of them need into a module below both"


@pytest.mark.parametrize("root", ROOTS)
def test_no_import_leads_up(root: str) -> None:
    rank = {name: number for number, line in enumerate(layers(root)) for name in line}
    edges = within(root, imports())
    lost = {name for edge in edges for name in edge} - rank.keys()
    assert lost == set(), f"write it into a layer of the contract “the layers of {root}” in pyproject.toml"
    assert len(edges) > 10
    up = {(one, other) for one, other in edges if rank[one] > rank[other]}
    assert up == set(), f"imports lead down: move it, or its layer in the contract “the layers of {root}” in pyproject.toml"


def layers(root: str) -> list[list[str]]:
    """The lines of the contract in pyproject.toml, from above."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    [contract] = [contract for contract in contracts if contract.get("containers") == [root]]
    return [re.findall(r"\w+", line) for line in contract["layers"]]
