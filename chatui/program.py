"""How the product's commands are called here: sentences name the one that their reader can type."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

INSTALLED = "chatui"
"""The program of the installed package."""
CHECKOUT = "python manage.py"


def command(words: str) -> str:
    """What to type for a command and its arguments, such as ``purge --heir NAME``: by how this process was started, and if that was
    another program (a server, a test), by whether this is a checkout."""
    return f"{_program()} {words}"


@cache
def _program() -> str:
    by_name = {"manage.py": CHECKOUT, "chatui": INSTALLED}
    is_checkout = (Path(__file__).resolve().parents[1] / "manage.py").is_file()
    return by_name.get(Path(sys.argv[0]).name, CHECKOUT if is_checkout else INSTALLED)
