"""Finds the programs for tests of faults and of the sandbox; ``python -m tests.tools.fault_programs`` installs Debian's."""

import os
import shutil
import sys

from tests.tools import debian

PACKAGES = {"haproxy": "haproxy", "faketime": "faketime", "nginx": "nginx-light", "promtool": "prometheus"}
"""Each program, and its Debian package."""
SANDBOX = {"bwrap": "bubblewrap"}
"""The tool ``python`` needs it. Its tests fail without it; the others are skipped."""
PLACES = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"])
"""Debian installs server programs where only root's shell looks."""


def find(program: str) -> str | None:
    """The path of a program; None if it is not installed."""
    return shutil.which(program, path=PLACES)


def why_not(program: str) -> str:
    """One sentence that says why a test was skipped."""
    return f"There is no {program} on this machine (Debian: apt-get install {(PACKAGES | SANDBOX)[program]})."


def main() -> int:
    """Install the programs if possible, those for faults only if tests of services will run. Never an error: tests report missing ones."""
    programs = SANDBOX | (PACKAGES if os.environ.get("CHATUI_TEST_DATABASE_URL") else {})
    missing = [program for program in programs if find(program) is None]
    if missing and debian.may_install():
        print(f"Installing {' and '.join(missing)} for tests of faults and of the sandbox; the first time only.")
        if not debian.install(*(programs[program] for program in missing)):
            print("They could not be installed; what apt-get said is above.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
