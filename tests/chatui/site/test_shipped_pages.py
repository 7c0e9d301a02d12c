"""The translations of the shipped pages: the same structure as the English page, and the words of the buttons and menus."""

import re
from collections import Counter

import pytest

from chatui.env import LOCALE_DIR
from tests.tools.messages import catalogue, domains

_PAGES = LOCALE_DIR.parent / "pages"
_BOLD = re.compile(r"\*\*([^*]+)\*\*")


def _text(name: str, code: str = "") -> str:
    suffix = f".{code}" if code else ""
    return (_PAGES / f"{name}{suffix}.md").read_text(encoding="utf-8")


def _bold(text: str) -> Counter[str]:
    return Counter(" ".join(words.split()) for words in _BOLD.findall(text))


def _words_of_pages(code: str) -> dict[str, set[str]]:
    """The translations of each English message; a word with several contexts has several."""
    found: dict[str, set[str]] = {}
    for domain in domains.DOMAINS:
        for message in catalogue.read(domains.path_of(domain, code)):
            if isinstance(message.id, str) and message.id:
                found.setdefault(message.id, set()).add(str(message.string))
    return found


@pytest.mark.parametrize("code", domains.TRANSLATED)
def test_a_translated_help_uses_the_words_of_the_buttons_and_menus(code: str) -> None:
    words, bold, missing = _words_of_pages(code), _bold(_text("help", code)), []
    named = {english: count for english, count in _bold(_text("help")).items() if english in words}
    assert len(named) > 25, "the English help names the buttons as the pages do"
    for english, count in named.items():
        if sum(bold[one] for one in words[english]) < count:
            missing.append((english, words[english]))
    assert missing == []


@pytest.mark.parametrize("code", domains.TRANSLATED)
@pytest.mark.parametrize("name", ["help", "terms", "welcome", "examples"])
def test_a_translated_page_has_the_same_parts_as_the_english_one(name: str, code: str) -> None:
    def parts(text: str) -> list[tuple[str, list[str], int]]:
        """Each paragraph: how it begins, the code in it, and how many words are bold."""
        return [
            (re.match(r"#+|\||\d\.|!!!|- |", part)[0], sorted(re.findall(r"`[^`]+`", part)), len(_BOLD.findall(part)))  # type: ignore[index]
            for part in text.strip().split("\n\n")
        ]

    assert parts(_text(name, code)) == parts(_text(name))
