"""Decides whether ``python`` is available in this process; if not, gives the reason and a remedy. An untested sandbox is never offered."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import sys
import threading
from functools import cache

from chatui.env import BASE_DIR, environment
from chatui.tools.python import examination
from chatui.tools.python import launch as launching
from chatui.tools.python.launch import CannotLaunchError, LaunchLimits, SandboxLaunch

log = logging.getLogger(__name__)

RECIPIENT = "python"
_SEE = "see docs/operating/sandboxes.md"
_NAMESPACES = f"the kernel or the container must let ordinary users create namespaces, {_SEE}"
_REMEDIES = {
    "disable-userns": "bubblewrap 0.8 or newer is needed",
    "uid map": f"AppArmor must let bubblewrap create user namespaces (Ubuntu: a profile for /usr/bin/bwrap), {_SEE}",
    "new namespace": _NAMESPACES,
    "not permitted": _NAMESPACES,
    "permission denied": f"the user that runs the product must be able to read the interpreter and create namespaces, {_SEE}",
}
"""Remedies, by fragments of bubblewrap's messages."""


def is_on() -> bool:
    """Whether ``python`` can be used. The first call tests the sandbox in a thread; until that is done, the tool is off."""
    future = _examined()
    return future.done() and not future.result()


def why_off() -> str:
    """Why ``python`` is off, with a remedy if there is one; empty if it is on. The first call in a process waits about a second for the
    sandbox to be tested."""
    return _examined().result()


@cache
def launch() -> SandboxLaunch:
    """The command that starts the sandbox, from the settings.

    Raises:
        CannotLaunchError: there is no sandbox, or it must not be used.
    """
    if not sys.platform.startswith("linux"):
        raise CannotLaunchError("the sandbox needs Linux; CHATUI_PYTHON_SERVICE_URL can name a service on another machine")
    if os.geteuid() == 0:
        raise CannotLaunchError("the product runs as root, for whom there is no sandbox; run it as an ordinary user")
    env = environment()
    limits = LaunchLimits(env.python_memory_mb, env.python_data_mb)
    return launching.found(env.python_program, (BASE_DIR, env.data_dir), limits, env.data_dir)


def packages() -> tuple[str, ...]:
    """The packages that code can import in this machine's sandbox, with their versions. Does not wait."""
    return launch().packages if is_on() and not environment().python_service_url else ()


@cache
def _examined() -> concurrent.futures.Future[str]:
    future: concurrent.futures.Future[str] = concurrent.futures.Future()
    if RECIPIENT not in environment().tools:
        future.set_result("it is not in CHATUI_TOOLS")
    elif url := environment().python_service_url:
        is_address = url.startswith(("https://", "http://"))
        future.set_result("" if is_address else "CHATUI_PYTHON_SERVICE_URL is not an http or https address")
    else:
        threading.Thread(target=lambda: future.set_result(_tried()), name="testing the sandbox", daemon=True).start()
    return future


def _tried() -> str:
    try:
        made = asyncio.run(examination.attempts(launch()))
    except CannotLaunchError as error:
        reason = " ".join([str(error), *(f"({remedy})" for sign, remedy in _REMEDIES.items() if sign in str(error).lower())][:2])
    except Exception as error:  # noqa: BLE001 - after any error, the tool is off
        reason = f"the sandbox could not be tested ({type(error).__name__})"
    else:
        escapes = ", ".join(name for name, has_succeeded in made.items() if has_succeeded)
        reason = escapes and f"the sandbox of this machine is not secure, code in it could: {escapes}; {_SEE}"
    if reason:
        log.error("the tool python is off: %s", reason)
    return reason
