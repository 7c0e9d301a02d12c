"""Tries, from inside a process that reads files, everything that its sandbox must prevent."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Callable

from chatui.documents.inside.text_collector import TextCollector

DONE = "all were tried"


def read(data: bytes, collector: TextCollector) -> None:
    """Write the name of each attempt that succeeds, and finally ``DONE``. ``data``: the path of a readable file."""
    collector.begin()
    attempts: dict[str, Callable[[], object]] = {
        "read a file": lambda: os.close(os.open(data, os.O_RDONLY)),
        "list a directory": lambda: os.listdir("/"),
        "write a file": tempfile.TemporaryFile,
        "open a socket": socket.socket,
        "open a local socket": socket.socketpair,
        "start a process": _fork,
        "start a program": _execute,
        "send a signal": lambda: os.kill(os.getppid(), 0),
        "make a file in memory": lambda: os.memfd_create("x"),
    }
    for name, attempt in attempts.items():
        with contextlib.suppress(Exception):
            attempt()
            collector.put(f"{name}\n")
    collector.put(DONE)


def _execute() -> None:
    # An existing program would replace this process.
    with contextlib.suppress(FileNotFoundError):
        os.execv("/no/such/program", ["program"])  # noqa: S606 - see above


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def spin(data: bytes, collector: TextCollector) -> None:
    while True:
        pass


def fill(data: bytes, collector: TextCollector) -> None:
    taken = []
    while True:
        taken.append(bytes(1 << 24))
