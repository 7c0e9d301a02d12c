"""A page of the documentation is found: it is in the navigation of the site, and tells most readers what they need in ten lines."""

import re

from tests.support.places import ROOT
from tests.tools import site

TASKS = sorted(page for folder in ("operating", "back-ends") for page in (ROOT / "docs" / folder).glob("*.md"))


def test_each_page_is_in_the_navigation_once() -> None:
    """A new page needs a line in ``nav`` of zensical.toml."""
    pages = sorted(name for name in site.files().values() if name.endswith(".md"))
    assert len(pages) > 40, "the premise"
    assert sorted(site.navigated()) == pages


def test_a_page_for_a_task_begins_with_at_most_ten_lines() -> None:
    assert len(TASKS) > 25, "the premise"
    for page in TASKS:
        title, _, rest = page.read_text(encoding="utf-8").partition("\n")
        lead = [line for line in rest.partition("\n## ")[0].splitlines() if line.strip() and line != "```"]
        assert title.startswith("# ") and 1 < len(lead) <= 10, (page.name, len(lead))
        assert [line for line in lead if len(line) > 140] == [], page.name


def test_the_page_of_a_folder_lists_its_pages_and_their_sections() -> None:
    for folder in ("operating", "back-ends"):
        text = (ROOT / "docs" / f"{folder}.md").read_text(encoding="utf-8")
        for page in (page for page in TASKS if page.parent.name == folder):
            without_code = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
            [row] = [line for line in text.splitlines() if line.startswith("| [") and f"]({folder}/{page.name}) |" in line]
            assert [heading for heading in re.findall(r"^## (.*)$", without_code, re.MULTILINE) if f"[{heading}](" not in row] == [], (
                page.name
            )


NAMED = re.compile(r"(?<![\w/.])docs/([\w/-]+\.(?:md|json))(?:#([\w-]+)|[,:] ([A-Z]\w*(?:,? [A-Za-z]\w*)*))?")
"""A page in a sentence, and what it is named for: an anchor, or headings or rows of a table (``docs/scaling.md, Redis``)."""


def test_each_page_that_a_sentence_of_the_product_names_is_there_with_what_it_is_named_for() -> None:
    found, wrong = 0, list[str]()
    for path in (path for top in ("chatui", "renderer", "templates", "deploy") for path in (ROOT / top).rglob("*") if path.is_file()):
        if path.suffix in {".mo", ".pyc", ".po"} or "data" in path.parts:
            continue
        for name, anchor, words in NAMED.findall(path.read_text(encoding="utf-8", errors="replace")):
            found += 1
            if not has_page(name, anchor, words):
                wrong.append(f"{path.relative_to(ROOT)}: docs/{name} {anchor or words}")
    assert found > 50, "the premise"
    assert wrong == []
    wanted = [("scaling.md", "a-roll-out", ""), ("scaling.md", "", "Redis"), ("faults.md", "", "F3, F29")]
    lost = [("none.md", "", ""), ("scaling.md", "none", ""), ("operating.md", "", "Several processes"), ("faults.md", "", "F3, F999")]
    assert [has_page(*each) for each in (*wanted, *lost)] == [True] * 3 + [False] * 4


def has_page(name: str, anchor: str, words: str) -> bool:
    page = ROOT / "docs" / name
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    known = {*headings, *re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)}
    return bool(text) and (not anchor or anchor in anchors) and set(words.split(", ") if words else ()) <= known


def test_each_link_of_the_first_page_of_the_repository_leads_to_a_file() -> None:
    assert site.relinked((ROOT / "README.md").read_text(encoding="utf-8"), "README.md")
