"""How the product's commands are called here, and which version it is: sentences name the command that their reader can type."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from chatui import __version__

INSTALLED = "chatui"
"""The program of the installed package."""
CHECKOUT = "python manage.py"


def command(words: str) -> str:
    """What to type for a command and its arguments, such as ``purge --heir NAME``: by how this process was started, and if that was
    another program (a server, a test), by whether this is a checkout."""
    return f"{_program()} {words}"


@cache
def version() -> str:
    """The full version of the installed package, such as 0.1.0.dev20261129123629; in a checkout, that of its source."""
    from importlib import metadata  # takes some milliseconds, which a command that does not ask need not wait for

    try:
        return __version__ if _is_checkout() else metadata.version("chatui")
    except metadata.PackageNotFoundError:
        return __version__


@cache
def _program() -> str:
    by_name = {"manage.py": CHECKOUT, "chatui": INSTALLED}
    return by_name.get(Path(sys.argv[0]).name, CHECKOUT if _is_checkout() else INSTALLED)


def _is_checkout() -> bool:
    return (Path(__file__).resolve().parents[1] / "manage.py").is_file()
