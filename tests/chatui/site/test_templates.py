"""Templates are sent to browsers without indentation and without lines that contain only tags, and mean the same."""

import re
import shutil
from pathlib import Path

import pytest
from django.template import Context, Engine, Template
from django.template.base import TextNode
from django.template.loader import get_template, render_to_string
from django.template.loader_tags import IncludeNode
from django.templatetags.i18n import TranslateNode
from django.utils import translation
from django.utils.safestring import SafeString

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
    return written(directory, text, name).get_template(name).render(Context(values))


def written(directory: Path, text: str, name: str) -> Engine:
    """An engine that reads that template."""
    (directory / name).write_text(text, encoding="utf-8")
    tags = {"i18n": "django.templatetags.i18n", "static": "django.templatetags.static"}
    builtins = ["django.templatetags.i18n", "chatui.site.templates"]
    return Engine(dirs=[str(directory)], loaders=["chatui.site.templates.Loader"], libraries=tags, builtins=builtins)


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


def test_a_sentence_is_in_the_language_of_the_page_and_as_django_writes_it(tmp_path: Path) -> None:
    """It is written when a template is read, once in each language. What is not a plain text in quotes is left to Django."""
    plain = ('"Conversations"', "'Good answer' context 'a rating'", '"100 % of it"', '"Conversations" noop')
    for number, tag in enumerate((*plain, '"Conversations" as name', "name", "word", '"a"|upper')):
        text = f"{{% load i18n %}}<p>{{% translate {tag} %}}</p>{{{{ name }}}}"
        engine = written(tmp_path, text, f"{number}.html")
        for language in ("en", "de", "ko"):
            with translation.override(language):
                ours, django = engine.get_template(f"{number}.html"), Template(text)
                assert any(isinstance(node, TranslateNode) for node in ours.nodelist) is (tag not in plain), tag
                said, expected = (page.render(Context({"name": "<b>", "word": "Conversations"})) for page in (ours, django))
                assert said == expected and ("Unterhaltungen" in said or language != "de" or tag not in (plain[0], "word")), tag
    sentence = "{% load i18n %}{% blocktranslate trimmed %}\n  Archived on {{ day }}.\n{% endblocktranslate %}"
    engine = written(tmp_path, sentence, "day.html")
    with translation.override("de"):
        assert engine.get_template("day.html").render(Context({"day": "<i>"})) == "Archiviert am &lt;i&gt;."


def test_what_is_the_same_on_every_page_is_text_and_nothing_else_is(tmp_path: Path) -> None:
    (tmp_path / "_part.html").write_text("<i>{% url 'home' %}</i>\n", encoding="utf-8")
    constant = "{% load static %}{% comment %}no{% endcomment %}{% include '_part.html' %}{% static 'css/chat.css' %}"
    for number, (text, is_constant) in enumerate(
        (
            (constant + "{% url 'page' 'help' %}", True),
            ("{% url 'page' name %}", False),
            ("{% url 'home' as name %}{{ name }}", False),
            ("{% load static %}{% static name %}", False),
            ("{% if name %}{% url 'no-such-page' %}{% endif %}", False),
        )
    ):
        page = written(tmp_path, text, f"{number}.html").get_template(f"{number}.html")
        assert all(type(node) is TextNode for node in page.nodelist) is is_constant, text
        values = {} if "no-such-page" in text else {"name": "help"}
        expected = Template(text.replace("{% include '_part.html' %}", "<i>{% url 'home' %}</i>")).render(Context(values))
        assert page.render(Context(values)) == expected, text


class Person:
    """What a template asks for in each of the ways there are."""

    name = "<Ada> & 'co'"
    count = 3
    safe = SafeString("<b>")
    nobody = None

    def called(self) -> str:
        return "<called>"

    def needs(self, value: str) -> str:
        return value

    def removes(self) -> str:
        raise AssertionError

    removes.alters_data = True  # type: ignore[attr-defined]

    @property
    def failing(self) -> str:
        raise SilentError


class SilentError(Exception):
    """One that Django shows as nothing."""

    silent_variable_failure = True


NAMES = (
    *("person.name", "person.count", "person.safe", "person.nobody", "person.called", "person.needs", "person.removes", "person.failing"),
    *("person.missing", "missing", "missing.name", "values.key", "values.items", "values.missing", "values.0", "values.keys.x"),
    *("row.0", "row.5", "row.count"),
    *("text", "text.upper", "call", "None", "True", "autoescape", "person.name|upper", "'a<b'", "_('Delete')", "3"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_value_is_what_django_finds(tmp_path: Path, name: str) -> None:
    text = f"{{{{ {name} }}}}{{% if {name} %}}yes{{% endif %}}{{% with x={name} %}}{{{{ x|default_if_none:'none' }}}}{{% endwith %}}"
    text += "{% for each in row %}{{ each }},{{ forloop.counter }}{% endfor %}"
    text += "{% autoescape off %}{{ text }}{% endautoescape %}"
    values = {"person": Person(), "values": {"key": "<v>", "items": "own"}, "row": ("<a>", "b"), "text": "a&b", "call": lambda: "<c>"}
    for more in ({}, {"text": "above"}):
        contexts = [Context(values), Context(values)]
        for context in contexts:
            context.push(**more)
        assert written(tmp_path, text, "page.html").get_template("page.html").render(contexts[0]) == Template(text).render(contexts[1])


def test_a_part_sees_the_names_around_it_and_leaves_none(tmp_path: Path) -> None:
    part = "exchange/_thought_line.html"
    values = {"thought": {"sentence": "<i>", "steps": ()}}
    said = render_to_string(part, values)
    assert "&lt;i&gt;" in said

    shutil.copytree(ROOT / "templates/exchange", tmp_path / "exchange")

    def page(text: str) -> Template:
        return written(tmp_path, text, "page.html").get_template("page.html")

    with_name = page(f"{{% include '{part}' with thought=other name='x' %}}{{{{ thought }}}}{{{{ name }}}}")
    assert with_name.render(Context({"other": values["thought"]})) == said
    by_name = page("{% include part %}")
    assert isinstance(by_name.nodelist[0], IncludeNode) and not isinstance(with_name.nodelist[0], IncludeNode)
    assert by_name.render(Context({"part": part, **values})) == said
    [only] = page(f"{{% include '{part}' with thought=thought only %}}").nodelist
    assert isinstance(only, IncludeNode), "its context is its own"


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
