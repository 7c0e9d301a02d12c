"""Joined style sheets have the same rules as their sources, as Chromium parses them, and text that grows restyles little of the page."""

import json
import re

import pytest

from chatui.site import static_files
from tests.browser.chat import Chat
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
    assert page.evaluate(RULES, [static_files.compacted(static_files.joined_sheet(entry, sources))]) == rules


def test_each_sheet_keeps_its_rules_without_its_comments(demo: Server, visits: Visits) -> None:
    page = visits.open(demo, path="about:blank")
    sheets = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "static/css").glob("*.css")}
    sources = {name: text for name, text in sheets.items() if "@import" not in text}
    assert len(sources) > 30, "the premise: the sheets were found"
    for name, text in sources.items():
        assert page.evaluate(RULES, [static_files.compacted(text)]) == page.evaluate(RULES, [text]), name


GROW = """async () => {
  const part = [...document.querySelectorAll(".part-final")].at(-1);
  for (let number = 0; number < 20; number++) {
    const block = document.createElement("div");
    block.innerText = "More.";
    part.replaceChildren(block);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
}"""


def test_text_that_grows_restyles_a_small_part_of_the_page(demo: Server, visits: Visits) -> None:
    """A rule with ``:has()`` about any element, such as ``.a:has(.b) > :not(.c)``, has the browser restyle all of it with each piece."""
    chat = Chat(visits.open(demo, "nina"))
    chat.ask_and_wait("Hello")
    chat.settle()
    browser = chat.page.context.browser
    assert browser
    browser.start_tracing(page=chat.page, categories=["devtools.timeline"])
    chat.page.evaluate(GROW)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    counts = sorted(
        event["args"]["elementCount"] for event in events if event["name"] == "UpdateLayoutTree" and "elementCount" in event["args"]
    )
    assert len(counts) >= 20, "the premise: each piece was styled"
    assert counts[len(counts) // 2] < 30, counts
