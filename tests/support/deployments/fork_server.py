"""Starts programs of the product by forking a process that has imported the packages they need: a start costs a third of the time.

Only packages and ``renderer`` are imported beforehand, never the product: its modules read settings, and each program has its own.
``process.py`` starts this file and speaks to it over a socket, its standard input: each message is one JSON object with ``arguments``
(as for ``python``), ``environment`` and ``directory``, and three descriptors: where the program's output and its errors go, and a pipe
to which its ``END`` is written (a negative exit code is the number of a signal). It ends with its socket.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

LONGEST_MESSAGE = 1_000_000
END = struct.Struct("id")
"""What is told of an end: the exit code, and the seconds of a processor that it took."""
ROOT = Path(__file__).resolve().parents[3]
_INSTALL_A_REACTOR = ("daphne", "twisted.internet.reactor", "twisted.web", "autobahn.twisted")
"""Daphne chooses Twisted's event loop when it is imported, and that loop belongs to one process."""


def import_packages(names: list[str]) -> None:
    """Import what can be imported without the product's settings."""
    for name in names:
        if not name.startswith(_INSTALL_A_REACTOR):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    assert not {"twisted.internet.reactor", "chatui"} & sys.modules.keys()
    gc.collect()
    gc.freeze()


def serve(control: socket.socket) -> list[str]:
    """Fork for each message until the socket ends. Returns in a forked process only, with what it is to run."""
    ends: dict[int, tuple[int, int]] = {}  # by the descriptor of a process: its id, and where its exit code goes
    while True:
        ready, _, _ = select.select([control.fileno(), *ends], [], [])
        for descriptor in (each for each in ready if each in ends):
            process, pipe = ends.pop(descriptor)
            _, status, used = os.wait4(process, 0)
            os.close(descriptor)
            with contextlib.suppress(BrokenPipeError):
                os.write(pipe, END.pack(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime))
            os.close(pipe)
        if control.fileno() in ready:
            message, descriptors, _, _ = socket.recv_fds(control, LONGEST_MESSAGE, 3)
            if not message:
                os._exit(0)
            process = os.fork()
            if not process:
                control.detach()  # what follows closes its descriptor, and the number may be given to something else
                return _become(json.loads(message), descriptors)
            output, errors, pipe = descriptors
            os.close(output)
            os.close(errors)
            control.send(struct.pack("i", process))
            ends[os.pidfd_open(process)] = process, pipe


def _become(program: dict[str, Any], descriptors: list[int]) -> list[str]:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, *descriptors[:2])):
        os.dup2(descriptor, number)
    os.closerange(3, max(os.open(os.devnull, os.O_RDONLY), *descriptors) + 1000)
    os.environ.clear()
    os.environ.update(program["environment"])
    os.chdir(program["directory"])
    return list(program["arguments"])


def run(arguments: list[str]) -> None:
    """As ``python`` would: a file, or ``-m`` and a module."""
    sys.path[0] = str(ROOT)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever presses a key ends the tests, and they end this
    sys.path[0] = str(ROOT)
    import_packages(json.loads(Path(sys.argv[1]).read_text("utf-8")))
    run(serve(socket.socket(fileno=os.dup(0))))
