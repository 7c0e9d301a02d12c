"""Runs ``manage.py`` and at exit lists the imported modules: ``python -m tests.processes.imported_modules serve …``.

The list, one module per line, is written to the file named by the MODULES_FILE environment variable.
"""

import atexit
import os
import sys
from pathlib import Path

from chatui import command_line

MODULES_FILE = "IMPORTED_MODULES_FILE"


def _write_list() -> None:
    Path(os.environ[MODULES_FILE]).write_text("\n".join(sys.modules), encoding="utf-8")


if __name__ == "__main__":
    atexit.register(_write_list)
    command_line.main()
