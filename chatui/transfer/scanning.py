"""Runs the operator's virus scanner on a file before it is stored."""

from __future__ import annotations

import logging
import shlex
import subprocess
from enum import StrEnum

log = logging.getLogger(__name__)

SECONDS = 60.0


class Verdict(StrEnum):
    """The scanner's verdict. Only clean files are stored."""

    CLEAN = "clean"
    INFECTED = "infected"
    UNCHECKED = "unchecked"


def scan(command: str, data: bytes) -> Verdict:
    """Pass a file to the command's standard input. Exit code 0 means clean, 1 infected; any other, or a timeout, means not checked.

    Without a command every file counts as clean.
    """
    if not command:
        return Verdict.CLEAN
    try:
        # The operator's own command line, without a shell; it contains nothing from the file.
        done = subprocess.run(shlex.split(command), input=data, capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        log.warning("a file could not be checked by the scanner (%s)", type(error).__name__)
        return Verdict.UNCHECKED
    if done.returncode not in (0, 1):
        log.warning("a file could not be checked by the scanner (exit code %d)", done.returncode)
    return {0: Verdict.CLEAN, 1: Verdict.INFECTED}.get(done.returncode, Verdict.UNCHECKED)
