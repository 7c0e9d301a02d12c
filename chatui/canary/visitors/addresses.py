"""Every URL of the product, taken from the URL configuration, and how to request it, so that no new route can be forgotten.

A route whose parameters this module does not know is not skipped: the run reports it, and a test fails before that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern

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
    "session_id": _NO_ID,
    "passkey_id": _NO_ID,
    "provider": "no-such-provider",
    "key": "no-such-key",
    "what": "nothing",
    "approval_id": _NO_ID,
    # For API endpoints, which check the key first, and use no session.
    "model_id": "demo",
    "answer_id": "resp_0000000000007000800000000000cafe",
    # For admin pages, which redirect people before they use these.
    "app_label": "chatui",
    "content_type_id": "1",
    "id": _NO_ID,
    "object_id": _NO_ID,
    "url": "chatui/message/",
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
    "restore": {},
    "temporary": {},
    "usage_file": {},
    "manage_invitation_revoke": {},
    "manage_person_act": {},
    "sign_out": {},
    "admin:logout": {},
}
"""The form fields for routes that only accept forms. ``{parameter}`` in a value is replaced."""

LAST = ("share_revoke", "share_revoke_of", "share_revoke_all", "delete", "restore", "admin:logout", "sign_out")
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
