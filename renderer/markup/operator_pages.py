"""Renders the operator's own Markdown pages (welcome text, help, terms of use, banner) as sanitized HTML.

Python-Markdown renders, bleach sanitizes. Beyond what models may use, they allow raw HTML from the allow-list, admonitions
(``!!! note "Title"``) and a table of contents (``[TOC]``) with links to ``<a id="md-…" class="anchor">`` inside the headings. Images
become links, as everywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast
from xml.etree.ElementTree import Element

import markdown
from bleach.sanitizer import Cleaner
from markdown.extensions import Extension
from markdown.extensions.toc import TocExtension
from markdown.treeprocessors import Treeprocessor

from renderer.characters import DIRECTIONS
from renderer.markup import html, links
from renderer.markup.html import SafeHtml
from renderer.markup.links import normalize

PAGE_LIMIT, LINES_LIMIT, MARKUP_LIMIT, BRACKETS_LIMIT = 128 * 1024, 4000, 8000, 1000
"""The most characters, lines, possible markup characters and opening brackets of a page that is read as Markdown.

A larger page is shown as plain text: Python-Markdown takes quadratic time in some of them.
"""


def render_page(text: str) -> SafeHtml:
    """The HTML of an operator's page, in one ``<div class="page" dir="auto">``."""
    whole = normalize(text)
    if _too_large(whole):
        return html.plain(whole)
    try:
        rendered = _markdown().convert(whole)
        cleaned = _cleaner().clean(f'<div class="page" dir="auto">{rendered}</div>')
    except Exception:  # noqa: BLE001 - if one of the two libraries fails, people can still read the text
        return html.plain(whole)
    return SafeHtml(cleaned)


def _too_large(text: str) -> bool:
    markup = sum(map(text.count, "[]*_`<&|>-\\"))
    return len(text) > PAGE_LIMIT or text.count("\n") > LINES_LIMIT or markup > MARKUP_LIMIT or text.count("[") > BRACKETS_LIMIT


def _markdown() -> markdown.Markdown:
    """A new converter each time: it keeps state between texts, and pages are rendered rarely."""
    toc = TocExtension(slugify=_Slugs(), toc_depth="2-4")
    return markdown.Markdown(extensions=["admonition", "tables", "fenced_code", "sane_lists", toc, _Ours()], output_format="html")


class _Slugs:
    """Ids for headings, numbered if they repeat. The prefix keeps them from shadowing names that a script looks up."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    def __call__(self, heading: str, separator: str) -> str:
        words = re.sub(r"[^a-z0-9]+", separator, heading.lower()).strip(separator)
        name = f"md-{words[:60] or 'section'}"
        self._count[name] += 1
        return name if self._count[name] == 1 else f"{name}_{self._count[name]}"


class _Ours(Extension):
    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802
        md.treeprocessors.register(_PageElements(md), "dress", -10)


class _PageElements(Treeprocessor):
    """Puts anchors inside headings and turns images into links, titles into ``div``, styles for alignment into ``align``."""

    def run(self, root: Element) -> None:
        for element in list(root.iter()):
            if re.fullmatch("h[1-6]", element.tag) and "id" in element.attrib:
                anchor = Element("a", {"id": element.attrib.pop("id"), "class": "anchor"})
                anchor.tail, element.text = element.text, None
                element.insert(0, anchor)
            elif element.get("class") == "admonition-title":
                element.tag = "div"
            elif element.tag == "img":
                _image_to_link(element)
            elif element.tag in ("td", "th") and "style" in element.attrib:
                element.set("align", element.attrib.pop("style").removeprefix("text-align: ").rstrip(";"))


def _image_to_link(element: Element) -> None:
    source, words = element.get("src", ""), element.get("alt", "")
    element.attrib.clear()
    element.tag = "a"
    element.set("href", source)
    element.set("class", "image-link")
    element.text = f"image: {words} ({links.host(source)})" if words else f"image ({links.host(source)})"


_ANCHOR = re.compile(r"md-[a-z0-9_-]{1,70}")
_FRAGMENT = re.compile(r"#md-[a-z0-9_-]{1,70}")

_MORE: Mapping[tuple[str, str], re.Pattern[str]] = {
    ("div", "class"): re.compile(r"page|toc|admonition [a-z]{1,20}|admonition-title"),
    ("a", "id"): _ANCHOR,
    ("a", "href"): _FRAGMENT,
    ("a", "class"): re.compile(r"anchor"),
}
"""What an operator's page may contain beyond ``html.ALLOWED``."""


def permitted(tag: str, attribute: str, value: str) -> bool:
    """Whether an operator's page may have this attribute with this value."""
    more = _MORE.get((tag, attribute))
    return html.permitted(tag, attribute, value) or (more is not None and more.fullmatch(value) is not None)


class _Links:
    """A filter for bleach: links within the page stay, all others open in a new tab without a referrer; direction controls are removed."""

    def __init__(self, source: Iterable[dict[str, Any]]) -> None:
        self._source = source

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for token in self._source:
            data = token.get("data")
            if isinstance(data, str):
                token["data"] = DIRECTIONS.sub("", data)
            elif token.get("name") == "a" and isinstance(data, dict) and not _FRAGMENT.fullmatch(data.get((None, "href"), "#md-0")):
                data.update({(None, name): value for name, value in html.LINK_ATTRIBUTES.items()})
            yield token


def _cleaner() -> Cleaner:
    return Cleaner(
        # this syntax has no task lists, and a bare input would be a field to type a password into
        tags=frozenset(html.ALLOWED) - {"input"},
        attributes=permitted,
        protocols=frozenset({"http", "https", "mailto"}),
        strip=False,
        strip_comments=True,
        filters=[cast(Any, _Links)],  # the expected type belongs to a library that bleach vendors
    )
