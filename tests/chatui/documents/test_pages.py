"""Pages that are nested deep take linear time, and keep their text."""

import time

import pytest

from tests.support.document_files import page_text


@pytest.mark.parametrize("tag", ["div", "ul", "blockquote", "table", "b", "optgroup"])
def test_a_page_that_is_nested_very_deep_keeps_its_text(tag: str) -> None:
    page = f"<{tag}>" * 200_000 + "inside" + f"</{tag}>" * 200_000 + "<p>after"
    before = time.process_time()
    assert page_text(page).split() == ["inside", "after"]
    assert time.process_time() - before < 5


def test_only_what_is_too_deep_is_dropped() -> None:
    wide = "<div><p>x<br><img></div>" * 500 + "<p>y" * 500
    assert page_text(wide).split() == ["x"] * 500 + ["y"] * 500
    pages = {depth: "<i>" * depth + "<pre>a\n b</pre>" + "</i>" * depth + "<pre>c\n d</pre>" for depth in (480, 520)}
    assert page_text(pages[480]).count("\n b") == 1 and "a b" in page_text(pages[520])
    assert all("c\n d" in page_text(page) for page in pages.values())
