"""Starts programs of the product by forking a process with preloaded modules, which takes a third of the time of a normal start.

Preloaded are packages, ``renderer``, and those modules of the product that can be imported without settings. Each program imports the
others itself, with its own settings.
``process.py`` starts this file and talks to it over a socket, its standard input: each message is one JSON object with ``arguments``
(as for ``python``), ``environment`` and ``directory``, and three descriptors: for the program's output, for its errors, and a pipe
to which its ``END`` is written (a negative exit code is the number of a signal). It ends when its socket closes.
"""

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

MAX_MESSAGE_BYTES = 1_000_000
END = struct.Struct("id")
"""The report of an end: the exit code, and the processor seconds used."""
ROOT = Path(__file__).resolve().parents[3]
_OF_ONE_PROCESS = (
    "daphne",
    "twisted.internet.reactor",
    "twisted.web",
    "autobahn.twisted",
    "chatui.asgi",
    "chatui.settings",
    "chatui.wire.bus",
    "chatui.observability.measures",
)
"""Not preloaded: Daphne chooses Twisted's event loop when it is imported, and that loop belongs to one process, as do settings, whether
anything is counted, and the name by which processes know one another. Modules that import one of these are left to the programs as well."""


def import_modules(names: list[str]) -> None:
    """Import the modules that need no settings and are the same in every process. ``names``: each before those that it imports."""
    refused: Any = dict.fromkeys(_OF_ONE_PROCESS)
    sys.modules.update(refused)  # importing one of these is an error
    allowed = [name for name in names if not name.startswith(_OF_ONE_PROCESS)]
    own_names = [name for name in allowed if _is_ours(name)]
    for name in allowed:
        if not _is_ours(name):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    for name in reversed(own_names):
        _import_whole(name)
    assert not [name for name in _OF_ONE_PROCESS if sys.modules.pop(name)]
    assert "DJANGO_SETTINGS_MODULE" not in os.environ, "a module has chosen settings for all"
    gc.collect()
    gc.freeze()


def _import_whole(name: str) -> None:
    """Import a module of the product completely or not at all: a partial import may hold references to a package that is imported again."""
    before = set(sys.modules)
    try:
        importlib.import_module(name)
    except Exception:  # noqa: BLE001 -- a program will have whatever is missing here, or fail by itself
        for each in [each for each in sys.modules if _is_ours(each) and each not in before]:
            _forget(each)


def _forget(name: str) -> None:
    """Remove the module, also from its package. A module loaded twice would have two of each class and counter."""
    module = sys.modules.pop(name)
    package, _, last = name.rpartition(".")
    if package and getattr(sys.modules.get(package), last, None) is module:
        delattr(sys.modules[package], last)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "chatui"


def serve(control: socket.socket) -> list[str]:
    """Fork for each message until the socket closes. Returns only in a forked process, with the arguments that it is to run."""
    ends: dict[int, tuple[int, int]] = {}  # by the process's descriptor: its id, and the pipe for its exit code
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
            message, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE_BYTES, 3)
            if not message:
                os._exit(0)
            process = os.fork()
            if not process:
                control.detach()  # its descriptor is closed below, and the number may be reused
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
    """Run them as ``python`` would: a file, or ``-m`` and a module."""
    sys.path[0] = str(ROOT)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, and they end this process
    sys.path[0] = str(ROOT)
    import_modules(json.loads(Path(sys.argv[1]).read_text("utf-8")))
    run(serve(socket.socket(fileno=os.dup(0))))
