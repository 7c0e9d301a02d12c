"""The limits of files: one table, shown by the page, the documentation and each refusal."""

import re
from pathlib import Path

import pytest
from django.utils import translation

from chatui.display import file_limits, files
from chatui.documents import kinds
from chatui.documents.kinds import NoTextReason
from chatui.documents.limits import BY_REASON, TABLE
from chatui.env import BASE_DIR
from chatui.models.user import User
from tests.chatui.conftest import signed_in
from tests.support.limits import limit

READERS = limit("chatui.documents.inside", "READERS")

NO_DOCUMENTS = {"bomb of memory", "bomb of time", "probes", "web page"}


def test_the_documentation_has_the_table() -> None:
    rows = [f"| {row.files} | {'; '.join(row.limits)} | {row.beyond} |" for row in file_limits.table()]
    expected = "\n".join(["| files | limits | beyond a limit |", "| --- | --- | --- |", *rows])
    assert expected in (Path(BASE_DIR) / "docs" / "files.md").read_text(), expected


def test_every_kind_that_is_read_is_named_to_the_person_who_attaches() -> None:
    names = [name for group in kinds.NAMED.values() for name in group]
    read = {kinds.UNPACKED.get(name) or kinds.OLD.get(name) or kinds.TEXTS.get(name) or name for name in names}
    assert read == set(READERS) - NO_DOCUMENTS - {"plain", "html"}, "a reader that nobody is told of, or a kind without a reader"
    for name in set(names) - {"pdf"}:
        assert re.search(rf"\b{name}\b", files.accepted())


def test_every_refusal_for_a_limit_says_which_limit_it_is() -> None:
    assert {*map(NoTextReason, BY_REASON)}
    sentences = {reason: files.sentence(reason) for reason in BY_REASON}
    assert len(set(sentences.values())) == len(BY_REASON)
    for reason, sentence in sentences.items():
        assert file_limits.words(BY_REASON[reason]) in sentence
    assert files.sentence(NoTextReason.ENTRIES).endswith("The limit is: 2,000 files inside it.")
    assert files.sentence(NoTextReason.MEMORY).endswith("The limit is: 1,024 MB of memory.")


@pytest.mark.parametrize("language", ["de", "ko", "zh-hans"])
def test_limits_are_in_the_person_s_language(language: str) -> None:
    english = [file_limits.words(limit) for limit in TABLE]
    with translation.override(language):
        assert not set(english) & {file_limits.words(limit) for limit in TABLE}
        assert language != "de" or "2.000" in files.sentence(NoTextReason.ENTRIES)


@pytest.mark.django_db
def test_the_page_lists_all_limits(ada: User) -> None:
    page = signed_in(ada).get("/files/limits/").content.decode()
    assert files.accepted() in page
    for each in TABLE:
        assert file_limits.words(each) in page
