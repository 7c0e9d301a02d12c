"""Runs ``manage.py`` and says at its end what was imported: ``python -m tests.processes.told_modules serve …``.

A line for each module goes to the file of MODULES_FILE.
"""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

import manage

MODULES_FILE = "TOLD_MODULES_FILE"


def _tell() -> None:
    Path(os.environ[MODULES_FILE]).write_text("\n".join(sys.modules), encoding="utf-8")


if __name__ == "__main__":
    atexit.register(_tell)
    manage.main()
