"""Lines of reasoning summaries in the languages of the pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import zip_longest

from django.utils.translation import gettext, override

from chatui import wire
from chatui.site.languages import LANGUAGES
from renderer.activities.activity import Activity
from renderer.activities.requests import Request
from renderer.frame_kinds import SUMMARY
from renderer.frames import Frame
from renderer.gate import Audience, VisibleText, show


def line(activity: Activity) -> wire.SummaryLine:
    """The line in every language. A page shows it in its own."""
    return wire.SummaryLine(_sentences(activity.pattern), tuple(map(_shown, activity.about)))


def asked_for(request: Request | None) -> wire.AskedFor:
    """The event with what was asked for, in every language; for None, the one that ends it, so that pages show their own word again."""
    return wire.AskedFor(None if request is None else wire.SummaryLine(_sentences(request.sentence), ()))


@dataclass(frozen=True, slots=True)
class LinePart:
    """A piece of a line. ``is_span``: it is from the person's own text, in any language and direction."""

    text: VisibleText
    is_span: bool


@dataclass(frozen=True, slots=True)
class ActivityLine:
    """A line in the language of the page, in pieces that a page shows one after the other."""

    parts: tuple[LinePart, ...]


def in_language(activity: Activity) -> ActivityLine:
    ours = [LinePart(_shown(text), is_span=False) for text in gettext(activity.pattern).split("{}")]
    spans = [LinePart(_shown(text), is_span=True) for text in activity.about]
    return ActivityLine(tuple(part for pair in zip_longest(ours, spans) for part in pair if part is not None and part.text))


def english(activity: Activity) -> VisibleText:
    """The line in English, for programs and downloads."""
    return _shown(activity.sentence)


def _shown(text: str) -> VisibleText:
    """Our sentences, and spans of the person's own text, as people see them: the text of a frame that the gate allows."""
    return show(Frame(SUMMARY, text), Audience.END_USER)


@cache
def _sentences(pattern: str) -> dict[str, str]:
    found = {}
    for language in LANGUAGES:
        with override(language):
            found[language] = gettext(pattern)
    return found
