"""What people read about tools: the lines for calls of our own are in every language."""

import pytest

from chatui.display import tool_words
from chatui.tools import catalogue
from chatui.tools.document_search import FIND
from chatui.tools.tool import Tool

OWN = [each for each in (FIND, *catalogue.installed().values(), *catalogue.of_demo().values()) if each.label]


@pytest.mark.parametrize("tool", OWN, ids=lambda tool: tool.name)
def test_each_line_of_our_own_is_translated_with_what_it_shows(tool: Tool) -> None:
    lines = {language: tool_words.line(tool, {"city": "Oslo"}, language) for language in ("en", "de", "ko", "zh-hans")}
    assert len(set(lines.values())) == 4, lines
    assert len({"Oslo" in line for line in lines.values()}) == 1, lines


def test_a_line_of_somebody_elses_tool_stays_as_its_author_wrote_it() -> None:
    assert tool_words.line(Tool("x", "x", {}, label="Saved."), {}, "de") == "Saved."
