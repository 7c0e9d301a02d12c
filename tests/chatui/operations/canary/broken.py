"""``manage.py`` of a product with those planted leaks (``tests/support/planted_leaks.py``) that the file named by CANARY_BREAK lists.

One to a line; with none if it is empty.

A test changes the file while the server runs; every patched function looks at it each time.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.planted_leaks import LEAKS

SETTING = "CANARY_BREAK"


def is_broken(way: str) -> bool:
    place = os.environ[SETTING]
    # Asked several times for each request: an empty file need not be opened.
    return bool(os.stat(place).st_size) and way in Path(place).read_text(encoding="utf-8").splitlines()


def patch() -> None:
    """Make every way of being broken possible."""
    import django

    django.setup()

    def while_broken(way: str, place: Any, name: str, broken: Callable[..., Any]) -> None:
        sound = getattr(place, name)
        setattr(place, name, lambda *args, **kwargs: (broken if is_broken(way) else sound)(*args, **kwargs))

    for way, leak in LEAKS.items():
        for fault in leak.faults():
            while_broken(way, *fault)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
    patch()
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *sys.argv[1:]])
