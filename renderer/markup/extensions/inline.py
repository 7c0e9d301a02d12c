"""Inline rules for HTML tags, bare web addresses and images in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.rules_inline import StateInline, image
from markdown_it.token import Token

from renderer.markup import links
from renderer.markup.extensions.emphasis import InlineState

_TAG = re.compile(r"<(?:br ?/?|(sub|sup|kbd|mark))>", re.IGNORECASE)


def plain_tag(state: StateInline, silent: bool) -> bool:
    """``<br>``, and ``<sub> <sup> <kbd> <mark>`` with their end tag: the only HTML tags from a model that are kept."""
    match = _TAG.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not match[1]:
        if not silent:
            state.push("hardbreak", "br", 0)
        state.pos = match.end()
        return True
    name, start, limit = match[1], match.end(), state.posMax
    stop = _closer(state, f"</{name}>", start)
    if stop < 0:
        return False
    if not silent:
        state.push("plain_tag_open", name.lower(), 1)
        state.pos, state.posMax = start, stop
        state.md.inline.tokenize(state)
        state.posMax = limit
        state.push("plain_tag_close", name.lower(), -1)
    state.pos = stop + len(name) + 3
    return True


def _closer(state: StateInline, closer: str, start: int) -> int:
    """The position of the end tag, or -1. A failed search is cached; otherwise a run of openers would repeat it for each."""
    known = state.without_closer if isinstance(state, InlineState) else {}
    key = (closer, state.posMax)
    if start >= known.get(key, state.posMax):
        return -1
    stop = state.src.find(closer, start, state.posMax)
    if stop < 0:
        known[key] = start
    return stop


_ADDRESS_END = "\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\u2018-\u201f\u2026"
_BARE = re.compile(rf"://[^\s<>\"`|\\^{{}}{_ADDRESS_END}]{{1,{links.URL_LIMIT}}}")
_SCHEME = re.compile(r"(?<![A-Za-z0-9+.-])https?", re.IGNORECASE)


def bare_address(state: StateInline, silent: bool) -> bool:
    """``https://…`` in plain text. It ends at white space and CJK punctuation, and excludes trailing punctuation and unmatched brackets."""
    if not isinstance(state, InlineState) or state.linkLevel or not state.src.startswith("://", state.pos):
        return False
    if state.pos < state.refused_until:
        return False
    begin = state.pos - (5 if state.src[state.pos - 5 : state.pos].lower() == "https" else 4)
    if begin < 0 or _SCHEME.fullmatch(state.src, begin, state.pos) is None:
        return False
    match = _BARE.match(state.src, state.pos, state.posMax)
    scheme = state.src[begin : state.pos]
    if match is None or not state.pending.endswith(scheme):
        return False
    url = scheme + _without_tail(match[0])
    href = state.md.normalizeLink(url)
    if not state.md.validateLink(href):
        # One attempt for each run of characters: otherwise "http://http://…" would be read again from every colon.
        state.refused_until = match.end()
        return False
    if not silent:
        state.pending = state.pending[: -len(scheme)]
        state.push("link_open", "a", 1).attrs = {"href": href}
        state.push("text", "", 0).content = url
        state.push("link_close", "a", -1)
    state.pos += len(url) - len(scheme)
    return True


def _without_tail(address: str) -> str:
    """Remove what belongs to the sentence: trailing punctuation, unmatched closing brackets, emphasis."""
    surplus = {closer: address.count(closer) - address.count(opener) for opener, closer in ("()", "[]")}
    end = len(address)
    while end:
        last = address[end - 1]
        if last in surplus and surplus[last] > 0:
            surplus[last] -= 1
        elif last not in ".,;:!?'*_~":
            break
        end -= 1
    return address[:end]


def image_as_link(state: StateInline, silent: bool) -> bool:
    """An image, which records whether it is inside a link: it becomes a link itself, and links do not nest."""
    if not image(state, silent):
        return False
    if not silent:
        state.tokens[-1].meta["in_link"] = state.linkLevel > 0
    return True


def add_link_hosts(tokens: Sequence[Token]) -> None:
    """Record on each closing link token the host to show next to its text, if any."""
    text: list[str] = []
    href = ""
    for token in tokens:
        match token.type:
            case "link_open":
                href, text = str(token.attrs.get("href", "")), []
            case "link_close":
                token.info = links.host_to_show("".join(text), href) or ""
            case "image":
                text.append(f"{token.content} ({links.host(str(token.attrs.get('src', '')))})")
            case _:
                text.append(token.content)
