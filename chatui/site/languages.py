"""The languages that people can choose, the best match for a browser's preferences, and the translated messages of error codes.

To add a language, add a line here, one in ``chatui/env.py``, and a folder of catalogues in ``chatui/locale``.

The codes themselves have English messages, for logs and commands. Those of ``renderer`` are in the catalogues, too, although it has no
translations.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import get_language, get_language_bidi, gettext
from django.utils.translation.trans_real import parse_accept_lang_header

from renderer.errors import ErrorCode

LANGUAGES = {"en": "English", "de": "Deutsch", "zh-hans": "简体中文", "ko": "한국어"}
"""Django's language codes, each with the native name. The names are never translated."""

SOURCE = "en"
"""The language of the texts in the code, which needs no catalogue."""

# Codes that browsers send without a script, for regions that use simplified Chinese.
_SIMPLIFIED = {"zh", "zh-cn", "zh-sg", "zh-my", "zh-hans"}
_MAX_HEADER_CHARS = 500


@dataclass(frozen=True, slots=True)
class PageLanguage:
    """The language attributes of a page."""

    code: str
    tag: str
    """For ``lang`` attributes (BCP 47)."""
    direction: str
    """``ltr`` or ``rtl``."""


def page_language() -> PageLanguage:
    code = get_language() or SOURCE
    return PageLanguage(code, tag(code), "rtl" if get_language_bidi() else "ltr")


def tag(code: str) -> str:
    """The code as a BCP 47 tag: ``zh-Hans`` for ``zh-hans``."""
    language, dash, rest = code.partition("-")
    return language + dash + (rest.capitalize() if len(rest) > 2 else rest.upper())


def is_available(code: str) -> bool:
    return code in LANGUAGES


def preferred_language(header: str) -> str:
    """The available language that an ``Accept-Language`` header prefers; empty if there is none, or the header is invalid."""
    for requested, weight in parse_accept_lang_header(header[:_MAX_HEADER_CHARS]):
        if requested == "*":
            return ""
        if weight and (found := _nearest(requested)):
            return found
    return ""


def _nearest(requested: str) -> str:
    if requested in LANGUAGES:
        return requested
    if requested in _SIMPLIFIED or requested.startswith("zh-hans-"):
        return "zh-hans"
    language = requested.partition("-")[0]
    # A request for traditional Chinese does not match simplified: the next requested language, or English, is used.
    return language if language in LANGUAGES else ""


def sentence_of(code: ErrorCode) -> str:
    return gettext(code.sentence)
