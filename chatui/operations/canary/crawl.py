"""Crawls the product as one visitor: fetches every URL, and every link found on the way.

The URLs, and how to request them, are taken from the URL configuration, so that no new route can be forgotten. A route with a word that is
not known here is not skipped: the run reports it, and a test fails before that. A route that accepts only forms gets one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import httpx
from django.urls import Resolver404, URLPattern, URLResolver, get_resolver, resolve

from chatui.models.user import User
from chatui.operations.canary.browser import SimulatedBrowser, is_html
from chatui.operations.canary.watch import CanaryError

Values = Mapping[str, str]
"""Values for URL parameters by name: ids that belong together."""


_PARAMETER = re.compile(r"\(\?P<(\w+)>[^()]*\)|<(?:(\w+):)?(\w+)>")
_BY_KIND = {"uuid": "00000000-0000-7000-8000-00000000cafe", "int": "1"}
"""For ids and numbers of which a run has none: nobody's."""
FIXED: Values = {
    "name": "help",
    "digest": "no-such-digest",
    "file": "site.css",
    "token": "no-such-token-of-22-let",
    "kind": "csv",
    "rest": "Me",
    "address": "nowhere",
    "provider": "no-such-provider",
    "server": "no-such-server",
    "key": "no-such-key",
    "what": "nothing",
    # For API endpoints, which check the key first, and use no session.
    "model_id": "demo",
    "answer_id": "resp_0000000000007000800000000000cafe",
    "item_id": "msg_0000000000007000800000000000cafe",
}
"""Words for which a run may have no better value."""


