"""Decides where a link may lead, so that no link hides its real host, and cleans text for a page.

Only http, https and mailto are allowed. In text, control characters are removed, and characters that change the text direction are made
visible.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from renderer.characters import CONTROLS, DIRECTIONS, drop, is_invisible

URL_LIMIT = 4096
"""The longest address that becomes a link, in characters. It limits the cost of encoding a host to punycode."""

_HOST = r"(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9_-])?\.?|\[[0-9a-f:.]+\])"
_USER = r"(?:[a-z0-9._~!$&'()*+,;=:%-]*@)?"
_REST = r"(?:[/?#][!#-;=?-Z\[-_a-~]*)?"
ALLOWED_HREF = re.compile(
    rf"https?://{_USER}({_HOST})(?::[0-9]{{1,5}})?{_REST}|mailto:([a-z0-9._~!$&'*+/=^{{}}|%-]+@{_HOST})(?:\?[!#-;=?-Z_a-~]*)?",
    re.IGNORECASE | re.ASCII,
)
"""An ``href`` must match this in full, after percent-encoding. Groups: the host of a web address, the mailbox of a mail address."""


def permitted(href: str) -> bool:
    """Whether this encoded address is allowed in an ``href``. Relative addresses are not: they would lead into our own pages."""
    return len(href) <= URL_LIMIT and ALLOWED_HREF.fullmatch(href) is not None


def encode(raw: str, normalize: Callable[[str], str]) -> str:
    """An address as a person or a model wrote it, percent-encoded by ``normalize``; empty if it must not become a link.

    Refused before encoding: invisible characters (browsers drop some of them, which turns ``java\\tscript:`` into a scheme) and
    backslashes (browsers read ``http://a.example\\@b.example`` differently from most programs). A space inside of an address is encoded:
    Markdown allows it between angle brackets only.
    """
    if len(raw) > URL_LIMIT or "\\" in raw or raw != raw.strip(" ") or _has_blank(raw.replace(" ", "")):
        return ""
    try:
        return normalize(raw.replace(" ", "%20"))
    except (ValueError, IndexError):  # an unparsable host, such as "http://["
        return ""


def _has_blank(text: str) -> bool:
    return any(each.isspace() or is_invisible(each) for each in set(text))


def host(href: str) -> str:
    """The host (or mailbox) that a permitted address leads to, in lower case; empty if it is not permitted."""
    match = ALLOWED_HREF.fullmatch(href)
    if match is None:
        return ""
    return (match[1] or match[2]).rstrip(".").lower()


def host_to_show(text: str, href: str) -> str | None:
    """The host to show next to a link's text, or None if the text does not suggest another target.

    Shown if there is no text, if it looks like another address than the target's, if the target has user information before its host
    (``https://bank.example@evil.example``), if its host needs punycode, or if the text is too long to be sure.
    """
    target = host(href)
    if len(text) > _TEXT_LIMIT or "xn--" in target or _has_user(href):
        return target
    seen = unicodedata.normalize("NFKC", _DOTS.sub(".", "".join(drop(text).split()))).lower()
    if not seen:
        return target or None
    if host(seen) == target:
        return None
    claimed = {_bare(match[1]) for match in _ADDRESS.finditer(seen)}
    if not claimed and "://" not in seen and "@" not in seen:
        return None
    return None if claimed == {_bare(target)} and _not_mixed(seen, href) else target


_TEXT_LIMIT = 300
_DOTS = re.compile("[\u3002\uff0e\uff61\u2024]")
_ADDRESS = re.compile(r"((?:[\w.+-]{1,64}@)?[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[^\W\d_]{2,24}|\d{1,3}(?:\.\d{1,3}){3})(?![\w-])")


def _bare(name: str) -> str:
    return name.removeprefix("www.")


def _has_user(href: str) -> bool:
    return not href.lower().startswith("mailto:") and "@" in re.split("[/?#]", href[8:], maxsplit=1)[0]


def _not_mixed(seen: str, href: str) -> bool:
    """A mail address as text must lead to mail, and a web address to the web."""
    return ("@" in seen and "://" not in seen) == href.lower().startswith("mailto:") or "@" not in seen


def normalize(text: str) -> str:
    """Line ends as ``\\n``; U+FFFD for what a page cannot contain (control characters, lone surrogates)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    return CONTROLS.sub("\ufffd", lines)


def code_text(text: str) -> str:
    """Text inside ``code``: direction controls are made visible, since reordered code looks different from what it does."""
    return DIRECTIONS.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


def prose(text: str) -> str:
    """Text outside ``code``: direction controls are left out."""
    return DIRECTIONS.sub("", text)
