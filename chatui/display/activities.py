"""Lines of reasoning summaries in the languages of the pages."""

from __future__ import annotations

from functools import cache

from django.utils.translation import gettext, override

from chatui import wire
from chatui.site.languages import LANGUAGES
from renderer.activities.activity import Activity
from renderer.frame_kinds import SUMMARY
from renderer.frames import Frame
from renderer.gate import Audience, VisibleText, show


def line(activity: Activity) -> wire.SummaryLine:
    """The line in every language. A page shows it in its own."""
    return wire.SummaryLine(_sentences(activity.pattern), tuple(map(_shown, activity.about)))


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
