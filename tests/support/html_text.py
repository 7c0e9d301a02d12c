"""Removes the line breaks and indentation of templates from a page's HTML, so that tests do not depend on them."""

import re


def text_of(html: str) -> str:
    """Its words, without tags."""
    return " ".join(re.sub(r"<[^<>]*>", "", html).split())


def collapsed(html: str) -> str:
    """``html`` with each run of white space as one space, and none next to or at the end of a tag."""
    spaced = " ".join(html.split())
    return re.sub(r"\s*(<[^<>]*?)\s*(>)\s*", r"\1\2", spaced)
