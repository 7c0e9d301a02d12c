"""The systemd units run commands that exist, stop only after the drain, and give the sandbox the access that it needs."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from chatui.env import Environment
from tests.operating.from_docs import block
from tests.support.places import ROOT

UNITS = sorted((ROOT / "deploy/systemd").iterdir())
CHANGES = {"docs/operating/service.md": "chatui-daily.service", "docs/operating/processes.md": "chatui.service"}
"""The pages that print a change of a unit (``systemctl edit``), and the unit."""


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


@pytest.mark.parametrize("page", CHANGES)
def test_a_change_of_a_unit_runs_commands_that_exist(page: str, tmp_path: Path) -> None:
    program = "/srv/chatui/.venv/bin/chatui "
    change, unit = tmp_path / "change", ROOT / "deploy/systemd" / CHANGES[page]
    change.write_text(block(page, "[Service]"), encoding="utf-8")
    emptied, *commands = values(change, "ExecStart")
    assert emptied == "", "otherwise the commands of the unit stay"
    ours = [command.removeprefix(program).split() for command in commands if command.startswith(program)]
    for name, *arguments in ours:
        load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(arguments)
    before = [command.split()[2:] for command in values(unit, "ExecStart")]
    assert [command[0] for command in ours] == [command[0] for command in before]
    assert [command for command in before if command not in ours] in (
        [["serve"]],
        [["backup", "/mnt/elsewhere", "--to", "/etc/chatui-backup.pub"]],
    )
    for command in commands:
        if not command.startswith(program):
            # systemd passes ``$$`` on as ``$``.
            done = subprocess.run(shlex.split(command.replace("$$", "$")), env={}, capture_output=True, text=True, check=False)
            assert done.returncode and "CHATUI_DATABASE_URL" in done.stderr, "pg_dump without an address dumps another database"
