"""Crawls the product as one visitor: fetches every URL, and every link found on the way."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from chatui.canary.visitors.addresses import FOR_STAFF, FORMS, LAST, Address, Values, addresses, form, places
from chatui.canary.visitors.browser import Answer, Browser
from chatui.canary.watch import CanaryError

_LINK = re.compile(r'(?:href|src|action|data-[\w-]+)="(/[^"]*)"')
_MAX_LINKS = 500
_LINKS_OF_A_MESSAGE = 4
_REFUSED, _NOT_FOUND, _METHOD = 403, 404, 405


class Crawl:
    """One visitor's crawl. ``refused``: the number of refused requests for hidden text."""

    def __init__(self, browser: Browser, *, signed_in: bool = True, follows_static: bool = False, messages: int = 0) -> None:
        """``follows_static``: also fetch scripts and styles, which are the same for everybody.

        ``messages``: how many this visitor has, for the limit on links.
        """
        self._browser = browser
        self._signed_in = signed_in
        self._follows_static = follows_static
        self._max_links = _MAX_LINKS + _LINKS_OF_A_MESSAGE * messages
        self._links: dict[str, None] = {}
        self._fetched: set[str] = set()
        self._addresses = addresses()
        self.refused = 0

    def everything(self, known: Sequence[Values]) -> None:
        """Every route with all known values, except those that remove something; then the links.

        Raises:
            CanaryError: a route has unknown parameters, or there are too many links.
        """
        for address in self._addresses:
            if address.name not in LAST:
                self._visit(address, known)
        self._follow()

    def pages_of(self, known: Sequence[Values]) -> None:
        """Only the front page and the pages of a conversation, even if fetched before."""
        for address in self._addresses:
            is_of_one = "conversation_id" in address.parameters and address.name not in FOR_STAFF and address.name not in FORMS
            if is_of_one or address.name == "home":
                for path in places(address, known):
                    self._get(path, address)

    def page(self, path: str, place: str) -> None:
        """One page, and the links in it."""
        self._fetched.add(path)
        self._collect(self._browser.get(path, place))
        self._follow()

    def last(self, values: Values) -> None:
        """Routes that remove something (revoking, deleting, restoring, signing out), and the pages they redirect to."""
        for name in LAST:
            for address in (address for address in self._addresses if address.name == name):
                self._send(address, values)

    def _visit(self, address: Address, known: Sequence[Values]) -> None:
        paths = places(address, known[:1] if address.name in FOR_STAFF else known)
        if not paths:
            raise CanaryError(f"The canary does not know how to ask for {address.pattern}.")
        for path in paths:
            answer = self._get(path, address)
            if answer.status == _METHOD:
                self._send(address, known[0])
                return

    def _follow(self) -> None:
        followed = 0
        while new := [link for link in self._links if link not in self._fetched]:
            for link in new:
                followed += 1
                if followed > self._max_links:
                    raise CanaryError(f"The pages of the {self._browser.viewer} have more than {self._max_links} links.")
                self._fetched.add(link)
                self._collect(self._browser.get(link, f"link to {_shape(link)}"))

    def _get(self, path: str, address: Address) -> Answer:
        self._fetched.add(path)
        answer = self._browser.get(path, address.pattern or "home")
        self._judge(address, answer)
        return answer

    def _send(self, address: Address, values: Values) -> None:
        filled = form(address, values)
        if filled is None:
            raise CanaryError(f"The canary has no form for {address.pattern}.")
        answer = self._browser.post(filled[0], f"POST {address.pattern}", filled[1])
        self._judge(address, answer)
        target = answer.headers.get("location", "")
        if target.startswith("/") and not target.startswith("//"):
            self._collect(self._browser.get(target, f"after POST {address.pattern}"))

    def _judge(self, address: Address, answer: Answer) -> None:
        self._collect(answer)
        if not self._signed_in or address.name not in FOR_STAFF or answer.status == _METHOD:
            return
        if answer.status == _REFUSED:
            self.refused += 1
        elif answer.status != _NOT_FOUND:
            self._browser.watch.note(f"not refused, but answered {answer.status}", self._browser.viewer, address.pattern)

    def _collect(self, answer: Answer) -> None:
        if not answer.is_html:
            return
        for found in _LINK.findall(answer.text):
            link = html.unescape(found).partition("#")[0]
            if not link.startswith(("//", "/ws/")) and (self._follows_static or not link.startswith("/static/")):
                self._links.setdefault(link)


def _shape(link: str) -> str:
    """A link without the ids, tokens and values in it."""
    path, _, query = link.partition("?")
    path = re.sub(r"(?<=/)(?=[^/]*\d)[\w-]{16,}(?=/|$)", "…", path)
    return f"{path}?{'&'.join(part.partition('=')[0] for part in query.split('&'))}" if query else path
