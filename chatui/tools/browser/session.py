"""The browser session of one turn: its open pages, by cursor, and the functions that the model can call on them.

A model may open only URLs that the person wrote, or that a page or search result contained. Opening an address sends it to somebody else's
server, and citing it shows it. With freely chosen addresses, a model under prompt injection could leak everything that it knows, including
its reasoning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from chatui.env import Environment
from chatui.tools.browser import engines, pages
from chatui.tools.browser.pages import TextPage
from chatui.tools.fetcher import Fetcher, FetchError
from chatui.tools.tool import CallingTurn, ToolError
from renderer.markup.citations import CitableSource

_WRITTEN = re.compile(
    r"(?:https?://|(?<![\w.-]))(?:[\w-]{1,63}\.){1,10}[^\W\d_]{2,24}(?![\w-])(?::\d{1,5})?(?:[/?#][^\s<>\"`|\\^{}【】]{0,2000})?",
    re.IGNORECASE,
)
"""Every part is bounded, and a match begins only where a name can begin, because a question may be very long."""
_TAIL = ".,;:!?)]}'\"*_~>»”’、。）】"


class AllowedAddresses:
    """The addresses that a model may open: those in the ``questions``, and those that ``allow`` adds. ``permitted`` checks an address."""

    def __init__(self, questions: Iterable[str]) -> None:
        self._known: dict[str, str] = {}
        for question in questions:
            for match in _WRITTEN.finditer(question):
                self.allow((match[0].rstrip(_TAIL), match[0]))  # without and with the sentence's punctuation

    def allow(self, addresses: Iterable[str]) -> None:
        """Add the addresses of links that the model is shown."""
        for address in addresses:
            self._known.setdefault(_key(address), _bare(address))

    def permitted(self, address: str) -> str | None:
        """The address as it was written or shown; None if it may not be opened.

        Only the scheme is taken from the model's spelling: even the number of trailing slashes could leak data.
        """
        known = self._known.get(_key(address))
        scheme = "http" if address.strip().lower().startswith("http://") else "https"
        return None if known is None else f"{scheme}://{known}"


def _key(address: str) -> str:
    """A key that is the same for addresses that differ only in scheme, fragment, case of the host or trailing slashes."""
    host, mark, rest = re.match(r"([^/?]*)([/?]?)(.*)", _bare(address).rstrip("/"), re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{host.lower()}{mark}{rest}"


def _bare(address: str) -> str:
    return re.sub(r"^https?://", "", address.strip(), flags=re.IGNORECASE).partition("#")[0]


MAX_OPEN = 50
"""The maximum number of pages that one turn keeps open. The oldest are closed, but can be opened again by their address."""
_ECHO_CHARS = 12


@dataclass(slots=True)
class Browser:
    """The browser of one turn. Its methods are the functions that gpt-oss was trained with, and return the text for the model."""

    turn: CallingTurn
    env: Environment
    fetcher: Fetcher
    _pages: dict[int, TextPage] = field(default_factory=dict, repr=False)
    _allowed: AllowedAddresses = field(init=False, repr=False)
    _latest: int | None = None

    def __post_init__(self) -> None:
        self._allowed = AllowedAddresses(self.turn.questions)
        self._allowed.allow(page.url for page in self.turn.pages.values() if page.host)

    async def search(self, query: str, topn: int = 10) -> str:
        """Search with the operator's search engine.

        Raises:
            ToolError: the search failed.
        """
        if not query.strip():
            raise ToolError("There is nothing to search for.")
        found = await engines.search(self.env, query[:1000], topn)
        return self._push(pages.results(query, [each for each in found if not _echoes(each.url, query)]))

    async def open(self, id: int | str = -1, cursor: int = -1, loc: int = -1, num_lines: int = -1) -> str:  # noqa: A002 - the trained name
        """Open a link or an address, or show another part of an open page.

        Raises:
            ToolError: there is no such page or link, or the address may not be opened or could not be loaded.
        """
        if isinstance(id, str) and not id.strip().lstrip("-").isdigit():
            return self._push(await self._loaded(_whole(id)), loc, num_lines)
        number = int(id)
        page, at = await self._page(cursor)
        if number < 0:
            return self._push(page, max(loc, 0), num_lines)
        if page.searched_cursor is not None:
            if number >= len(page.match_lines):
                raise ToolError(f"There is no match {number} on this page.")
            whole, _ = await self._page(page.searched_cursor)
            return self._push(whole, page.match_lines[number] if loc < 0 else loc, num_lines)
        if number >= len(page.links):
            raise ToolError(f"There is no link with the id {number} on the page with the cursor {at}.")
        return self._push(await self._loaded(page.links[number]), loc, num_lines)

    async def find(self, pattern: str, cursor: int = -1) -> str:
        """Find a text in a page.

        Raises:
            ToolError: there is no such page, or it cannot be searched.
        """
        page, at = await self._page(cursor)
        if page.is_results or page.searched_cursor is not None:
            raise ToolError("Results cannot be searched, only opened pages. Open one first.")
        if not pattern.strip():
            raise ToolError("There is nothing to find.")
        return self._push(pages.matches(at, page, pattern[:200]))

    async def _page(self, cursor: int) -> tuple[TextPage, int]:
        """The page with this cursor, or the latest one. A page of an earlier answer is loaded again."""
        at = self._latest if cursor < 0 else cursor
        if at is None:
            raise ToolError("No page is open. Search, or open an address that the person wrote.")
        if at in self._pages:
            return self._pages[at], at
        known = self.turn.pages.get(at)
        if known is None or not known.host:
            raise ToolError(f"There is no page with the cursor {at} any more.")
        self._pages[at] = await self._loaded(known.url)
        return self._pages[at], at

    async def _loaded(self, url: str) -> TextPage:
        found = self._allowed.permitted(url)
        if found is None:
            raise ToolError("Only addresses that the person wrote, or that a search or an opened page showed, can be opened.")
        try:
            return await pages.read(await self.fetcher.fetch(found))
        except FetchError as error:
            raise ToolError(str(error)) from None

    def _push(self, page: TextPage, start: int = 0, count: int = -1) -> str:
        """Assign the next cursor to a page, and show it."""
        cursor = max(self.turn.pages, default=-1) + 1
        self._pages[cursor] = page
        if len(self._pages) > MAX_OPEN:
            del self._pages[next(iter(self._pages))]
        self.turn.pages[cursor] = CitableSource(page.url, self._title(page))
        self._latest = cursor
        self._allowed.allow(page.links)
        return pages.shown(cursor, page, max(start, 0), count)

    def _title(self, page: TextPage) -> str:
        """The title that people may see. The title of search results or matches contains the model's hidden query."""
        if page.searched_cursor is not None:
            return self.turn.pages[page.searched_cursor].title
        return "" if page.is_results else page.title


def _whole(address: str) -> str:
    stripped = address.strip()
    return stripped if "://" in stripped else f"https://{stripped}"


def _echoes(url: str, query: str) -> bool:
    """Whether an address contains the search query, as those of result pages do. The query is hidden; a cited address is not."""
    asked = " ".join(query.casefold().split())
    return len(asked) >= _ECHO_CHARS and asked in " ".join(unquote_plus(url.partition("?")[2]).casefold().split())
