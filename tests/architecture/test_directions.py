"""Style sheets know a beginning and an end, no left and right, so that a page in a language from right to left is its mirror."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.architecture.sources import Source, all_sources

_PHYSICAL = re.compile(
    r"(?<![\w-])(?:(?:scroll-)?(?:margin|padding)-(?:left|right)|border-(?:left|right)(?:-\w+)?|border-(?:top|bottom)-(?:left|right)-radius"
    r"|left|right)\s*:|(?:text-align|float|clear)\s*:\s*(?:left|right)"
)
_FOUR = re.compile(r"(?<![\w-])(?:inset|margin|padding)\s*:\s*([^;}]+)")
_PART = re.compile(r"(?:[^\s(]|\((?:[^()]|\([^()]*\))*\))+")
ALLOWED = {"inset: auto auto calc(100% + 0.5rem) 50%;": "in the middle, which is the same from both sides"}
"""Lines with the reason why the side is meant."""


def physical(source: Source) -> Iterator[str]:
    """The lines of a style sheet that name a side."""
    for number, line in enumerate(source.lines, 1):
        four = [parts for found in _FOUR.findall(line) if len(parts := _PART.findall(found)) == 4]
        if line.strip() not in ALLOWED and (_PHYSICAL.search(line) or any(parts[1] != parts[3] for parts in four)):
            yield f"{source.path}:{number}"


def test_no_style_sheet_names_a_side() -> None:
    sheets = [source for source in all_sources() if source.is_in("static/css/") and source.path.endswith(".css")]
    assert len(sheets) > 20, "the premise: style sheets were found"
    assert [place for sheet in sheets for place in physical(sheet)] == []


@pytest.mark.parametrize(
    "rule",
    [
        "margin-left: 1px",
        "padding-right:0",
        "left: 0",
        "inset: 0; right: 1px",
        "text-align: right",
        "float: left",
        "border-left: 0",
        "inset: 0 auto 0 0",
    ],
)
def test_a_side_would_be_noticed(rule: str) -> None:
    assert list(physical(Source("static/css/a.css", f".a {{ {rule} }}"))) == ["static/css/a.css:1"]


@pytest.mark.parametrize(
    "rule",
    [
        "margin-inline-start: 1px",
        "text-align: end",
        "linear-gradient(to left, red)",
        "inset-inline-end: 0",
        "inset: 0 1px calc(1px + (2px)) 1px",
    ],
)
def test_a_beginning_or_an_end_is_none(rule: str) -> None:
    assert not list(physical(Source("static/css/a.css", f".a {{ {rule} }}")))
