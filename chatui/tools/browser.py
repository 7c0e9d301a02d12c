"""The tool browser: the pages of one turn, opened and shown with line numbers, and the functions that the model can call on them.

A model may open only URLs that the person wrote, or that a page or search result contained. Opening an address sends it to somebody else's
server, and citing it shows it. With freely chosen addresses, a model under prompt injection could leak everything that it knows, including
its reasoning.

``tools.search_engines`` searches, and ``tools.fetcher`` fetches a page. It is converted to text by the confined process that reads uploaded
files (``documents.reading``), so that hostile HTML can harm only that process, and is shown as gpt-oss was trained: with a cursor, a title
and numbered lines. ``store.opened_pages`` stores pages, and ``renderer.markup.citations`` makes links of the citations in an answer.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import unquote_plus

from chatui.documents import reading
from chatui.documents.inside.html import TITLE_CHARS, absolute_url, clean, host, wrapped
from chatui.documents.kinds import NoTextReason
from chatui.documents.limits import BY_REASON
from chatui.env import Environment, environment
from chatui.outbound.addresses import receiver
from chatui.sandbox import ProcessLimits
from chatui.tools import search_engines
from chatui.tools.fetcher import FetchedPage, Fetcher, FetchError, Hosts
from chatui.tools.search_engines import Result
from chatui.tools.tool import CallingTurn, Foreseen, Tool, ToolError
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


LIMITS = ProcessLimits(cpu_seconds=12, wall_seconds=12)
MAX_BYTES = 8_000_000


@dataclass(frozen=True, slots=True)
class TextPage:
    """A page as text."""

    url: str
    title: str
    lines: tuple[str, ...] = field(repr=False)
    links: tuple[str, ...] = field(default=(), repr=False)
    """The targets of the links in the text, by id."""
    is_results: bool = False
    """Whether the page lists search results."""
    searched_cursor: int | None = None
    """If this page lists the matches in another one: the cursor of that page."""
    match_lines: tuple[int, ...] = ()
    """The line of each match in that page."""


def read(fetched: FetchedPage) -> TextPage:
    """The page as text. Blocks until it is read.

    Raises:
        FetchError: the page has no text, or could not be read in time.
    """
    about = json.dumps({"url": fetched.url, "kind": fetched.kind, "charset": fetched.charset})
    if not reading.is_confined():
        raise FetchError("This page cannot be read as text.")
    answer = reading.read_confined("web page", about.encode() + b"\n" + fetched.body, MAX_BYTES, LIMITS)
    parts = {part.label: part.text for part in answer.parts}
    if answer.reason not in (NoTextReason.NONE, NoTextReason.BLANK):
        raise FetchError(_UNREADABLE.get(answer.reason, "This page cannot be read as text."))
    if not parts.get("lines", "").strip():
        raise FetchError("There is no text on this page.")
    cut = ("", "[The page is longer. The rest was not loaded.]") if fetched.is_cut or answer.is_cut else ()
    links = tuple(filter(None, parts.get("links", "").split("\n")))
    return TextPage(fetched.url, parts.get("title") or fetched.url, (*parts["lines"].split("\n"), *cut), links)


_UNREADABLE = {
    NoTextReason.SCANNED: "This PDF has only pictures of pages, and no text.",
    NoTextReason.ENCRYPTED: "This PDF is encrypted, and cannot be read without its password.",
    **dict.fromkeys(BY_REASON, "This page is too large or too complicated to be read here."),
}

WINDOW_CHARS = 4000
"""About 1,024 tokens: the window that gpt-oss was trained with."""
MAX_MATCHES = 50
_AROUND = 4


def shown(cursor: int, page: TextPage, start: int = 0, count: int = -1) -> str:
    """The page from line ``start`` on: ``count`` lines, but not more than fit into a window."""
    start = max(0, min(start, len(page.lines) - 1))
    lines = _window(page.lines[start:], count)
    end = start + len(lines) - 1
    where = f" ({page.url})" if page.url else ""
    numbered = "\n".join(f"L{number}: {line}" for number, line in enumerate(lines, start))
    return f"[{cursor}] {page.title}{where}\n**viewing lines [{start} - {end}] of {len(page.lines) - 1}**\n\n{numbered}"


def results(query: str, found: Sequence[Result]) -> TextPage:
    """The search results, as a page of links."""
    lines: list[str] = []
    links: list[str] = []
    for result in found:
        url = absolute_url(result.url, "")
        title = " ".join(clean(result.title).split())[:TITLE_CHARS] or host(url)
        if not url:
            continue
        lines += [f"【{len(links)}†{title}†{host(url)}】", *wrapped(" ".join(clean(result.snippet).split())), ""]
        links.append(url)
    title = f"Search results for: {' '.join(clean(query).split())}"
    return TextPage("", title, tuple(lines or ["Nothing was found."]), tuple(links), is_results=True)


def matches(cursor: int, page: TextPage, pattern: str) -> TextPage:
    """The matches of a text in a page, as a separate page. ``cursor``: of the searched page."""
    wanted = pattern.casefold()
    lines: list[str] = []
    match_lines: list[int] = []
    for number, line in enumerate(page.lines):
        if wanted in line.casefold():
            lines += [f"# 【{len(match_lines)}†match at L{number}】", *page.lines[number : number + _AROUND], ""]
            match_lines.append(number)
        if len(match_lines) == MAX_MATCHES:
            break
    title = f"Find results for text: `{' '.join(clean(pattern).split())}` in `{page.title}`"
    return TextPage(
        page.url, title, tuple(lines or ["No such text was found on the page."]), searched_cursor=cursor, match_lines=tuple(match_lines)
    )


def _window(lines: Sequence[str], count: int) -> Sequence[str]:
    most = len(lines) if count < 1 else count
    chars = 0
    for number, line in enumerate(lines[:most]):
        chars += len(line) + 6
        if chars > WINDOW_CHARS and number:
            return lines[:number]
    return lines[:most]


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
        """Search with the operator's search engine. Raises ToolError."""
        if not query.strip():
            raise ToolError("There is nothing to search for.")
        found = await search_engines.search(query[:1000], topn)
        return self._push(results(query, [each for each in found if not _echoes(each.url, query)]))

    async def open(self, id: int | str = -1, cursor: int = -1, loc: int = -1, num_lines: int = -1) -> str:  # noqa: A002 - the trained name
        """Open a link or an address, or show another part of an open page. Raises ToolError: there is none, or it may not be opened."""
        if not _is_number(id):
            return self._push(await self._loaded(_with_scheme(str(id))), loc, num_lines)
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
        """Find a text in a page. Raises ToolError: there is no such page, or it cannot be searched."""
        page, at = await self._page(cursor)
        if page.is_results or page.searched_cursor is not None:
            raise ToolError("Results cannot be searched, only opened pages. Open one first.")
        if not pattern.strip():
            raise ToolError("There is nothing to find.")
        return self._push(matches(at, page, pattern[:200]))

    def foreseen(self, name: str, arguments: Mapping[str, Any]) -> Foreseen:
        """What a call of this function will do, whatever else is opened before it runs. Raises ToolError: it would be in vain.

        A link's number becomes its address, which is what its site receives; no cursor means the page that is the latest one now.
        """
        if name == "search":
            used = search_engines.chosen()
            return Foreseen(arguments, receiver(used.address) if used else "")
        wanted = dict(arguments)
        given, cursor = wanted.get("id", -1), int(wanted.get("cursor", -1))
        if name == "open" and not _is_number(given):
            wanted.pop("cursor", None)
            return self._to_open(wanted, _with_scheme(given))
        at = self._latest if cursor < 0 else cursor
        page = None if at is None else self._pages.get(at)
        number = int(given) if name == "open" else -1
        if page is None or at is None:
            known = None if at is None else self.turn.pages.get(at)
            if name == "open" and number < 0 and known and known.host:
                wanted.pop("cursor", None)
                return self._to_open(wanted, known.url)  # opening it again is all that shows another part of it
            raise ToolError(f"This page is not open in this answer. {f'Open {known.url} first.' if known and known.host else ''}".strip())
        if number < 0:
            return Foreseen({**wanted, "cursor": at})
        if page.searched_cursor is not None:
            return Foreseen(self._at_match(wanted, page, number))
        if number >= len(page.links):
            raise ToolError(f"There is no link with the id {number} on the page with the cursor {at}.")
        wanted.pop("cursor", None)
        return self._to_open(wanted, page.links[number])

    def _at_match(self, wanted: Mapping[str, Any], page: TextPage, number: int) -> Mapping[str, Any]:
        """The arguments that show a match in the page that was searched."""
        if number >= len(page.match_lines):
            raise ToolError(f"There is no match {number} on this page.")
        if page.searched_cursor not in self._pages:
            raise ToolError(f"This page is not open in this answer. Open {page.url} first.")
        line = wanted.get("loc", -1) if wanted.get("loc", -1) >= 0 else page.match_lines[number]
        return {name: value for name, value in wanted.items() if name != "id"} | {"cursor": page.searched_cursor, "loc": line}

    def _to_open(self, wanted: Mapping[str, Any], url: str) -> Foreseen:
        found = self._allowed.permitted(url)
        if found is None:
            raise ToolError(_NOT_ALLOWED)
        try:
            return Foreseen({**wanted, "id": found}, self.fetcher.target(found).receiver)
        except FetchError as error:
            raise ToolError(str(error)) from None

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
            raise ToolError(_NOT_ALLOWED)
        try:
            return await asyncio.to_thread(read, await self.fetcher.fetch(found))
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
        return shown(cursor, page, max(start, 0), count)

    def _title(self, page: TextPage) -> str:
        """The title that people may see. The title of search results or matches contains the model's hidden query."""
        if page.searched_cursor is not None:
            return self.turn.pages[page.searched_cursor].title
        return "" if page.is_results else page.title


