"""The virtual environment is created with the first Python on the PATH, unless another one is much faster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.interpreter import choose
from tests.tools.interpreter.choose import Interpreter

SLOW, FAST, FASTER = Interpreter("/slow/python3", 0.020), Interpreter("/fast/python3", 0.012), Interpreter("/faster/python3", 0.011)


def place(directory: Path, name: str, script: str) -> str:
    """A place on the PATH with one command."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)
    return str(directory)


@pytest.mark.parametrize(
    ("found", "expected"),
    [([], None), ([SLOW], SLOW), ([SLOW, FAST, FASTER], FASTER), ([FAST, SLOW], FAST), ([FAST, FASTER], FAST)],
    ids=["none", "only-one", "slow-first", "fast-first", "about-as-fast"],
)
def test_the_first_is_chosen_unless_another_is_much_faster(found: list[Interpreter], expected: Interpreter | None) -> None:
    assert choose.chosen(found) == expected


def test_each_is_found_once_and_what_cannot_be_used_is_passed_over(tmp_path: Path) -> None:
    real = place(tmp_path / "real", "python3", f'exec "{sys.executable}" "$@"')
    again = place(tmp_path / "again", "python3.11", f'exec "{sys.executable}" "$@"')
    broken = place(tmp_path / "broken", "python3", "echo this is no answer")
    failing = place(tmp_path / "failing", "python3", "exit 1")
    old = place(tmp_path / "old", "python3", """echo '["/old/python3", false, 0.001]'""")
    strange = [
        place(tmp_path / f"strange{number}", "python3", f"echo '{said}'")
        for number, said in enumerate(("7", "[1, true, 0.1]", '["x", 1, 1]'))
    ]
    impossible = [str(tmp_path / ("x" * 5000)), str(tmp_path / "real" / "python3")]
    [found] = choose.found(":".join([str(tmp_path / "missing"), "", *strange, *impossible, broken, failing, old, real, again]))
    assert found.path == sys.executable and 0 < found.seconds < choose.SECONDS


def test_the_command_prints_one_path_and_says_why(tmp_path: Path) -> None:
    slow = place(tmp_path / "slow", "python3", """echo '["/slow/python3", true, 9.0]'""")
    real = place(tmp_path / "real", "python3", f'exec "{sys.executable}" "$@"')
    command = [sys.executable, choose.__file__]
    done = subprocess.run(command, env={"PATH": f"{slow}:{real}"}, capture_output=True, text=True, check=True)
    assert done.stdout == f"{sys.executable}\n"
    assert done.stderr.startswith(f"{sys.executable} is ") and "times as fast as /slow/python3" in done.stderr
    none = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (none.returncode, none.stdout) == (1, "")
