"""Scripts look up the translation of each sentence: one outside ``t``, ``tc`` and ``tn`` is shown in English to everybody."""

import re
from collections.abc import Iterator

from babel.messages.jslexer import Token, tokenize

from tests.architecture.sources import Source, all_sources

LOOKED_UP = {"t", "tc", "tn"}
NOT_SAID = re.compile(r"Error$|^querySelector(All)?$|^closest$|^matches$|^find$|^seek$|^around$|^matchMedia$")
"""What a script calls with words that no person reads: errors for developers, selectors, media queries."""
SHOWN = {"textContent", "innerText", "ariaLabel", "ariaDescription", "title", "placeholder", "alt", "label"}
SPOKEN = {"toast", "say", "announce"}
SENTENCE = re.compile(r"[^\W\d_]{2,}[,:;]? +[^\W\d_%(]|[^\W\d_]…|[^\W\d_]{2,}[.!?]$")
CODE = re.compile(r"[\[\]{}>#=]|^[.:]|^[\w-]+(, *[\w-]+)+$|\bpx$|--")
"""Selectors, style and patterns."""
LEFT_OUT = ("static/js/wire/wire.js", "static/js/language/catalogues/")
KEYS = {"Alt", "AltGraph", "ArrowDown", "ArrowUp", "Backspace", "Control", "Ctrl", "Dead", "Delete", "Enter", "Escape", "Meta", "Process"}
KEYS |= {"Shift", "Space", "Tab", "Unidentified"}
"""What browsers and our storage call keys; what people read are the words of ``keysShown``."""
ALLOWED = {
    (
        "static/js/page/draw-diagram.js",
        "form, button, input, textarea, select, option, label, details, dialog, video, audio, ",
    ): "a selector",
    ("static/js/exchange/rich-text.js", "code span"): "a selector",
    ("static/js/composer/drafts.js", "Files"): "a word of browsers",
    ("static/js/files/chip.js", "${sentence} (HTTP ${status})"): "a sentence and a status",
    ("static/js/composer/filled.js", "q"): "a name in an address",
    ("static/js/files/chip.js", "Accept"): "a header",
    ("static/js/page/find-bar.js", "p, li, td, th, pre, h1, h2, h3, h4, h5, h6, dt, dd, .place, .question-text"): "a selector",
    ("static/js/page/installed.js", "Notification"): "an interface of browsers",
    ("static/js/page/new-version.js", "take over"): "a word to the worker",
    ("static/js/chat/server-events.js", "${turn} thinking"): "a key",
    ("static/js/chat/server-events.js", "${turn} end"): "a key",
    ("static/js/reference.js", "Bearer ${key}"): "a header",
    ("static/js/page/shortcuts.js", "chat-transcript ${selector}"): "a selector",
    ("static/js/page/shortcut-bindings.js", "not free"): "the name of an outcome",
    ("static/js/page/shortcut-sheet.js", "not free"): "the same",
}


def test_every_sentence_of_a_script_is_looked_up() -> None:
    found = [(source.path, text) for source in scripts() for text in unmarked(source)]
    assert len(scripts()) > 60, "the premise: the scripts were found"
    assert [place for place in found if place not in ALLOWED] == [], "pass it to t, tc or tn of static/js/language/words.js"
    assert set(ALLOWED) - set(found) == set(), "no longer needed"


def scripts() -> list[Source]:
    found = [source for source in all_sources() if source.path.startswith("static/js/") and source.path.endswith(".js")]
    return [source for source in found if not source.path.startswith(LEFT_OUT)]


def unmarked(source: Source) -> Iterator[str]:
    """The strings that a person may read and that are not looked up."""
    calls: list[str] = []
    before: list[Token] = []
    for token in tokenize(source.text, jsx=False):
        if token.type in ("linecomment", "multilinecomment", "whitespace"):
            continue
        if token.value in "([{" and token.type == "operator":
            calls.append(before[-1].value if before and before[-1].type == "name" else "")
        elif token.value in ")]}" and token.type == "operator" and calls:
            calls.pop()
        elif token.type in ("string", "template_string") and _is_translated(token.value[1:-1], calls, before):
            yield token.value[1:-1]
        before = [*before[-2:], token]


def _is_translated(text: str, calls: list[str], before: list[Token]) -> bool:
    if LOOKED_UP & set(calls) or (calls and NOT_SAID.search(calls[-1])):
        return False
    words = re.sub(r"\$\{[^}]*\}", "", text)
    is_shown = _is_shown(calls, before) and not CODE.search(words)
    is_sentence = bool(SENTENCE.search(re.sub(r"\$\{[^}]*\}", "it", text)) and not CODE.search(words))
    return bool(re.search(r"[^\W\d_]", words)) and (is_shown or is_sentence or _is_word(words))


def _is_shown(calls: list[str], before: list[Token]) -> bool:
    """Whether it is written directly to a place that people read."""
    signs = [token.value for token in before]
    is_assigned = len(signs) > 1 and signs[-1] in ("=", ":", "??=") and signs[-2] in SHOWN
    is_attribute = len(signs) > 1 and signs[-1] == "," and signs[-2].strip("\"'") in ("aria-label", "title", "placeholder")
    return is_assigned or is_attribute or (bool(calls) and calls[-1] in SPOKEN and signs[-1] == "(")


def _is_word(text: str) -> bool:
    return bool(re.fullmatch(r"[A-Z][a-z]+", text)) and text not in KEYS
