"""File encryption with the operator's key: the database has no plain text, and tampering with a piece is detected."""

from __future__ import annotations

import pytest

from chatui.models.files import FileContent, FilePiece
from chatui.models.user import User
from chatui.store import files as reading
from chatui.store import files as storage
from chatui.store import ownership_transfer
from chatui.store.files import PIECE_BYTES, FileDestination, NewFile, NoKeyError
from tests.chatui.store.long_conversations import long_conversation
from tests.support import environment

pytestmark = pytest.mark.django_db
KEY, OTHER = "k" * 32, "another key, which is long enough"
DATA = b"secret words of a file " * 30_000


def change(monkeypatch: pytest.MonkeyPatch, key: str, *before: str) -> None:
    environment.change(monkeypatch, {"file_key": key, "file_keys_before": list(before)})


def test_with_a_key_only_ciphertext_is_stored(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, KEY)
    row = long_conversation(ada, 2)
    file = storage.save(FileDestination(ada.pk, row.pk), NewFile.of("notes.txt", DATA))
    stored = b"".join(bytes(piece.data) for piece in FilePiece.objects.order_by("number"))
    assert b"secret" not in stored and len(stored) > len(DATA) > PIECE_BYTES and reading.data_of(file) == DATA
    same = storage.save(FileDestination(ada.pk, row.pk), NewFile.of("again.txt", DATA))
    assert reading.data_of(same) == DATA and FileContent.objects.count() == 1


def test_a_key_can_be_rotated_and_without_it_files_are_unreadable(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = long_conversation(ada, 2)
    plain = storage.save(FileDestination(ada.pk, row.pk), NewFile.of("plain.txt", b"from before"))
    change(monkeypatch, KEY)
    first = storage.save(FileDestination(ada.pk, row.pk), NewFile.of("first.txt", DATA))
    change(monkeypatch, OTHER, KEY)
    second = storage.save(FileDestination(ada.pk, row.pk), NewFile.of("second.txt", b"x" + DATA))
    assert [reading.data_of(file)[:4] for file in (plain, first, second)] == [b"from", b"secr", b"xsec"]
    change(monkeypatch, OTHER)
    with pytest.raises(NoKeyError):
        reading.data_of(first)
    change(monkeypatch, "")
    for file in (first, second):
        with pytest.raises(NoKeyError):
            reading.data_of(file)
    assert reading.data_of(plain) == b"from before"


def test_changed_or_swapped_pieces_are_detected(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, KEY)
    file = storage.save(FileDestination(ada.pk, long_conversation(ada, 2).pk), NewFile.of("notes.txt", DATA))
    first, second = FilePiece.objects.order_by("number")[:2]
    for piece, data in ((first, bytes(second.data)), (first, bytes(first.data)[:-1] + b"\0"), (first, b"")):
        FilePiece.objects.filter(pk=piece.pk).update(data=data)
        with pytest.raises(NoKeyError):
            reading.data_of(file)


def test_a_transferred_file_is_readable_by_its_new_owner(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, KEY)
    adas = [storage.save(FileDestination(ada.pk, long_conversation(ada, 2).pk), NewFile.of(f"{name}.txt", DATA)) for name in ("one", "two")]
    assert ownership_transfer.transfer(ada, bela, with_summaries=True) == 2
    for file in adas:
        file.refresh_from_db()
        assert file.owner == bela and file.content.owner == bela and reading.data_of(file) == DATA


def test_a_short_key_is_refused_at_startup() -> None:
    from chatui.env import Environment

    with pytest.raises(ValueError, match="at least 32 characters"):
        Environment(file_key="short")
