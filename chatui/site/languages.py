"""The languages that people can choose, the best match for a browser's preferences, and the translated messages of error codes.

To add a language, add a line here, one in ``chatui/env.py``, and a folder of catalogues in ``chatui/locale``.

The codes themselves have English messages, for logs and commands. Those of ``renderer``, which has no translations, are repeated here, so
that they are in the catalogues; a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import get_language, get_language_bidi, gettext
from django.utils.translation import gettext_noop as noop
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
    """The language attributes of a page: ``tag`` is for ``lang`` attributes (BCP 47), ``direction`` is ``ltr`` or ``rtl``."""

    code: str
    tag: str
    direction: str


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
    """The translated message of a code."""
    return gettext(code.sentence)


OF_RENDERER = (
    # renderer.errors, for each code of the specification
    noop("The model wrote a message that could not be read."),
    noop("The model did not say whom this message is for, so it is not shown."),
    noop("The answer does not have the required format."),
    noop("The model made a tool call that could not be carried out."),
    noop("A tool took too long."),
    noop("A tool was cancelled."),
    noop("The answer was cut off before it was complete."),
    noop("You are not allowed to see this. The attempt has been recorded."),
    # renderer.gate, why a frame is hidden
    noop("This role is unknown, and unknown roles are hidden."),
    noop("It is addressed to a tool or a program, not to people."),
    noop("This intent is unknown, and unknown intents are hidden."),
    noop("It is a document attached to a question; its owner can open the file."),
    noop("A user's message belongs on the final channel, but this one is on another."),
    noop("A user's message has no intent, but this one declares one."),
    noop("It is commentary that is not marked as a preamble."),
    noop("This channel is unknown, and unknown channels are hidden."),
    noop("System messages are written for the model."),
    noop("Developer messages are written for the model."),
    noop("Tool results are written for the model."),
    noop("It is raw reasoning, which is never shown."),
    noop("It is a status line for the product."),
    noop("It is meant for debugging."),
)
