"""A real Redis server for one test, which can be stopped, paused and started again."""

import contextlib
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from tests.support.served import free_port


class Redis:
    """A server on its own port, which is empty after a restart."""

    def __init__(self, place: Path, *options: str) -> None:
        """``options``: for the program; with ``--tls-port``, that is the only port."""
        assert shutil.which("redis-server"), "these tests need redis-server to be installed"
        self._place = place
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._options = [option.format(port=self.port) for option in options]
        self.start()

    def start(self) -> None:
        port = "0" if "--tls-port" in self._options else str(self.port)
        arguments = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", str(self._place), *self._options]
        self._process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
        for _ in range(500):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.02)
        raise AssertionError("Redis did not start")

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def silence(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)
