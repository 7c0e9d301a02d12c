"""Tools that a model server executes itself, such as its own web search: their definitions, and what it reports about their use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from chatui.backends.leaks.guard import judged
from renderer.characters import one_line

MAX_SOURCES = 50
TITLE_CHARS = 200
KEY_WORDS = ("authorization", "headers", "key", "token", "secret", "password")
"""A field with one of these words in its name may hold credentials of the model server for the server of a tool."""
_URL_CHARS = 2000
_MAX_KINDS = 20
_KIND_CHARS = 60
_OTHER = "other"
_MAX_ANNOTATIONS = 500
"""Per text; the rest is ignored."""
_LAYERS = 3
"""How many layers of percent-encoding in an address are decoded."""


@dataclass(slots=True)
class HostedTools:
    """The hosted tools of one request. Servers' text is not trusted; it is limited here."""

    definitions: tuple[Mapping[str, Any], ...]
    """The ``tools`` of a request, as the operator wrote them."""
    kinds: list[str] = field(default_factory=list)
    """The types of the items that reported a call, each once."""
    sources: dict[str, str] = field(default_factory=dict, repr=False)
    """By address, the titles of the pages that the answer cites."""

    def used(self, kind: str) -> None:
        name = kind if kind.isprintable() and len(kind) <= _KIND_CHARS else _OTHER
        if name not in self.kinds and len(self.kinds) < _MAX_KINDS:
            self.kinds.append(name)

    def cite(self, annotations: object) -> None:
        """Record the annotations of a text that people see. Only addresses of web pages count, and none that contains raw model output."""
        for each in annotations[:_MAX_ANNOTATIONS] if isinstance(annotations, list) else ():
            if isinstance(each, dict) and each.get("type") == "url_citation":
                self._cite(each.get("url"), each.get("title"))

    def _cite(self, url: object, title: object) -> None:
        if not isinstance(url, str) or not _is_web_address(url) or url in self.sources or len(self.sources) >= MAX_SOURCES:
            return
        decoded = url
        for _ in range(_LAYERS):
            decoded = unquote_plus(decoded)
        if _is_raw(url) or _is_raw(decoded):
            return
        words = one_line(title[:_URL_CHARS]) if isinstance(title, str) else ""
        self.sources[url] = "" if _is_raw(words) else words[:TITLE_CHARS]


def problem_of(definitions: Sequence[Mapping[str, Any]]) -> str:
    """The problem with the definitions that an operator wrote; empty if there is none."""
    for each in definitions:
        kind = each.get("type")
        if not isinstance(kind, str) or not kind or len(kind) > _KIND_CHARS or not kind.isprintable():
            return 'must be tables with a type, such as { type = "web_search" }'
        if kind == "function":
            return "must be tools that the server runs by itself; a function would have to be run here"
    return ""


def holds_key(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(is_key_field(name) or holds_key(each) for name, each in value.items())
    return isinstance(value, list) and any(map(holds_key, value))


def is_key_field(name: str) -> bool:
    return any(word in name.lower() for word in KEY_WORDS)


def _is_raw(text: str) -> bool:
    """Whether a text has signs of reasoning. It is not Markdown, so nothing in it counts as code."""
    return judged(text.replace("`", "'").replace("~", "-")).has_sign


def _is_web_address(url: str) -> bool:
    if len(url) > _URL_CHARS or not url.isprintable():
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.username or parts.password)
