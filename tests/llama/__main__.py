"""Runs the test server until stopped: ``python -m tests.llama CACHE_DIR PORT [none]``. It is ready when GET /health answers 200."""

import os
import sys
from pathlib import Path

from tests.llama.prepare import HERE, NotAvailableError, prepare


def main() -> None:
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    cache, port, *reasoning_format = sys.argv[1:]
    try:
        prepared = prepare(Path(cache).resolve())
    except NotAvailableError as error:
        raise SystemExit(f"The test server cannot be set up here: {error}") from error
    arguments = [str(prepared.python), str(HERE / "serve.py"), str(prepared.model), port, *reasoning_format]
    os.execv(arguments[0], arguments)


main()
