"""Extracts commands from documentation pages and runs them literally; a test replaces only paths and other places."""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.places import ROOT


def blocks(page: str) -> list[str]:
    """The fenced blocks of the page."""
    return re.findall(r"^```(?:\w+)?\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def block(page: str, begins: str) -> str:
    """The only block of the page that begins with these words."""
    found = [block for block in blocks(page) if block.lstrip().startswith(begins)]
    assert len(found) == 1, f"{page} has {len(found)} blocks that begin with {begins}"
    return found[0]


def scheduled(block: str) -> list[str]:
    """The commands of a crontab block, without their schedules."""
    return re.findall(r"^(?:[\d*]+ +){5}(.+)$", block, re.MULTILINE)


def run_block(block: str, environment: Mapping[str, str], elsewhere: Path, *, typed: str = "", **other: str) -> str:
    """Run a block with bash, which stops at the first failure, and return its output.

    ``elsewhere`` replaces ``/mnt/elsewhere``; ``other`` gives further replacements. ``typed``: the input of commands that prompt.
    """
    for word, meant in {"/mnt/elsewhere": str(elsewhere), **other}.items():
        block = block.replace(word, meant)
    block = re.sub(r"(?<![\w/.-])(?:/usr/local/bin/)?chatui (?=[a-z])", f"{sys.executable} {ROOT}/manage.py ", block)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=elsewhere, env=dict(environment), input=typed, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr
