"""``manage.py`` that writes down what the hidden markers of a run begin with, for a test that searches files of the deployment for them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

SETTING = "CANARY_BEGINNINGS"


def patch() -> None:
    """Each Canary writes its beginning into the file that SETTING names; that of the hidden markers is the first of a run."""
    import django

    django.setup()
    from chatui.canary import run
    from chatui.canary.markers import Canary

    class Telling(Canary):
        def __init__(self) -> None:
            super().__init__()
            with Path(os.environ[SETTING]).open("a", encoding="utf-8") as file:
                file.write(f"{self.beginning}\n")

    run.Canary = Telling  # type: ignore[attr-defined]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
    patch()
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *sys.argv[1:]])
