"""Finds the programs that tests of faults and of the sandbox need; as ``python -m tests.tools.fault_programs`` it installs Debian's."""

from __future__ import annotations

import os
import shutil
import sys

from tests.tools import debian

PACKAGES = {"haproxy": "haproxy", "faketime": "faketime"}
"""Each program, and the package of Debian that has it."""
SANDBOX = {"bwrap": "bubblewrap"}
"""What the tool ``python`` needs. Its tests fail without it, where the others are left out."""
PLACES = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"])
"""Debian puts a server's program where only root's shell looks."""


def find(program: str) -> str | None:
    """Where a program is; None where there is none."""
    return shutil.which(program, path=PLACES)


def why_not(program: str) -> str:
    """One plain sentence for whoever reads that a test was left out."""
    return f"There is no {program} on this machine (Debian: apt-get install {(PACKAGES | SANDBOX)[program]})."


def main() -> int:
    """Make sure that they are there if that can be done; those for faults if tests of services will run. Never an error: tests say what
    they miss."""
    wanted = SANDBOX | (PACKAGES if os.environ.get("CHATUI_TEST_DATABASE_URL") else {})
    missing = [program for program in wanted if find(program) is None]
    if missing and debian.may_install():
        print(f"Installing {' and '.join(missing)} for tests of faults and of the sandbox; the first time only.")
        if not debian.install(*(wanted[program] for program in missing)):
            print("They could not be installed; what apt-get said is above.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
