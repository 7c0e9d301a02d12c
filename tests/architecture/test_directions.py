"""Style sheets know a beginning and an end, no left and right, so that a page in a language from right to left is its mirror."""

import re
from collections.abc import Iterator

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
