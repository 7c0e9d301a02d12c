"""What makes up the page can be read: lines fit a screen, and no comment of a template is shown."""

import re

from tests.architecture.sources import Source, all_sources

PLACES = ("templates/", "static/js/", "static/css/")
LINE = 120
TABLES = "static/js/language/catalogues/"
"""Made of the translations, a sentence to a line: nobody reads or changes them here."""


def pages() -> list[Source]:
    return [source for source in all_sources() if source.is_in(*PLACES)]


def too_long(source: Source) -> list[str]:
    """The lines that are longer than a person can read, as ``path:line``."""
    return [f"{source.path}:{number}" for number, line in enumerate(source.lines, 1) if len(line) > LINE]


def test_no_line_is_longer_than_120_characters() -> None:
    assert len(pages()) > 100, "the premise: templates, scripts and style sheets were found"
    assert [place for source in pages() if not source.is_in(TABLES) for place in too_long(source)] == []


def open_comments(source: Source) -> list[str]:
    """The places of comments that go on after their line, as ``path:line``. Django shows such a comment to people."""
    return [f"{source.path}:{number}" for number, line in enumerate(source.lines, 1) if "{#" in re.sub(r"\{#.*?#\}", "", line)]


def test_no_comment_in_a_template_is_shown() -> None:
    assert [place for source in pages() if source.is_in("templates/") for place in open_comments(source)] == []
