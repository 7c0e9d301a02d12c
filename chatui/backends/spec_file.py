"""Reads the operator's TOML file of backends: the valid ones, and a sentence for each mistake."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chatui.backends.spec import BackendSpec, without_retired
from chatui.operator_files import OperatorFile


@dataclass(frozen=True, slots=True)
class SpecFile:
    """The content of a file: the valid specs, in its order, a sentence for each problem, and one for each setting that does nothing."""

    specs: tuple[BackendSpec, ...] = ()
    problems: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()


def read_file(path: Path) -> SpecFile:
    """The ``[[backend]]`` tables of a TOML file. Invalid tables are left out and reported; never raises for the content of a file."""
    file = OperatorFile(path, ("backend",))
    if file.is_readable and file.content.get("backend", []) == []:
        file.problems.append("there is no [[backend]] in it")
    specs: list[BackendSpec] = []
    retired: list[str] = []
    for place, table in file.tables("backend"):
        kept, old = without_retired(table)
        retired += [f"{place}: {sentence}" for sentence in old]
        spec = file.checked(place, BackendSpec, kept)
        if spec and file.claim(place, name=spec.name):
            specs.append(spec)
    return SpecFile(tuple(specs), tuple(file.problems), tuple(retired))
