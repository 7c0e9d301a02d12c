"""Writes the settings that the doctor recommends, into the operator's file of back ends or to the terminal."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from chatui.backends.spec import writing
from chatui.backends.spec.definition import BackendSpec, without_credentials
from chatui.doctor.advice import name_for, recommended_settings
from chatui.doctor.report import Report
from chatui.env import environment

PRINT = "-"


@dataclass(frozen=True, slots=True)
class WrittenSettings:
    """The result. ``message``: for the operator. ``toml``: the table, or only the changed values. ``place``: the file, if any."""

    message: str
    toml: str
    place: Path | None = None


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The operator's options.

    ``destination``: a file, ``-`` to print, or empty for CHATUI_BACKENDS_FILE. ``name``: of the back end; empty to generate one. ``force``:
    change a back end that is already in the file.
    """

    destination: str
    name: str = ""
    force: bool = False


def write(report: Report, spec: BackendSpec, options: WriteOptions, *, is_new: bool) -> WrittenSettings:
    """Write the settings that ``report`` recommends. ``is_new``: ``spec`` was created from a URL alone.

    Raises:
        ValueError: there is nothing useful to write, the file already has that back end and ``force`` is not set, or it cannot be changed
        safely.
    """
    changes = recommended_settings(report, spec)
    spec = spec.model_copy(update={"name": options.name or name_for(report)}) if is_new else spec
    place = _place(options.destination, spec, is_new=is_new)
    if place is None:
        toml = writing.table(_complete_table(spec, changes))
        return WrittenSettings(f"As settings:\n\n{toml}", toml)
    try:
        before = _read(place) if place.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{place} cannot be read") from error
    if not writing.has_table(before, spec.name):
        table = _complete_table(spec, changes)
        _replace(place, writing.with_new_table(before, table))
        return WrittenSettings(f"{place}: back end {spec.name} was added. It takes effect after a restart.", writing.table(table), place)
    if is_new:
        changes = {name: value for name, value in _complete_table(spec, changes).items() if name != "name"}
    if not changes:
        return WrittenSettings(f"{place}: nothing to change for back end {spec.name}.", "", None)
    toml = "".join(writing.table(changes).splitlines(keepends=True)[1:])
    if not options.force:
        raise ValueError(f"{place} already has a back end {spec.name}. --force makes these changes to it:\n{toml}".rstrip())
    _replace(place, writing.with_changes(before, spec.name, changes))
    return WrittenSettings(f"{place}: back end {spec.name} was changed. It takes effect after a restart.\n{toml}".rstrip(), toml, place)


def _place(destination: str, spec: BackendSpec, *, is_new: bool) -> Path | None:
    """The file to write to; None to print instead, also for a back end that is configured elsewhere: writing it would duplicate it."""
    if destination == PRINT:
        return None
    if destination:
        return Path(destination)
    file = environment().backends_file
    if file is None or not (is_new or (file.exists() and writing.has_table(_read(file), spec.name))):
        return None
    return file


def _complete_table(spec: BackendSpec, changes: dict[str, writing.Value]) -> dict[str, writing.Value]:
    """A complete table: the spec's values that are not defaults, and the changes."""
    defaults = {name: field.get_default(call_default_factory=True) for name, field in BackendSpec.model_fields.items()}
    values = {name: value for name, value in spec.model_dump().items() if value != defaults[name]}
    # The table is printed, and may be stored where others can read it.
    values |= {"proxy": without_credentials(spec.proxy)} if spec.proxy else {}
    return {"name": spec.name, "kind": spec.kind, **values, **changes}


def _read(place: Path) -> str:
    """Read the text without changing its line ends."""
    return place.read_bytes().decode("utf-8")


def _replace(place: Path, text: str) -> None:
    """Replace the file atomically: a server that starts meanwhile reads the old file or the new one."""
    place = place.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        if place.exists():
            shutil.copymode(place, temporary)
        else:
            Path(temporary).chmod(0o640)
        Path(temporary).replace(place)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
