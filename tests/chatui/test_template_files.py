"""Templates reach browsers without their indentation, and mean the same."""

from __future__ import annotations

import re

from django.template.loader import get_template, render_to_string

from tests.support.places import ROOT


def test_a_page_has_no_indentation_and_no_empty_lines() -> None:
    written = (ROOT / "templates/shortcuts/_sheet.html").read_text(encoding="utf-8")
    assert re.search(r"^ {4}<", written, re.MULTILINE), "the premise"
    assert not re.search(r"\n\s", get_template("shortcuts/_sheet.html").template.source)  # type: ignore[attr-defined]
    assert not re.search(r"\n[ \t]", render_to_string("shortcuts/_row.html", {"action": "new", "name": "New"}))


def test_what_people_wrote_keeps_its_lines() -> None:
    text = "def f():\n    return 1\n\n    # end"
    assert "    return 1" in render_to_string("shortcuts/_row.html", {"name": text, "action": "new"})


def test_no_template_has_lines_in_which_white_space_counts() -> None:
    """A text area or a ``pre`` whose own lines begin with blanks would lose them."""
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for found in re.finditer(r"<(pre|textarea)\b[^>]*>(.*?)</\1>", text, re.DOTALL):
            assert not re.search(r"\n[ \t]", found[2].strip("\n")), f"{path.name}: {found[2]}"
