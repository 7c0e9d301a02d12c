"""Runs a program of the product in a separate process, forked where that makes no difference, because it starts in a third of the time."""

import atexit
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from tests.support.deployments import fork_server, prepared
from tests.support.places import ROOT

_FORKED = {"manage.py", "-m"}
"""Arguments with which the product's programs and those of the tests begin. Other programs are started without forking."""
_READ_AT_START = ("PYTHON", "LD_", "FAKETIME", "MALLOC_")
"""Prefixes of the variables that Python, the loader and libraries read when a process starts."""


_ended_seconds: list[float] = []


def processor_seconds() -> float:
    """Processor seconds of the forked programs that have ended; the system reports them only once the fork server has ended."""
    return sum(_ended_seconds)


class Forked:
    """A process started by the fork server, with the interface of ``subprocess.Popen``."""

    def __init__(
        self, server: "_ForkServer", arguments: Sequence[str], environment: Mapping[str, str], files: tuple[IO[str], IO[str]]
    ) -> None:
        """``files``: for its output, and for its errors."""
        self.args = [sys.executable, *arguments]
        self.returncode: int | None = None
        self._end, answer = os.pipe()
        try:
            self.pid = server.fork(arguments, environment, (*(file.fileno() for file in files), answer))
        finally:
            os.close(answer)

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            os.close(self._end)

    def poll(self) -> int | None:
        """Its exit code (negative: the number of the signal that ended it); None while it runs."""
        return self._wait(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, at most so many seconds: ``subprocess.TimeoutExpired``."""
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._end], [], [], timeout)[0]:
            answer = os.read(self._end, fork_server.END.size)
            # Without a report, the fork server itself is gone.
            self.returncode, seconds = fork_server.END.unpack(answer) if answer else (-signal.SIGKILL, 0.0)
            _ended_seconds.append(seconds)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to this process only. Does nothing if it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Process = subprocess.Popen[bytes] | Forked


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}


class _ForkServer:
    """The fork server, one for each pytest process."""

    def __init__(self) -> None:
        # Without the settings' variables, so that no package reads any before a program has its own.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("CHATUI_", "DJANGO_"))}
        environment["PYTHONWARNINGS"] = "default"
        self._read_at_start = _read_at_start(environment)
        self._control, other = socket.socketpair()
        self._one_at_a_time = threading.Lock()
        program = [sys.executable, fork_server.__file__, str(prepared.imported_modules())]
        self._process = subprocess.Popen(program, cwd=ROOT, env=environment, stdin=other.fileno())
        other.close()
        atexit.register(self._stop)

    def fork(self, arguments: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int]) -> int:
        """Start a program. Returns the process's id."""
        message = {"arguments": list(arguments), "environment": dict(environment), "directory": str(ROOT)}
        with self._one_at_a_time:
            socket.send_fds(self._control, [json.dumps(message).encode()], descriptors)
            return int(struct.unpack("i", self._control.recv(4))[0])

    def suits(self, arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
        """Whether a forked program would behave like a fresh one: Python and the loader read their variables only at a real start."""
        return arguments[0] in _FORKED and _read_at_start(environment) == self._read_at_start

    def _stop(self) -> None:
        self._control.close()
        self._process.wait(10)


_server: _ForkServer | None = None
_starting = threading.Lock()


def start(arguments: Sequence[str], environment: Mapping[str, str], output: IO[str], errors: IO[str] | None = None) -> Process:
    """Run ``python`` with these arguments in the root of the repository. Without ``errors``, they go to the output."""
    global _server
    with _starting:
        if _server is None:
            _server = _ForkServer()
    if _server.suits(arguments, environment):
        return Forked(_server, arguments, environment, (output, errors or output))
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=errors or subprocess.STDOUT)


def run(arguments: Sequence[str], environment: Mapping[str, str], timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``python`` with these arguments to its end. On ``subprocess.TimeoutExpired`` the process is ended."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = start(arguments, environment, output, errors)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess([sys.executable, *arguments], code, output.read(), errors.read())
