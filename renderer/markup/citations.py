"""Citations in answers: which pages may be cited, and the links that ``【3†L1-L4】`` becomes (3 is the page's cursor).

A citation only links to a page that was opened, or to a passage of a document that was searched: no part of the address comes from the
citing text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markdown_it.token import Token

from renderer.markup import links

CITATION = re.compile(r"【([0-9]{1,6})†[^【】\n]{1,60}】|〖([0-9]{1,6})†[^〖〗\n]{1,60}〗")
"""A citation in the form that gpt-oss was trained on; some descriptions of it use the other brackets."""
PASSAGE_PATH = re.compile(r"/documents/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/[0-9]{1,7}/#here")
"""The only addresses of our own that a citation may link to, so that no model can make somebody open another of our pages."""
_HALF_A_CITATION = re.compile(r"[【〖](?:[0-9]{1,6}(?:†[^【】〖〗\n]{0,60})?)?\Z")
TITLE_CHARS = 200
MAX_LINKS = 100
"""The most citation links in one run of text.

Each repeats the whole address, so a few characters of a model's text could become megabytes of HTML.
"""


@dataclass(frozen=True, slots=True)
class CitableSource:
    """A page that was opened, or a passage of a document. ``url`` is empty if there is nothing to open, as for a list of search results;
    ``title`` if it is a document that the reader may not know.
    """

    url: str
    title: str

    @property
    def host(self) -> str:
        """The host that people see next to a citation; empty if it links to nothing."""
        return links.host(_href(self)).removeprefix("www.")

    @property
    def is_document(self) -> bool:
        """Whether this is a passage of a document, not a web page."""
        return PASSAGE_PATH.fullmatch(self.url) is not None


Pages = Mapping[int, CitableSource]
"""The pages that were opened in a conversation, by cursor."""


def cited(text: str, pages: Pages) -> list[CitableSource]:
    """The pages that a text cites, each once, in order of first citation."""
    named = (pages.get(int(match[1] or match[2])) for match in CITATION.finditer(text))
    return list(dict.fromkeys(page for page in named if page is not None and _href(page)))


def held_back(text: str) -> str:
    """The text without an incomplete citation at its end."""
    return _HALF_A_CITATION.sub("", text)


def may_cite(text: str) -> bool:
    """Whether there is a citation in a text."""
    return "†" in text and CITATION.search(text) is not None


def link_citations(children: list[Token], pages: Pages) -> list[Token]:
    """The tokens of a sentence with its citations as links. A citation of a page that was never opened is removed; if no page was ever
    opened, it is ordinary text.
    """
    if not pages:
        return children
    linked: list[Token] = []
    depth = 0
    for token in children:
        depth += (token.type == "link_open") - (token.type == "link_close")
        linked += _linked(token, pages, inside_link=depth > 0) if token.type == "text" else [token]
    return linked


def _linked(token: Token, pages: Pages, *, inside_link: bool) -> Iterator[Token]:
    end, links_left = 0, MAX_LINKS
    for match in CITATION.finditer(token.content):
        if match.start() > end:
            yield token.copy(content=token.content[end : match.start()])
        if not inside_link and links_left:
            links_left -= 1
            yield from _tokens(pages.get(int(match[1] or match[2])))
        end = match.end()
    if not end:
        yield token
    elif end < len(token.content):
        yield token.copy(content=token.content[end:])


def _tokens(page: CitableSource | None) -> Iterator[Token]:
    href = _href(page) if page else ""
    if page is None or not href:
        return
    title = " ".join(page.title.split())[:TITLE_CHARS]
    yield Token("link_open", "a", 1, attrs={"href": href, "class": "citation", "title": title})
    yield Token("text", "", 0, content=title if page.is_document else page.host)
    yield Token("link_close", "a", -1)


def _href(page: CitableSource) -> str:
    """The address of the page, if a link may lead there."""
    if page.is_document:
        return page.url if page.title else ""
    return page.url if page.url.lower().startswith(("http://", "https://")) and links.permitted(page.url) else ""