_NOT_ALLOWED = "Only addresses that the person wrote, or that a search or an opened page showed, can be opened."


def _is_number(given: int | str) -> bool:
    """Whether it is the number of a link, and not an address."""
    return not isinstance(given, str) or given.strip().lstrip("-").isdigit()


def _with_scheme(address: str) -> str:
    return address if "://" in address else f"https://{address.strip()}"


def _echoes(url: str, query: str) -> bool:
    """Whether an address contains the search query, as those of result pages do. The query is hidden; a cited address is not."""
    asked = " ".join(query.casefold().split())
    return len(asked) >= _ECHO_CHARS and asked in " ".join(unquote_plus(url.partition("?")[2]).casefold().split())


_CITE = "Cite what you read as 【cursor†L1-L4】, by the number in brackets above it."
_OPENS = (
    "Opens the link with an id, shown as 【id†text】, on the page with a cursor, from line loc on; or an address. Without an id it shows "
    f"another part of that page. Without a cursor it means the latest page. {_CITE}"
)
_NUMBER = {"type": "integer", "default": -1, "minimum": -1, "maximum": 1_000_000}
_SOURCE = {"type": "string", "maxLength": 100}
_ID = {
    "anyOf": [{"type": "integer", "minimum": -1, "maximum": 1_000_000}, {"type": "string", "maxLength": 2000}],
    "description": "The id of a link, or an address that the person wrote or that was shown (integer or string)",
}
_UNUSED = ("source", "view_source")
"""Trained arguments: ``source`` has only one value, and a page's source code is never shown."""


