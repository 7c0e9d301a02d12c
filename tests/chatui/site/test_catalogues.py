"""The catalogues: complete, compiled when they have changed, and how bad translations are reported."""

import os
from pathlib import Path

import pytest

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


def test_only_what_has_changed_is_compiled(tmp_path: Path) -> None:
    place = tmp_path / "de" / "LC_MESSAGES"
    place.mkdir(parents=True)
    (place / "django.po").write_text('msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Open"\nmsgstr "Auf"\n')
    assert catalogues.not_compiled(tmp_path) == catalogues.compile_stale(tmp_path) == [place / "django.po"]
    assert (place / "django.mo").exists() and catalogues.compile_stale(tmp_path) == [] == catalogues.not_compiled(tmp_path)
    later = (place / "django.mo").stat().st_mtime + 10
    os.utime(place / "django.po", (later, later))
    assert catalogues.compile_stale(tmp_path) == [place / "django.po"]
