"""Joined style sheets have the same rules as their sources, as Chromium parses them."""

from __future__ import annotations

import re

import pytest

from chatui.site import static_files
from tests.browser.visits import Visits
from tests.support.places import ROOT
from tests.support.served import Server

pytestmark = pytest.mark.browser

RULES = r"""texts => texts.flatMap(text => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  // Chromium keeps line ends and blanks after commas in custom properties as they were written.
  return [...sheet.cssRules].map(rule => rule.cssText.replace(/\s+/g, " ").replaceAll(", ", ","));
})"""


@pytest.mark.parametrize("entry", ["css/base.css", "css/chat.css"])
def test_a_joined_sheet_has_every_rule_in_its_order(entry: str, demo: Server, visits: Visits) -> None:
    page = visits.open(demo, path="about:blank")
    sheets = (ROOT / "static/css").rglob("*.css")
    sources = {path.relative_to(ROOT / "static").as_posix(): path.read_text(encoding="utf-8") for path in sheets}
    parts = [sources[f"css/{name}"] for name in re.findall(r'^@import "([^"]+)";$', sources[entry], re.MULTILINE)]
    assert len(parts) > 4 and not re.search(r"@import", "".join(parts))

    rules = page.evaluate(RULES, parts)

    assert len(rules) >= len(parts)
    assert page.evaluate(RULES, [static_files.without_comments(static_files.joined_sheet(entry, sources))]) == rules


def test_each_sheet_keeps_its_rules_without_its_comments(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, path="about:blank")
    sheets = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "static/css").glob("*.css")}
    sources = {name: text for name, text in sheets.items() if "@import" not in text}
    assert len(sources) > 30, "the premise: the sheets were found"
    for name, text in sources.items():
        assert page.evaluate(RULES, [static_files.without_comments(text)]) == page.evaluate(RULES, [text]), name
