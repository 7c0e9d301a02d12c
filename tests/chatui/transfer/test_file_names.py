"""A download is named after its conversation, in every language, with a name that is safe for file systems and readers."""

from __future__ import annotations

from datetime import UTC, datetime

from chatui.models.conversation import Conversation
from chatui.transfer import exports
from chatui.transfer.exports import attachment, file_name
from tests.support.cases import for_each


@for_each(
    [
        ("Planning the launch", "Planning the launch.md"),
        ("Über Größe & Maß", "Über Größe & Maß.md"),
        ("量子コンピュータとは？", "量子コンピュータとは？.md"),
        ("ما هو الطقس اليوم؟", "ما هو الطقس اليوم؟.md"),
        ("../../etc/passwd", "etc passwd.md"),
        ("C:\\Windows\\system32", "C Windows system32.md"),
        ('a<b>c:"d"|e?f*g', "a b c d e f g.md"),
        ("line\nbreak\r\ttab\x00nul", "line break tabnul.md"),
        ("harmless \u202efdp.exe", "harmless fdp.exe.md"),
        ("zero\u200bwidth\ufeff", "zerowidth.md"),
        ("half a \ud83dsurrogate", "half a surrogate.md"),
        ("private\ue000use", "privateuse.md"),
        ("un\u0378assigned", "unassigned.md"),
        ("...hidden...", "hidden.md"),
        ("", "conversation.md"),
        ("///", "conversation.md"),
        ("NUL", "conversation NUL.md"),
        ("com1.txt", "conversation com1.txt.md"),
        ("🙂 hello", "🙂 hello.md"),
        ("Our \U0001f469\u200d\U0001f469\u200d\U0001f467 trip", "Our \U0001f469\u200d\U0001f469\u200d\U0001f467 trip.md"),
        ("\u200dzero\u200dwidth\u200d \U0001f469\u200d", "zerowidth \U0001f469.md"),
    ]
)
def test_a_title_becomes_a_file_name(title: str, expected: str) -> None:
    assert file_name(title, ".md") == expected


@for_each(["x" * 500, "ü" * 500, "漢" * 500, "🙂" * 500])
def test_a_long_title_is_cut_between_characters(title: str) -> None:
    name = file_name(title, "-whole.json")
    assert name.endswith("-whole.json")
    assert len(name.encode()) <= 140
    assert set(name.removesuffix("-whole.json")) == {title[0]}


@for_each(
    [
        ("Launch", 'attachment; filename="Launch.md"'),
        ("Größe", "attachment; filename*=utf-8''Gr%C3%B6%C3%9Fe.md"),
        ('say "hi"\r\nSet-Cookie: a=b', 'attachment; filename="say hi Set-Cookie a=b.md"'),
    ]
)
def test_the_header_follows_the_rfcs(title: str, expected: str) -> None:
    assert attachment(title, ".md") == expected


@for_each(
    [
        ("A – b", "a-b"),
        ("xxx", "xxx"),
        ("a" * 59 + " b", "a" * 59),
        ("a" * 60 + "b", "a" * 60),
        ("Zoë", "zoë"),
    ]
)
def test_a_name_in_an_archive_has_the_words_of_the_title_between_single_hyphens(title: str, expected: str) -> None:
    row = Conversation(title=title, created_at=datetime(2026, 11, 20, tzinfo=UTC))
    assert exports.conversation_file_name(row) == f"2026-11-20-{expected}-{row.pk.hex[-8:]}"


@for_each([("markdown", "md"), ("openchatml", "ocml"), ("json", "json")])
def test_the_name_of_a_download_ends_as_programs_expect(name: str, extension: str) -> None:
    assert exports.Format(name).extension == extension
