"""Finds the programs with which tests make faults; as ``python -m tests.tools.fault_programs`` it installs Debian's where it may."""

from __future__ import annotations

import os
import shutil
import sys

from tests.tools import debian

PACKAGES = {"haproxy": "haproxy", "faketime": "faketime"}
"""Each program, and the package of Debian that has it."""
PLACES = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"])
"""Debian puts a server's program where only root's shell looks."""


def find(program: str) -> str | None:
    """Where a program is; None where there is none."""
    return shutil.which(program, path=PLACES)


def why_not(program: str) -> str:
    """One plain sentence for whoever reads that a test was left out."""
    return f"There is no {program} on this machine (Debian: apt-get install {PACKAGES[program]})."


def main() -> int:
    """Make sure that they are there if that can be done, and tests of services will run. Never an error: tests say what they miss."""
    missing = [program for program in PACKAGES if find(program) is None]
    if missing and os.environ.get("CHATUI_TEST_DATABASE_URL") and debian.may_install():
        print(f"Installing {' and '.join(missing)} for tests of faults; the first time only.")
        if not debian.install(*(PACKAGES[program] for program in missing)):
            print("They could not be installed; what apt-get said is above.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
