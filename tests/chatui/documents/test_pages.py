"""Pages that are nested deep take linear time, and keep their text."""

import time

import pytest

from chatui.documents.inside.html import HtmlReader
from chatui.documents.inside.html_depth import MAX_DEPTH, shallow


@pytest.mark.parametrize("tag", ["div", "ul", "blockquote", "table", "b", "optgroup"])
def test_a_page_that_is_nested_very_deep_keeps_its_text(tag: str) -> None:
    page = f"<{tag}>" * 200_000 + "inside" + f"</{tag}>" * 200_000 + "<p>after"
    before = time.process_time()
    reader = HtmlReader("")
    reader.read(page)
    assert time.process_time() - before < 5
    assert "".join(reader.parts).split() == ["inside", "after"]


def test_only_what_is_too_deep_is_dropped() -> None:
    wide = "<div><p>x<br><img></div>" * 5000 + "<p>y" * 5000
    assert shallow(wide) == wide
    deep = "<i>" * MAX_DEPTH + "<a href='x'>link</a><b>bold</b>" + "</i>" * MAX_DEPTH + "<u>u</u>"
    assert shallow(deep) == "<i>" * MAX_DEPTH + "linkbold" + "</i>" * MAX_DEPTH + "<u>u</u>"
