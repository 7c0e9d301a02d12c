"""Templates are sent to browsers without indentation and without lines that contain only tags, and mean the same."""

import re
from pathlib import Path

import pytest
from django.template import Context, Engine, Template
from django.template.loader import get_template, render_to_string

from tests.support.places import ROOT


def test_a_page_has_no_indentation_and_no_empty_lines() -> None:
    written = (ROOT / "templates/chat/_shortcuts.html").read_text(encoding="utf-8")
    assert re.search(r"^ {4}<", written, re.MULTILINE), "the premise"
    assert not re.search(r"\n\s", get_template("chat/_shortcuts.html").template.source)  # type: ignore[attr-defined]
    assert not re.search(r"\n[ \t]", render_to_string("chat/_shortcut.html", {"action": "new", "name": "New"}))


def test_what_people_wrote_keeps_its_lines() -> None:
    text = "def f():\n    return 1\n\n    # end"
    assert "    return 1" in render_to_string("chat/_shortcut.html", {"name": text, "action": "new"})


def test_no_template_has_lines_in_which_white_space_counts() -> None:
    """In a text area or a ``pre``, lines that begin with spaces in the template would lose them."""
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for found in re.finditer(r"<(pre|textarea)\b[^>]*>(.*?)</\1>", text, re.DOTALL):
            assert not re.search(r"\n[ \t]", found[2].strip("\n")), f"{path.name}: {found[2]}"


def test_every_icon_is_drawn_and_every_drawing_is_used() -> None:
    drawn = re.findall(r'<symbol id="([^"]+)"', (ROOT / "static/icons/icons.svg").read_text(encoding="utf-8"))
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html"))
    assert sorted(drawn) == sorted(set(re.findall(r'{% icon "([^"]+)" %}', pages)))
    assert re.search(r'<use href="[^"]*icons/icons\.[^"]*svg#copy">', Template('{% icon "copy" %}').render(Context()))


def rendered(directory: Path, text: str, values: dict[str, object], name: str = "page.html") -> str:
    (directory / name).write_text(text, encoding="utf-8")
    engine = Engine(dirs=[str(directory)], loaders=["chatui.site.templates.Loader"])
    return engine.get_template(name).render(Context(values))


def test_a_line_with_only_a_tag_leaves_no_line(tmp_path: Path) -> None:
    text = "<p>\n    {# why #}\n    {% if a %}\n    one\n    {% else %}\n    two\n    {% endif %}\n    three\n</p>\n"
    assert rendered(tmp_path, text, {"a": True}) == "<p>\none\nthree\n</p>\n"
    assert rendered(tmp_path, text, {}) == "<p>\ntwo\nthree\n</p>\n"
    items = "<ul>\n  {% for each in all %}\n  <li>{{ each }}\n  {% endfor %}\n</ul>\n"
    assert rendered(tmp_path, items, {"all": "ab"}) == "<ul>\n<li>a\n<li>b\n</ul>\n"
    assert rendered(tmp_path, "a\n  {% if b %}\n  b\n  {% endif %}\n", {}, "mail.txt") == "a\n  \n", "a text file keeps its lines"


def test_a_part_leaves_no_empty_lines_around_it(tmp_path: Path) -> None:
    (tmp_path / "_part.html").write_text("{# why #}\n<i>\n  {% if a %}\n  a\n  {% endif %}\n</i>\n", encoding="utf-8")
    text = "<p>\n  {% include '_part.html' %}\n  b\n</p>\n"
    assert rendered(tmp_path, text, {"a": True}) == "<p>\n<i>\na\n</i>\nb\n</p>\n"
    (tmp_path / "_part.html").write_text("{% if a %}\n  a\n{% endif %}\n", encoding="utf-8")
    assert rendered(tmp_path, text, {"a": True}).split() == ["<p>", "a", "b", "</p>"]


@pytest.mark.parametrize("tail", ["{% if b %}b{% endif %}", "{% if b %}\n  b\n  {% endif %}", "{% if b %}b{% else %}b{% endif %}"])
@pytest.mark.parametrize("values", [{}, {"a": True}, {"b": True}, {"a": True, "b": True}])
def test_text_on_separate_lines_stays_separate(tmp_path: Path, tail: str, values: dict[str, object]) -> None:
    text = f"before\n  {{% if a %}}a{{% endif %}}\n  {tail}\n  after {{% if a %}}a{{% endif %}}\n"
    page = rendered(tmp_path, text, values)
    a, b = (["a"] if "a" in values else []), (["b"] if "b" in values or "else" in tail else [])
    assert page.split() == ["before", *a, *b, "after", *a]
    assert "\n\n" not in page
