"""The program of the process that reads files, as a test changes it."""

from collections.abc import Callable
from typing import Any

import pytest

from chatui import processes


def change_program(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str], seconds: float | None = None) -> None:
    """From now on, such a process runs what ``change`` makes of its program, and for at most so many ``seconds``."""
    run = processes.run

    def run_changed(command: list[str], *given: Any, **named: Any) -> Any:
        at = command.index("-c") + 1
        if seconds is not None:
            named["seconds"] = seconds
        return run([*command[:at], change(command[at]), *command[at + 1 :]], *given, **named)

    monkeypatch.setattr(processes, "run", run_changed)


def begin_with(statements: str) -> Callable[[str], str]:
    """A change: run these statements where the program's own work would begin."""

    def change(program: str) -> str:
        assert "worker.main()" in program
        return program.replace("worker.main()", f"{statements}; worker.main()")

    return change


unconfined = begin_with("worker.sandbox.confine = lambda: None")
"""A change: read without the filter of system calls."""
