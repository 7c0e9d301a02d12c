"""Bounds how deep the elements of a page are in each other, as browsers do.

A parser looks for what an element closes among all that are open, which takes quadratic time in a page that is nested very deep.
"""

from __future__ import annotations

import re

MAX_DEPTH = 500
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)[^>]*>?")
_NEVER_NESTED = frozenset(
    [
        # They have no end,
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"),
        # or the next one ends them.
        *("html", "head", "body", "p", "li", "dd", "dt", "td", "th", "tr", "tbody", "thead", "tfoot", "caption", "colgroup", "option"),
    ]
)


def shallow(page: str) -> str:
    """The page without the tags of elements that are too deep; their text stays. Takes linear time."""
    if page.count("<") <= MAX_DEPTH:
        return page
    pieces: list[str] = []
    depth = dropped = at = 0
    for tag in _TAG.finditer(page):
        if tag[2].lower() in _NEVER_NESTED:
            continue
        if not tag[1]:
            if depth < MAX_DEPTH:
                depth += 1
                continue
            dropped += 1
        elif not dropped:
            depth = max(depth - 1, 0)
            continue
        else:
            dropped -= 1
        pieces.append(page[at : tag.start()])
        at = tag.end()
    return "".join([*pieces, page[at:]]) if pieces else page
