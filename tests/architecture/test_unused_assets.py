"""No style, template or script is left over: each class that a style names is used, and each template and each script is loaded."""

import re
from collections import defaultdict
from functools import cache

import pytest

from tests.architecture.sources import Source, all_sources
from tests.support.cases import for_each

VENDOR = "static/vendor/"
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")

OF_LIBRARIES = ("hljs", "katex")

# Classes that no source of ours spells, because something else writes them.
WRITTEN_BY_OTHERS = {
    **dict.fromkeys(("attention", "danger"), "an operator, as the kind of an admonition in a page"),
}

WORD_LISTS = "renderer/activities/"
"""Plain words, of which some are names of classes by chance."""


@cache
def sources(*endings: str) -> list[Source]:
    return [source for source in all_sources() if source.path.endswith(endings) and not source.is_in(VENDOR)]


def styled(text: str) -> set[str]:
    """The classes in the selectors of a style sheet."""
    text = re.sub(r"/\*.*?\*/|\"[^\"]*\"|'[^']*'|url\([^)]*\)", "", text, flags=re.DOTALL)
    return {name for selector in re.findall(r"([^{};]*)\{", text) for name in CLASS.findall(selector)}


def unwritten(names: set[str]) -> set[str]:
    """Those of ``names`` that no template, script or Python of the product spells, nor puts together of two: ``turn-{{ state }}``, or
    ``alert-{kind}``."""
    code = (source for source in sources(".py") if source.is_in("chatui/", "renderer/") and not source.is_in(WORD_LISTS))
    writers = [*sources(".html"), *sources(".js"), *code]
    text = "\n".join(source.text for source in writers if not source.is_in("tests/"))
    words = set(re.findall(r"[\w-]+", text))
    beginnings = set(re.findall(r"([\w-]+-)(?:{{|\${|{[a-z])", text))
    return {
        name
        for name in names - words
        if not any(name.startswith(beginning) and name.removeprefix(beginning) in words for beginning in beginnings)
    }


@pytest.mark.slow
def test_each_class_of_a_style_is_written_by_a_template_or_a_script() -> None:
    named = {name for source in sources(".css") if source.is_in("static/") for name in styled(source.text)}
    assert len(named) > 100, "the premise: the style sheets are found"
    unused = {name for name in unwritten(named) if not name.startswith(OF_LIBRARIES)}
    assert sorted(unused - set(WRITTEN_BY_OTHERS)) == []
    assert sorted(set(WRITTEN_BY_OTHERS) - unused) == [], "these need no exception any more"


@cache
def users_of_templates() -> dict[str, set[str]]:
    """The files that name each template."""
    users: defaultdict[str, set[str]] = defaultdict(set)
    for source in (*(s for s in sources(".py") if s.is_in("chatui/")), *sources(".html")):
        for name in re.findall(r'"([\w./-]+\.html)"', source.text):
            users[name].add(source.path)
    return users


@for_each([s for s in sources(".html") if s.is_in("templates/")])
def test_each_template_is_rendered_by_a_view_or_by_another_template(source: Source) -> None:
    name = source.path.removeprefix("templates/")
    assert users_of_templates().get(name, set()) - {source.path}, f"nothing renders {name}"


@for_each([s for s in sources(".js") if s.is_in("static/")])
def test_each_script_is_loaded_by_a_template_or_imported_by_another_script(source: Source) -> None:
    name = source.path.rpartition("/")[2]
    if source.is_in("static/js/language/catalogues/"):
        return  # loaded by its language: tests/chatui/web/test_pages.py
    users = [*sources(".html"), *(s for s in sources(".js") if s.is_in("static/") and s.path != source.path)]
    assert any(f"/{name}" in user.text for user in users), f"nothing loads {name}"
