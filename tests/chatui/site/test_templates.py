"""Templates are sent to browsers without indentation and without lines that contain only tags, and mean the same."""

import re
from pathlib import Path

import pytest
from django.template import Context, Engine, Template
from django.template.loader import get_template, render_to_string
from django.template.loader_tags import IncludeNode
from django.templatetags.i18n import TranslateNode
from django.utils import translation

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


def test_a_sentence_is_in_the_language_of_the_page_and_as_django_writes_it() -> None:
    """Read once, a template says it in each language. What is not a plain text in quotes is left to Django."""
    plain = ('"Conversations"', "'Good answer' context 'a rating'", '"100 % of it"')
    for tag in (*plain, '"Conversations" as name', "name", '"a"|upper', '"a" noop'):
        ours, django = (Template(f"{load}{{% translate {tag} %}}{{{{ name }}}}") for load in ("", "{% load i18n %}"))
        assert isinstance(ours.nodelist[0], TranslateNode) is (tag not in plain), tag
        for language in ("en", "de", "ko"):
            with translation.override(language):
                assert ours.render(Context({"name": "<b>"})) == django.render(Context({"name": "<b>"})) != "", (tag, language)
    with translation.override("de"):
        assert Template("{% translate 'Conversations' %}").render(Context()) == "Unterhaltungen"


def test_a_part_sees_the_names_around_it_and_leaves_none() -> None:
    values = {"thought": {"sentence": "<i>", "steps": ()}}
    said = render_to_string("exchange/_thought_line.html", values)
    assert "&lt;i&gt;" in said
    page = Template("{% include 'exchange/_thought_line.html' with thought=other name='x' %}{{ thought }}{{ name }}")
    assert page.render(Context({"other": values["thought"]})) == said
    by_name = Template("{% include part %}")
    assert isinstance(by_name.nodelist[0], IncludeNode) and not isinstance(page.nodelist[0], IncludeNode)
    assert by_name.render(Context({"part": "exchange/_thought_line.html", **values})) == said
    foreign = Template("{% include 'admin/app_list.html' %}{% include 'exchange/_thought_line.html' with thought=thought only %}")
    assert [type(node) for node in foreign.nodelist] == [IncludeNode, IncludeNode], "their blocks and cycles are their own"


def test_no_part_has_blocks_or_includes_itself() -> None:
    """A part is read with the page that includes it: a block in it would be the page's, and one that includes itself has no end."""
    texts = {str(path.relative_to(ROOT / "templates")): path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html")}
    included = {name: set(re.findall(r"{% include ['\"]([^'\"]+)", text)) for name, text in texts.items()}
    parts = set().union(*included.values())
    assert len(parts) > 100 and [name for name in parts if re.search(r"{% (block|extends|cycle|ifchanged) ", texts[name])] == []

    def below(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, (*above, name)
        for each in included[name]:
            below(each, (*above, name))

    for name in texts:
        below(name, ())
