"""The systemd units run commands that exist, stop only after the drain, and give the sandbox the access that it needs."""

import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from chatui.env import Environment
from tests.support.places import ROOT

UNITS = sorted((ROOT / "deploy/systemd").iterdir())


def values(unit: Path, name: str) -> list[str]:
    """The value of each ``name=`` line."""
    lines = unit.read_text(encoding="utf-8").splitlines()
    return [value for key, mark, value in (line.partition("=") for line in lines) if mark and key == name]


def test_each_command_exists_and_takes_its_arguments() -> None:
    commands = [command.split() for unit in UNITS for command in values(unit, "ExecStart")]
    assert len(commands) == 4
    for python, manage, name, *arguments in commands:
        assert (python, manage) == ("/srv/chatui/.venv/bin/python", "manage.py")
        load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(arguments)


def test_a_stop_takes_longer_than_the_drain_and_the_sandbox_may_make_namespaces() -> None:
    service = ROOT / "deploy/systemd/chatui.service"
    assert int(values(service, "TimeoutStopSec")[0]) > Environment.model_fields["drain_seconds"].default + 15
    assert not [name for name in ("PrivateUsers", "RestrictNamespaces", "ProtectProc") if values(service, name)]
    assert all(values(unit, "UMask") == ["0077"] and values(unit, "User") == ["chatui"] for unit in UNITS if unit.suffix == ".service")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed here.")
def test_systemd_accepts_the_units_without_warnings() -> None:
    errors = subprocess.run(["systemd-analyze", "verify", *map(str, UNITS)], capture_output=True, text=True, check=False).stderr
    assert "Unknown" not in errors, errors
