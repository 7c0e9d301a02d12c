"""Reading files of each kind: their text, or the reason why there is none."""

import pytest

from chatui.documents.kinds import NoTextReason
from chatui.documents.limits import MAX_BYTES, TEXT_BYTES
from chatui.documents.reading import ReadingState, read
from chatui.env import Environment

TEXT = "Übung macht den Meister.\n"


async def test_no_file_that_an_operator_allows_is_too_large_to_be_read() -> None:
    [most] = (each.le for each in Environment.model_fields["file_mb"].metadata if hasattr(each, "le"))
    assert most << 20 == MAX_BYTES
    found = await read("a.txt", b"x" * (20 << 20))
    assert (found.state, found.is_cut) == (ReadingState.READ, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.txt", TEXT.encode(), "text"),
        ("a.md", TEXT.encode("utf-8-sig"), "markdown"),
        ("a.csv", TEXT.encode("utf-16"), "csv"),
        ("a.tsv", b"\xfe\xff" + TEXT.encode("utf-16-be"), "tsv"),
        ("a.json", TEXT.encode("utf-32"), "json"),
        ("a.xml", TEXT.encode("cp1252"), "xml"),
        ("Makefile", TEXT.encode(), "text"),
        ("a.py", TEXT.replace("\n", "\r\n").encode(), "text"),
        (".env", TEXT.encode(), "text"),
    ],
)
async def test_text_is_read_in_every_declared_encoding(name: str, data: bytes, kind: str) -> None:
    found = await read(name, data)
    assert (found.state, found.kind, found.reason, found.is_cut) == (ReadingState.READ, kind, "", False)
    assert [(part.label, part.text) for part in found.parts] == [("", TEXT)]


@pytest.mark.parametrize(
    ("name", "data", "state", "reason"),
    [
        ("a.txt", b"", ReadingState.EMPTY, NoTextReason.BLANK),
        ("a.txt", b" \n\t\r\n", ReadingState.EMPTY, NoTextReason.BLANK),
        ("a.txt", b"\x89PNG\r\n\x1a\n" + bytes(40), ReadingState.UNSUPPORTED, NoTextReason.PICTURE),
        ("a.png", b"words", ReadingState.UNSUPPORTED, NoTextReason.PICTURE),
        ("a.txt", b"%PDF-1.7\n", ReadingState.UNSUPPORTED, NoTextReason.TYPE),
        ("a.pdf", b"<html>Sign in</html>", ReadingState.UNSUPPORTED, NoTextReason.TYPE),
        ("a.docx", b"words", ReadingState.UNSUPPORTED, NoTextReason.TYPE),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), ReadingState.FAILED, NoTextReason.ENCRYPTED),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), ReadingState.UNSUPPORTED, NoTextReason.AS_DOCX),
        ("a.zip", b"PK\x03\x04" + bytes(40), ReadingState.UNSUPPORTED, NoTextReason.TYPE),
        ("a.txt", b"\x7fELF" + bytes(40), ReadingState.UNSUPPORTED, NoTextReason.TYPE),
        ("a.txt", bytes(MAX_BYTES + 1), ReadingState.FAILED, NoTextReason.TOO_LONG),
    ],
)
async def test_unread_files_have_a_reason(name: str, data: bytes, state: ReadingState, reason: NoTextReason) -> None:
    found = await read(name, data)
    assert (found.state, found.reason, found.parts) == (state, reason, ())


@pytest.mark.slow
async def test_a_long_text_is_truncated() -> None:
    found = await read("a.txt", b"x" * (TEXT_BYTES + 1))
    assert found.is_cut and len(found.parts[0].text) == TEXT_BYTES
    found = await read("a.txt", b"x" + "ü".encode() * (TEXT_BYTES // 2))
    assert found.is_cut and set(found.parts[0].text) == {"x", "ü"}, "no half character"
