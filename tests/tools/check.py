"""``make check``: all checks that do not run the product, one line for each, with a list of failures at the end.

Usage: ``python -m tests.tools.check [NAME …]``; without a name, all of them.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import ROOT
from tests.tools import node, not_run

BIN = Path(sys.executable).parent
MANAGE = [sys.executable, "-W", "error", "manage.py"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, the command, which exits with 0 on success, and a sentence if it cannot be run. ``tells``: its output is
    printed if it succeeds, too."""

    name: str
    command: Callable[[], list[str]]
    why_not: Callable[[], str | None] = lambda: None
    tells: bool = False


def checks() -> list[Check]:
    """All checks, the fastest first and the longest last."""
    return [
        Check("format", lambda: [str(BIN / "ruff"), "format", "--check", "--output-format=concise", "."]),
        Check("lint", lambda: [str(BIN / "ruff"), "check", "--output-format=concise", "."]),
        Check("dockerfile", lambda: [str(BIN / "hadolint"), "--failure-threshold", "style", "Dockerfile"], _no_hadolint),
        Check("templates", lambda: [str(BIN / "djlint"), "templates", "--lint", "--quiet"]),
        Check("imports", lambda: [str(BIN / "lint-imports"), "--cache-dir", ".cache/import-linter"]),
        Check("black-boxes", lambda: [sys.executable, "-m", "tests.tools.black_boxes"], tells=True),
        Check("unused", lambda: [sys.executable, "-m", "tests.tools.unused"]),
        Check("messages", lambda: [sys.executable, "-m", "tests.tools.messages", "check"]),
        Check("settings", lambda: [*MANAGE, "check", "--fail-level", "WARNING"]),
        Check("migrations", lambda: [*MANAGE, "makemigrations", "--check", "--dry-run"]),
        Check("javascript-types", lambda: [*node.typescript(), "--project", "tests/js/tsconfig.json"], node.why_not),
        Check("javascript-tests", lambda: [node.program("node") or "node", "--test", *node.test_files()], node.why_not_test),
        Check("types", lambda: [str(BIN / "mypy")]),
    ]


def _no_hadolint() -> str | None:
    return None if (BIN / "hadolint").exists() else "hadolint has no package for this kind of machine."


def main(names: list[str]) -> int:
    """Run the named checks, or all; 1 if any failed."""
    chosen = [check for check in checks() if not names or check.name in names]
    unknown = set(names) - {check.name for check in chosen}
    if unknown:
        print(f"No such check: {', '.join(sorted(unknown))}. There are: {', '.join(check.name for check in checks())}.")
        return 2
    not_run.forget()
    with tempfile.TemporaryDirectory() as data:
        environment = dict(_environment(data))
        failed = _failed(chosen, environment)
    print(f"make check: {'failed: ' + ', '.join(failed) if failed else 'all is well'}", flush=True)
    return 1 if failed else 0


def _failed(chosen: list[Check], environment: dict[str, str]) -> list[str]:
    """The names of failed checks, in order. The longest, which is last in the list, runs in parallel with the others."""
    with ThreadPoolExecutor(1) as beside:
        last = beside.submit(_run, chosen[-1], environment)
        failed = [check.name for check in chosen[:-1] if not _run(check, environment)]
        return failed if last.result() else [*failed, chosen[-1].name]


def _environment(data: str) -> Iterator[tuple[str, str]]:
    """The environment of a check: none of the developer's own settings, and a temporary data directory."""
    yield from ((name, value) for name, value in os.environ.items() if not name.startswith("CHATUI_"))
    yield "CHATUI_DATA_DIR", data


def _run(check: Check, environment: dict[str, str]) -> bool:
    """Run one check and print its line; its output only if it failed."""
    reason = check.why_not()
    if reason:
        not_run.note(f"The check “{check.name}” was not run: {reason}")
        print(f"  {check.name:18} not run: {reason}", flush=True)
        return True
    started = time.monotonic()
    try:
        done = subprocess.run(
            check.command(), cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True
        )
        output, good = done.stdout, True
    except subprocess.CalledProcessError as error:
        output, good = error.stdout, False
    line = f"  {check.name:18} {'good' if good else 'FAILED'}  {time.monotonic() - started:5.1f} s"
    told = f"  {output.strip()}" if check.tells else ""
    print(f"{line}{told}" if good else f"{line}\n{output}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
