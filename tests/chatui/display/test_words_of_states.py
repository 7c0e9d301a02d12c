"""The state of an answer has one word, on the page, in the list, in the tab's title and in the debug view, in each language."""

import re

import pytest
from django.utils import translation

from chatui.models.turn import TurnState
from chatui.site.languages import LANGUAGES, SOURCE
from tests.support.places import ROOT
from tests.tools.messages import catalogue, domains

WORDS = {
    TurnState.RUNNING: {"templates/sidebar/_running_mark.html": "Thinking or writing"},
    TurnState.COMPLETED: {},  # the page shows the answer, and the tab and the list that there is a new one
    TurnState.STOPPED: {"chatui/display/conversation.py": "Stopped", "static/js/chat/server-events.js": "Stopped"},
    TurnState.INCOMPLETE: {"static/js/chat/server-events.js": "Not finished"},
    TurnState.FAILED: {"static/js/chat/server-events.js": "Not finished"},
    TurnState.INTERRUPTED: {"static/js/chat/server-events.js": "Not finished"},
}
"""Where each state is said in a word or two, and how. The debug view may say more, after a colon."""


@pytest.mark.parametrize("code", LANGUAGES)
def test_one_state_has_one_word(code: str) -> None:
    scripts = {} if code == SOURCE else catalogue.messages(catalogue.read(domains.path_of("djangojs", code)))
    assert set(WORDS) == set(TurnState)
    for state, places in WORDS.items():
        with translation.override(code):
            word = re.split("[:：]", str(state.label))[0]
        for place, said in places.items():
            assert f'"{said}"' in (ROOT / place).read_text(encoding="utf-8"), "the premise: it is said there"
            context = "an answer" if state is TurnState.STOPPED else ""
            with translation.override(code):
                shown = translation.pgettext(context, said) if context else translation.gettext(said)
            if place.endswith(".js") and scripts:
                shown = str(scripts[(context, said)].string)
            assert shown == word, (place, state)
