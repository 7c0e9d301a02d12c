"""The worker program that converts one web page to text, in a process that may be killed at any time.

Input: a line of JSON (``url``, ``kind``, ``charset``), then the page. Output: JSON with ``title``, ``lines`` and ``links``.
``chatui.documents.inside.html`` describes the form of links.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import textwrap

from chatui import sandbox
from chatui.documents.inside.html import TEXT_CHARS, HtmlReader, clean, decoded, prepare_reader
from chatui.sandbox import NotConfinedError

WIDTH = 80
MAX_LINES = 20_000
_CPU_SECONDS, _MEMORY = 10, 1 << 30


def main() -> None:
    """Read a page from standard input, and write its text to standard output."""
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    about = json.loads(sys.stdin.buffer.readline())
    page = sys.stdin.buffer.read()
    prepare_reader(page, about["charset"], about["kind"])
    # Without a seccomp filter in the kernel, the resource limits must suffice.
    with contextlib.suppress(NotConfinedError):
        sandbox.confine()
    text = decoded(page, about["charset"], about["kind"])
    if "html" in about["kind"]:
        reader = HtmlReader(about["url"])
        reader.read(text)
        title, text, links = reader.title, "".join(reader.parts), reader.links
    else:
        title, text, links = "", clean(text), []
    json.dump({"title": title, "lines": wrapped(text[:TEXT_CHARS]), "links": links}, sys.stdout)


def wrapped(text: str) -> list[str]:
    """Lines of at most WIDTH characters; consecutive empty lines are merged."""
    lines: list[str] = []
    for line in text.splitlines():
        if len(lines) >= MAX_LINES:
            break
        whole = line.rstrip()
        if whole.strip() or (lines and lines[-1]):
            lines += textwrap.wrap(whole, WIDTH, drop_whitespace=True, break_on_hyphens=False) or [""]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
