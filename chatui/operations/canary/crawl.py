"""Crawls the product as one visitor: fetches every URL, and every link found on the way.

The URLs, and how to request them, are taken from the URL configuration, so that no new route can be forgotten. A route whose parameters are
not known here is not skipped: the run reports it, and a test fails before that.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern

from chatui.operations.canary.browser import SimulatedBrowser, VisitorResponse
from chatui.operations.canary.watch import CanaryError

Values = Mapping[str, str]
"""Values for URL parameters by name: ids that belong together."""


@dataclass(frozen=True, slots=True)
class Address:
    """One route. ``pattern``: as in the URL configuration, with its prefixes; ``name``: with its namespace."""

    pattern: str
    name: str
    template: str
    parameters: tuple[str, ...]

    def path(self, values: Values) -> str | None:
        """The path with these values; None if one is missing."""
        if not set(self.parameters) <= set(values):
            return None
        return "/" + self.template.format_map({name: values[name] for name in self.parameters})


_NO_ID = "00000000-0000-7000-8000-00000000cafe"
FIXED: Values = {
    "name": "help",
    "digest": "no-such-digest",
    "file": "site.css",
    "token": "no-such-token-of-22-let",
    "kind": "csv",
    "rest": "Me",
    "link_id": _NO_ID,
    "request_id": _NO_ID,
    "folder_id": _NO_ID,
    "file_id": _NO_ID,
    "number": "1",
    "warning_id": _NO_ID,
    "key_id": _NO_ID,
    "identity_id": _NO_ID,
    "invitation_id": _NO_ID,
    "person_id": _NO_ID,
    "group_id": "1",
    "limit_id": "1",
    "price_id": "1",
    "session_id": _NO_ID,
    "passkey_id": _NO_ID,
    "provider": "no-such-provider",
    "key": "no-such-key",
    "what": "nothing",
    "approval_id": _NO_ID,
    # For API endpoints, which check the key first, and use no session.
    "model_id": "demo",
    "answer_id": "resp_0000000000007000800000000000cafe",
}
"""Parameters for which a run may have no better value."""

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
    "access_notices_dismiss": {},
    "password_links_dismiss": {},
    "debug_open": {"reason": "canary run, to be refused", "minutes": "15"},
    "debug_close": {},
    "files": {},
    "file_delete": {},
    "file_again": {},
    "debug_approve": {},
    "debug_decline": {},
    "audit_export": {},
    "audit_acknowledge": {},
    "language": {"language": "", "next": "/"},
    "api_key_revoke": {},
    "sign_in_with": {},
    "sign_in_logout": {},
    "sign_in_remove": {},
    "session_end": {},
    "sessions_end_others": {},
    "sign_in_passkey": {"credential": "none"},
    "sign_in_code_passkey": {"credential": "none"},
    "passkey_options": {},
    "passkey_remove": {},
    "passkey_rename": {"name": "canary"},
    "sign_in_news_dismiss": {},
    "second_factor_codes": {},
    "second_factor_remove": {},
    "decide": {"decision": "declined"},
    "api_responses": {},
    "api_compact": {},
    "api_cancel": {},
    "api_chat": {},
    "share_revoke": {},
    "share_revoke_of": {},
    "share_revoke_all": {},
    "delete": {},
    "own_data_undo": {},
    "restore": {},
    "temporary": {},
    "usage_file": {},
    "manage_invitation_revoke": {},
    "manage_person_act": {},
    "manage_server_act": {},
    "manage_person_details": {},
    "manage_key_revoke": {},
    "sign_out": {},
}
"""The form fields for routes that only accept forms. ``{parameter}`` in a value is replaced."""

LAST = ("share_revoke", "share_revoke_of", "share_revoke_all", "delete", "restore", "sign_out")
"""Routes that remove something: requested after all others, in this order."""

FOR_STAFF = frozenset(
    {
        "download_whole",
        "debug",
        "debug_open",
        "debug_close",
        "debug_compare",
        "debug_file",
        "debug_raw",
        "debug_raw_frame",
        "debug_prompt",
        "debug_prompt_file",
        "debug_tokens",
        "debug_approve",
        "debug_decline",
    }
)
"""Routes to hidden text: people without the permission are refused, and each attempt is recorded."""


def addresses() -> list[Address]:
    """All routes, in the order of the URL configuration."""
    return list(_walk(get_resolver(), "", "", ""))


def places(address: Address, known: Iterable[Values]) -> list[str]:
    """The paths of a route for all known values, each once. Empty if a parameter is unknown."""
    paths = dict.fromkeys(address.path({**FIXED, **values}) for values in known)
    return [path + query for path in paths if path is not None for query in ("", *QUERIES.get(address.name, ()))]


def form(address: Address, values: Values) -> tuple[str, dict[str, str]] | None:
    """Path and form fields for a route; None if a parameter is unknown."""
    fields, path = FORMS.get(address.name), address.path({**FIXED, **values})
    if fields is None or path is None:
        return None
    return path, {name: value.format_map({**FIXED, **values}) for name, value in fields.items()}


def _walk(resolver: URLResolver, before: str, template: str, namespace: str) -> Iterator[Address]:
    for item in resolver.url_patterns:
        pattern, here = before + str(item.pattern), template + _template(item)
        if isinstance(item, URLPattern):
            yield Address(pattern, namespace + (item.name or ""), here, tuple(re.findall(r"\{(\w+)\}", here)))
        else:
            inner = f"{namespace}{item.namespace}:" if item.namespace else namespace
            yield from _walk(item, pattern, here, inner)


def _template(item: URLPattern | URLResolver) -> str:
    """A pattern as text with its parameters in braces."""
    written = str(item.pattern)
    if not isinstance(item.pattern, RegexPattern):
        return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", written)
    return re.sub(r"\(\?P<(\w+)>[^()]*\)", r"{\1}", written).removeprefix("^").removesuffix("$")


_LINK = re.compile(r'(?:href|src|action|data-[\w-]+)="(/[^"]*)"')
_MAX_LINKS = 500
_LINKS_OF_A_MESSAGE = 4
_REFUSED, _NOT_FOUND, _METHOD = 403, 404, 405


class Crawl:
    """One visitor's crawl. ``refused``: the number of refused requests for hidden text."""

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

    def _get(self, path: str, address: Address) -> VisitorResponse:
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

    def _judge(self, address: Address, answer: VisitorResponse) -> None:
        self._collect(answer)
        if not self._signed_in or address.name not in FOR_STAFF or answer.status == _METHOD:
            return
        if answer.status == _REFUSED:
            self.refused += 1
        elif answer.status != _NOT_FOUND:
            self._browser.watch.note(f"not refused, but answered {answer.status}", self._browser.viewer, address.pattern)

    def _collect(self, answer: VisitorResponse) -> None:
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