def browser_tools() -> list[Tool]:
    """The functions that can be offered, in gpt-oss's trained form. Without a search engine, the model can still open pages that the person
    names."""
    words = {"type": "string", "minLength": 1, "maxLength": 1000}
    count = {"type": "integer", "default": 10, "minimum": 1, "maximum": 100}
    pattern = {"type": "string", "minLength": 1, "maxLength": 200}
    search = _tool(
        ("search", "Search the web", "Searching the web"),
        f"Searches the web for information on a query. {_CITE}",
        {"query": words, "topn": count, "source": _SOURCE},
        ["query"],
    )
    open_page = _tool(
        ("open", "Read web pages", "Reading a web page"),
        _OPENS,
        {"id": _ID, "cursor": _NUMBER, "loc": _NUMBER, "num_lines": _NUMBER, "view_source": {"type": "boolean"}, "source": _SOURCE},
        [],
    )
    find = _tool(
        ("find", "Find text in web pages", "Searching a web page"),
        f"Finds exact matches of a text in the page with a cursor, or in the latest one. {_CITE}",
        {"pattern": pattern, "cursor": _NUMBER},
        ["pattern"],
    )
    return [replace(search, is_ready=search_engines.is_configured), open_page, replace(find, switched_with=open_page.name)]


def new_browser(turn: CallingTurn) -> Browser:
    env = environment()
    return Browser(turn, env, Fetcher(Hosts(env.browser_allow_hosts, env.browser_deny_hosts)))


def _tool(names: tuple[str, str, str], description: str, properties: dict[str, Any], required: list[str]) -> Tool:
    """``names``: the function's, its title and its label."""
    name, title, label = names
    return Tool(
        name=f"browser_{name}",
        description=description,
        parameters={"type": "object", "properties": properties, "required": required, "additionalProperties": False},
        is_async=True,
        label=label,
        source="chatui",
        recipient=f"browser.{name}",
        begin=partial(_begin, name),
        title=title,
        reads_private_data=False,
        sends_outside=True,
        foresees=partial(_foreseen, name),
    )


def _begin(name: str, turn: CallingTurn) -> Callable[[Mapping[str, Any]], Any]:
    """The function for the calls of one turn. All three functions share one browser, which is created at the first call."""

    def call(arguments: Mapping[str, Any]) -> Any:
        return getattr(_of_turn(turn), name)(**{key: value for key, value in arguments.items() if key not in _UNUSED})

    return call


def _foreseen(name: str, turn: CallingTurn, arguments: Mapping[str, Any]) -> Foreseen:
    return _of_turn(turn).foreseen(name, {key: value for key, value in arguments.items() if key not in _UNUSED})


def _of_turn(turn: CallingTurn) -> Browser:
    browser: Browser = turn.shared.get("browser") or turn.shared.setdefault("browser", new_browser(turn))
    return browser
