"""Tests this machine's sandbox: tries every known escape, before any model's code runs in it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from chatui import sandbox
from chatui.tools.python.interpreter import Interpreter, InterpreterEndedError
from chatui.tools.python.launch import MEBIBYTE, CannotLaunchError, SandboxLaunch

SECONDS = 30.0
MIN_ATTEMPTS = 80
"""With fewer attempts, the list was cut, or something in the sandbox forged the answer."""
_MAX_CHARS = 100_000


async def attempts(launch: SandboxLaunch) -> dict[str, bool]:
    """The escape attempts by name, each made in a separate sandbox, and whether it succeeded. Takes about half a second.

    Raises:
        CannotLaunchError: the sandbox does not start, or does not complete the attempts.
    """
    interpreter = await Interpreter.start(launch)
    try:
        with _listening() as (tcp, abstract):
            answer = await interpreter.run(_code(launch, tcp, abstract), SECONDS, _MAX_CHARS)
        made = json.loads(answer.text)
    except InterpreterEndedError as error:
        raise CannotLaunchError(f"the sandbox ended during the escape attempts: {error}") from None
    except ValueError:
        raise CannotLaunchError("the escape attempts could not be made: this interpreter lacks parts of Python") from None
    finally:
        await interpreter.end()
    if not isinstance(made, dict) or len(made) < MIN_ATTEMPTS:
        raise CannotLaunchError("not all escape attempts could be made")
    return {str(name): has_succeeded is not False for name, has_succeeded in made.items()}


def _code(launch: SandboxLaunch, tcp: int, abstract: str) -> str:
    machine = os.uname().machine
    tables = (sandbox.REFUSED, sandbox.UNIMPLEMENTED, sandbox.RESTRICTED)
    host: dict[str, Any] = {
        "readable": launch.hidden,
        "shown": launch.shown(),
        "tcp": tcp,
        "abstract": abstract,
        "numbers": {name: number for table in tables for name, number in sandbox.call_numbers(table, machine).items()},
        "memory": launch.memory_mebibytes * MEBIBYTE,
        "data": launch.data_mebibytes * MEBIBYTE,
    }
    text = (files("chatui.tools.python") / "probes.py").read_text("utf-8")
    return text.replace("HOST: dict[str, Any] = {}\n", f"HOST = {host!r}\n", 1)


@contextlib.contextmanager
def _listening() -> Iterator[tuple[int, str]]:
    """Targets that code could reach from an insecure sandbox: a port of this machine, and an abstract socket."""
    name = f"chatui-{secrets.token_hex(8)}"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind("\0" + name)
        unix.listen()
        yield tcp.getsockname()[1], name
