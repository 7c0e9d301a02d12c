"""The catalogues: complete, compiled when they have changed, and how bad translations are reported."""

import os
from pathlib import Path

import pytest
from babel.messages.catalog import Message

from chatui.site import catalogues
from tests.tools.messages import catalogue, domains, problems


@pytest.mark.slow
@pytest.mark.parametrize("code", domains.TRANSLATED)
def test_every_sentence_is_translated_well_and_none_is_left_over(code: str) -> None:
    for domain, find in domains.DOMAINS.items():
        path = domains.path_of(domain, code)
        assert path.read_text(encoding="utf-8") == catalogue.updated(path, code, list(find())), "run make messages"
        found = catalogue.messages(catalogue.read(path))
        assert len(found) > 100 and [(one, what) for (_, one), message in found.items() for what in problems.find(message)] == []


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (Message("Open", ""), "not translated"),
        (Message("Open", "<b>Auf</b>"), "holds <"),
        (Message("Open", 'Auf" onclick="x'), 'holds "'),
        (Message("Open", "JavaScript:alert(1)"), "holds JavaScript:"),
        (Message("Open", "Auf&nbsp;"), "holds &nbsp;"),
        (Message("Open", "Auf", flags=["fuzzy"]), "fuzzy"),
        (Message("%(n)s days", "%(m)s Tage"), "placeholders"),
        (Message("%(n)s days", "Tage"), "placeholders"),
        (Message("%(n)s days", "%(n)s Tage, 100 %"), "placeholders"),
        (Message(("%(n)s day", "%(n)s days"), ("ein Tag", "Tage")), "placeholders"),
        (Message(("%(n)s day", "%(n)s days"), ("%(n)s Tag", "")), "not translated"),
        (Message("Open", "Auf "), "white space"),
    ],
)
def test_problems_of_a_bad_translation_are_reported(message: Message, words: str) -> None:
    assert any(words in problem for problem in problems.find(message))


def test_a_good_translation_passes_even_without_a_number_in_the_singular() -> None:
    assert list(problems.find(Message(("%(n)s day", "%(n)s days"), ("ein Tag", "%(n)s Tage")))) == []


def test_only_what_has_changed_is_compiled(tmp_path: Path) -> None:
    place = tmp_path / "de" / "LC_MESSAGES"
    place.mkdir(parents=True)
    (place / "django.po").write_text('msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Open"\nmsgstr "Auf"\n')
    assert catalogues.not_compiled(tmp_path) == catalogues.compile_stale(tmp_path) == [place / "django.po"]
    assert (place / "django.mo").exists() and catalogues.compile_stale(tmp_path) == [] == catalogues.not_compiled(tmp_path)
    later = (place / "django.mo").stat().st_mtime + 10
    os.utime(place / "django.po", (later, later))
    assert catalogues.compile_stale(tmp_path) == [place / "django.po"]
