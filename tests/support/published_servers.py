"""Published MCP servers, installed once into a separate directory: from PyPI in a virtual environment, and from npm."""

import fcntl
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.served import free_port
from tests.tools import process_groups
from tests.tools.node import program

PACKAGES = ("mcp==2.3.0", "mcp-server-time==2026.10.19")
EVERYTHING = ("@modelcontextprotocol/server-everything", "2026.8.31")
DEMO, LIBRARY, ACCOUNTS = (str(Path(__file__).parent / "official_mcp" / f"{name}.py") for name in ("demo", "library", "accounts"))
"""Our own, of the official package: with tools, with resources and prompts, and with sign-ins."""
_CACHE = ROOT / ".cache"
_START_SECONDS = 60.0


@cache
def python() -> str:
    """A Python with the packages. Skips the test if they cannot be installed."""
    place = _CACHE / "tool_peers"
    with _alone("tool_peers"):
        if not (place / "installed").exists():
            shutil.rmtree(place, ignore_errors=True)
            _run_or_skip([sys.executable, "-m", "venv", str(place)], "no virtual environment can be made here")
            _run_or_skip([str(place / "bin" / "pip"), "install", "--quiet", *PACKAGES], "the MCP packages of PyPI cannot be installed here")
            (place / "installed").touch()
    return str(place / "bin" / "python")


@cache
def everything() -> list[str]:
    """The command of npm's reference server. Skips the test if it cannot be installed."""
    node, npm = program("node"), program("npm")
    if node is None or npm is None:
        pytest.skip("there is no Node.js with npm on this machine")
    place, (name, version) = _CACHE / "tool_peers_npm", EVERYTHING
    manifest = place / "node_modules" / name / "package.json"
    with _alone("tool_peers_npm"):
        if not manifest.exists() or json.loads(manifest.read_text())["version"] != version:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(place), f"{name}@{version}"]
            _run_or_skip(command, "the MCP server of npm cannot be installed here")
    return [node, str(manifest.parent / "dist" / "index.js")]


def _run_or_skip(command: list[str], sentence: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    if done.returncode:
        pytest.skip(f"{sentence}: {(done.stderr.strip().splitlines() or [''])[-1]}")


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """A lock, so that only one of several test processes installs."""
    _CACHE.mkdir(exist_ok=True)
    with (_CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def listening(command: list[str], *, port_as: str = "argument") -> Iterator[int]:
    """Run the server as a process at a free loopback port until the block ends."""
    port = free_port()
    whole = [*command, str(port)] if port_as == "argument" else command
    with process_groups.running(whole, {"PORT": str(port), "PATH": "/usr/bin:/bin"}) as process:
        _wait_for(port, process)
        yield port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server did not start")