@dataclass(frozen=True, slots=True)
class Address:
    """One route."""

    pattern: str
    """As in the URL configuration, with its prefixes."""
    name: str
    """With its namespace."""

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters."""
        return [found[1] or found[3] for found in _PARAMETER.finditer(self.pattern)]

    def path(self, values: Values) -> str:
        """The path with these values. Raises CanaryError if it needs a word that is not known here."""
        kinds = {found[3]: _BY_KIND[found[2]] for found in _PARAMETER.finditer(self.pattern) if found[2] in _BY_KIND}
        known = {**FIXED, **kinds, **values}
        if not known.keys() >= set(self.parameters):
            raise CanaryError(f"The canary does not know how to ask for {self.pattern}.")
        return "/" + _PARAMETER.sub(lambda found: known[found[1] or found[3]], self.pattern).replace("^", "").replace("$", "")


QUERIES: Mapping[str, tuple[str, ...]] = {
    # Without a query, it is the end of the conversation.
    "conversation": ("?all=1",),
    "download": ("?format=openchatml", "?format=markdown", "?format=json"),
}
"""Query strings to request besides the path alone."""

FORMS: Mapping[str, Values] = {
    "rename": {"title": "A canary's own title"},
    "put": {"place": "list"},
    "branch": {"message": "{message_id}"},
    "debug_open": {"reason": "canary run, to be refused", "minutes": "15"},
    "language": {"language": "", "next": "/"},
    "sign_in_passkey": {"credential": "none"},
    "sign_in_code_passkey": {"credential": "none"},
    "passkey_rename": {"name": "canary"},
    "decide": {"decision": "declined"},
}
"""The form fields for routes that only accept forms; others get none. ``{parameter}`` in a value is replaced."""

LAST = ("share_revoke", "share_revoke_of", "share_revoke_all", "delete", "restore", "sign_out")
"""Routes that remove something that others need: requested after them, in this order."""

FOR_STAFF = {
    *("download_whole", "debug", "debug_open", "debug_close", "debug_compare", "debug_file", "debug_raw", "debug_raw_frame"),
    *("debug_prompt", "debug_prompt_file", "debug_tokens", "debug_approve", "debug_decline"),
}
"""Routes to hidden text: people without the permission are refused, and each attempt is recorded."""


def addresses() -> list[Address]:
    """All routes, in the order of the URL configuration."""
    return list(_walk(get_resolver(), "", ""))


def _walk(resolver: URLResolver, before: str, namespace: str) -> Iterator[Address]:
    for item in resolver.url_patterns:
        pattern = before + str(item.pattern)
        if isinstance(item, URLPattern):
            yield Address(pattern, namespace + (item.name or ""))
        else:
            yield from _walk(item, pattern, f"{namespace}{item.namespace}:" if item.namespace else namespace)


def places(address: Address, known: Iterable[Values]) -> list[str]:
    """The paths of a route for all known values, each once."""
    paths = dict.fromkeys(address.path(values) for values in known)
    return [path + query for path in paths for query in ("", *QUERIES.get(address.name, ()))]


_LOOKED_AT = 4
"""How many messages of a long conversation are checked one by one; its pages show all of them."""


def known_of(owner: User, long: Container[str] = ()) -> list[dict[str, str]]:
    """The ids of the owner's messages, the hidden ones first, and of their turns. A message without a turn gets the id of any turn.
    ``long``: the conversations of which only some are returned."""
    known: list[dict[str, str]] = []
    for row in owner.conversations.order_by("created_at"):
        turns = [str(key) for key in row.turns.order_by("started_at").values_list("pk", flat=True)]
        some = turns[0] if turns else str(row.pk)
        messages = list(row.messages.order_by("is_visible", "position").values_list("pk", "turn_id", "is_visible"))
        if str(row.pk) in long:
            turns, messages = turns[:_LOOKED_AT], [*messages[:_LOOKED_AT], *messages[-_LOOKED_AT:]]
        for key, turn, is_visible in messages:
            ids = {"conversation_id": str(row.pk), "message_id": str(key), "turn_id": some if turn is None else str(turn)}
            known.append({**ids, "is_visible": "yes" if is_visible else ""})
        known += [{**known[-1], "turn_id": turn} for turn in turns]
    return known


_LINK = re.compile(r'(?:href|src|action|data-[\w-]+)="(/[^"]*)"')
_MAX_LINKS = 500
_LINKS_OF_A_MESSAGE = 4
_REFUSED, _NOT_FOUND, _METHOD = 403, 404, 405


class Crawl:
    """One visitor's crawl. ``refused``: the number of refused requests for hidden text.

    A route that accepts only forms refuses every other request before it looks at anything, so it is asked for a page once.
    """

    def __init__(self, browser: SimulatedBrowser, *, signed_in: bool = True, follows_static: bool = False, messages: int = 0) -> None:
        """``follows_static``: also fetch scripts and styles, which are the same for everybody.

        ``messages``: how many this visitor has, for the limit on links.
        """
        self._browser = browser
        self._signed_in = signed_in
        self._follows_static = follows_static
        self._max_links = _MAX_LINKS + _LINKS_OF_A_MESSAGE * messages
        self._links: dict[str, None] = {}
        self._fetched: set[str] = set()
        self._only_forms: set[str] = set()
        self._addresses = addresses()
        self.refused = 0

    def everything(self, known: Sequence[Values]) -> None:
        """Every route with all known values, except those that remove something; then the links.

        Raises:
            CanaryError: a route has an unknown parameter, or there are too many links.
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
                    if address.pattern not in self._only_forms:
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
        for path in places(address, known[:1] if address.name in FOR_STAFF else known):
            answer = self._get(path, address)
            if answer.status_code == _METHOD:
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
                if _pattern(link) not in self._only_forms:
                    self._collect(self._browser.get(link, f"link to {shape_of(link)}"))

    def _get(self, path: str, address: Address) -> httpx.Response:
        self._fetched.add(path)
        answer = self._browser.get(path, address.pattern or "home")
        if answer.status_code == _METHOD:
            self._only_forms.add(address.pattern)
        self._judge(address, answer)
        return answer

    def _send(self, address: Address, values: Values) -> None:
        fields = {name: value.format_map(values) for name, value in FORMS.get(address.name, {}).items()}
        answer = self._browser.post(address.path(values), f"POST {address.pattern}", fields)
        self._judge(address, answer)
        target = answer.headers.get("location", "")
        if target.startswith("/") and not target.startswith("//"):
            self._collect(self._browser.get(target, f"after POST {address.pattern}"))

    def _judge(self, address: Address, answer: httpx.Response) -> None:
        self._collect(answer)
        if not self._signed_in or address.name not in FOR_STAFF or answer.status_code == _METHOD:
            return
        if answer.status_code == _REFUSED:
            self.refused += 1
        elif answer.status_code != _NOT_FOUND:
            self._browser.watch.note(f"not refused, but answered {answer.status_code}", self._browser.viewer, address.pattern)

    def _collect(self, answer: httpx.Response) -> None:
        if not is_html(answer):
            return
        for found in _LINK.findall(answer.text):
            link = html.unescape(found).partition("#")[0]
            if not link.startswith(("//", "/ws/")) and (self._follows_static or not link.startswith("/static/")):
                self._links.setdefault(link)


def _pattern(link: str) -> str:
    """The route of a link as in the URL configuration; empty if there is none."""
    try:
        return resolve(unquote(link.partition("?")[0])).route
    except Resolver404:
        return ""


def shape_of(link: str) -> str:
    """A link without the ids, tokens and values in it."""
    path, _, query = link.partition("?")
    path = re.sub(r"(?<=/)(?=[^/]*\d)[\w-]{16,}(?=/|$)", "…", path)
    return f"{path}?{'&'.join(part.partition('=')[0] for part in query.split('&'))}" if query else path
