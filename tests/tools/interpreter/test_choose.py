"""The virtual environment is created with the first Python on the PATH, unless another one is much faster."""

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


def test_the_command_prints_one_path_and_says_why(tmp_path: Path) -> None:
    slow = place(tmp_path / "slow", "python3", """echo '["/slow/python3", true, 9.0]'""")
    real = place(tmp_path / "real", "python3", f'exec "{sys.executable}" "$@"')
    command = [sys.executable, choose.__file__]
    done = subprocess.run(command, env={"PATH": f"{slow}:{real}"}, capture_output=True, text=True, check=True)
    assert done.stdout == f"{sys.executable}\n"
    assert done.stderr.startswith(f"{sys.executable} is ") and "times as fast as /slow/python3" in done.stderr
    none = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (none.returncode, none.stdout) == (1, "")
