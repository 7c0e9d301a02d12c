"""File storage: contents are stored once per user, within the quota, encrypted if so set, and deleted with what they belong to.

With the operator's key the database has no plain text, and tampering with a piece is detected.
"""

from datetime import timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.lifecycle import erasure as lifecycle_erasure
from chatui.models.conversation import Conversation
from chatui.models.files import FileContent, FilePiece, FileSource, StoredFile
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import erasure, ownership_transfer
from chatui.store import files as store_files
from chatui.store.file_encryption import NoKeyError
from chatui.store.files import PIECE_BYTES, FileDestination, FileRefusedError, NewFile
from tests.chatui.store.long_conversations import long_conversation
from tests.chatui.store.uploads import stored_bytes
from tests.support import environment
from tests.support.database import Database
from tests.support.database import database as database

pytestmark = pytest.mark.django_db
CSV = NewFile.of("a.csv", b"a,b\n")


def place_in(row: Conversation, turn: Turn | None = None) -> FileDestination:
    return FileDestination(row.owner_id, row.pk, turn.pk if turn else None)


def turn_in(row: Conversation) -> Turn:
    question = row.messages.filter(role="user").first()
    assert question is not None
    return Turn.objects.create(
        conversation=row,
        question=question,
        asked_by=row.owner,
        client_id=uuid4(),
        lease_until=timezone.now(),
        effort="low",
        state="completed",
    )


def left() -> tuple[int, int, int]:
    return StoredFile.objects.count(), FileContent.objects.count(), FilePiece.objects.count()


def test_a_file_is_read_back_from_its_pieces(ada: User) -> None:
    row = long_conversation(ada, 2)
    data = bytes(range(256)) * 1024 * 2 + b"end"
    file = store_files.save(place_in(row), NewFile.of("d/data.bin", data))
    assert (file.name, file.source, file.content.size) == ("d_data.bin", FileSource.PERSON, len(data))
    assert [len(piece) for piece in store_files.pieces(file)] == [PIECE_BYTES, PIECE_BYTES, 3] and store_files.data_of(file) == data
    empty = store_files.save(place_in(row), NewFile.of("empty", b""))
    assert store_files.data_of(empty) == b"" and empty.id.version == 4, "an id in an address is random"


def test_equal_contents_are_stored_once_per_person_and_never_shared(ada: User, bela: User) -> None:
    adas, belas = long_conversation(ada, 2), long_conversation(bela, 2)
    files = [store_files.save(place_in(row), CSV) for row in (adas, adas, belas)]
    assert files[0].pk != files[1].pk and files[0].content_id == files[1].content_id != files[2].content_id
    assert left() == (3, 2, 2) and stored_bytes(ada) == 4


def test_the_last_file_of_a_name_wins_in_a_turn_and_turns_are_separate(ada: User) -> None:
    row = long_conversation(ada, 2)
    first, second = turn_in(row), turn_in(row)
    stored = store_files.save(place_in(row, first), NewFile.of("a.csv", b"1"))
    again = store_files.save(place_in(row, first), NewFile.of("a.csv", b"2"))
    assert stored.pk == again.pk and again.source == FileSource.TOOL and store_files.data_of(again) == b"2"
    assert left() == (1, 1, 1), "unreferenced contents are deleted"
    store_files.save(place_in(row, first), NewFile.of("a.csv", b"2"))
    later = store_files.save(place_in(row, second), NewFile.of("a.csv", b"3"))
    assert [file.pk for file in store_files.of_conversation(row.pk)] == [later.pk]
    assert store_files.of_turns([first.pk, second.pk]) == {first.pk: (again,), second.pk: (later,)} and store_files.of_turns([]) == {}


def test_a_file_over_the_size_limit_is_refused(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = long_conversation(ada, 2)
    environment.change(monkeypatch, {"file_mb": 1})
    store_files.save(place_in(row), NewFile.of("fits", b"x" * store_files.MEBIBYTE))
    with pytest.raises(FileRefusedError, match="larger than 1 MB"):
        store_files.save(place_in(row), NewFile.of("large", b"x" * (store_files.MEBIBYTE + 1)))
    assert [file.name for file in store_files.of_conversation(row.pk)] == ["fits"]


def test_the_quota_applies_per_person(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    adas, belas = long_conversation(ada, 2), long_conversation(bela, 2)
    environment.change(monkeypatch, {"files_of_person_mb": 1})
    store_files.save(place_in(adas), NewFile.of("a", b"x" * store_files.MEBIBYTE))
    with pytest.raises(FileRefusedError, match="the 1 MB that they may"):
        store_files.save(place_in(adas), NewFile.of("b", b"y"))
    store_files.save(place_in(adas), NewFile.of("c", b"x" * store_files.MEBIBYTE))
    store_files.save(place_in(belas), NewFile.of("b", b"y"))
    assert StoredFile.objects.count() == 3, "the same bytes take no more room"


def test_a_replacement_needs_only_the_extra_space(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = long_conversation(ada, 2)
    turn = turn_in(row)
    environment.change(monkeypatch, {"files_of_person_mb": 1})
    store_files.save(place_in(row, turn), NewFile.of("a", b"x" * store_files.MEBIBYTE))
    again = store_files.save(place_in(row, turn), NewFile.of("a", b"y" * store_files.MEBIBYTE))
    assert store_files.data_of(again)[:1] == b"y" and left()[:2] == (1, 1)
    store_files.save(place_in(row), NewFile.of("copy", b"y" * store_files.MEBIBYTE))
    with pytest.raises(FileRefusedError, match="the 1 MB that they may"):
        store_files.save(place_in(row, turn), NewFile.of("a", b"z"))


def test_the_number_of_files_per_answer_is_limited_but_they_can_be_changed(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = long_conversation(ada, 2)
    turn = turn_in(row)
    environment.change(monkeypatch, {"files_of_answer": 1})
    store_files.save(place_in(row, turn), NewFile.of("a", b"1"))
    with pytest.raises(FileRefusedError, match="at most 1 files"):
        store_files.save(place_in(row, turn), NewFile.of("b", b"1"))
    store_files.save(place_in(row, turn), NewFile.of("a", b"2"))
    store_files.save(place_in(row, turn_in(row)), NewFile.of("b", b"1"))


def test_files_are_erased_with_their_conversation_unless_used_elsewhere(ada: User) -> None:
    gone, remaining = long_conversation(ada, 2), long_conversation(ada, 2)
    store_files.save(place_in(gone, turn_in(gone)), NewFile.of("both", b"shared"))
    store_files.save(place_in(gone), NewFile.of("own", b"mine"))
    store_files.save(place_in(remaining), NewFile.of("both", b"shared"))
    assert left() == (3, 2, 2), "the premise"
    erasure.erase_conversation(gone.pk)
    assert left() == (1, 1, 1) and store_files.data_of(store_files.of_conversation(remaining.pk)[0]) == b"shared"


def test_purge_erases_files_of_old_bin_entries(ada: User) -> None:
    row = long_conversation(ada, 2)
    store_files.save(place_in(row, turn_in(row)), CSV)
    call_command("purge", stdout=StringIO())
    assert left() == (1, 1, 1), "the premise: what is not in the bin stays"
    Conversation.objects.update(deleted_at=timezone.now() - timedelta(days=31))
    call_command("purge", stdout=StringIO())
    assert left() == (0, 0, 0)


def test_an_interrupted_erasure_is_completed(ada: User, database: Database) -> None:
    row = long_conversation(ada, 2)
    store_files.save(place_in(row), CSV)
    database.refuse("DELETE FROM chatui_filecontent", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        erasure.erase_conversation(row.pk)
    assert left() == (0, 1, 1), "the premise: it was cut off"
    assert erasure.sweep() == 1 and left() == (0, 0, 0)


def test_erasing_a_person_erases_their_files_only(ada: User, bela: User) -> None:
    for person in (ada, bela):
        row = long_conversation(person, 2)
        store_files.save(place_in(row, turn_in(row)), CSV)
    erased = lifecycle_erasure.erase(Visitor(None, "127.0.0.1", "shell"), ada)
    assert erased.contents.counts["files"] == 1 and left() == (1, 1, 1)
    assert StoredFile.objects.get().owner == bela


KEY, OTHER = "k" * 32, "another key, which is long enough"
DATA = b"secret words of a file " * 30_000


def change(monkeypatch: pytest.MonkeyPatch, key: str, *before: str) -> None:
    environment.change(monkeypatch, {"file_key": key, "file_keys_before": list(before)})


def test_with_a_key_only_ciphertext_is_stored(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, KEY)
    row = long_conversation(ada, 2)
    file = store_files.save(FileDestination(ada.pk, row.pk), NewFile.of("notes.txt", DATA))
    stored = b"".join(bytes(piece.data) for piece in FilePiece.objects.order_by("number"))
    assert b"secret" not in stored and len(stored) > len(DATA) > PIECE_BYTES and store_files.data_of(file) == DATA
    same = store_files.save(FileDestination(ada.pk, row.pk), NewFile.of("again.txt", DATA))
    assert store_files.data_of(same) == DATA and FileContent.objects.count() == 1


def test_a_key_can_be_rotated_and_without_it_files_are_unreadable(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row = long_conversation(ada, 2)
    plain = store_files.save(FileDestination(ada.pk, row.pk), NewFile.of("plain.txt", b"from before"))
    change(monkeypatch, KEY)
    first = store_files.save(FileDestination(ada.pk, row.pk), NewFile.of("first.txt", DATA))
    change(monkeypatch, OTHER, KEY)
    second = store_files.save(FileDestination(ada.pk, row.pk), NewFile.of("second.txt", b"x" + DATA))
    assert [store_files.data_of(file)[:4] for file in (plain, first, second)] == [b"from", b"secr", b"xsec"]
    change(monkeypatch, OTHER)
    with pytest.raises(NoKeyError):
        store_files.data_of(first)
    change(monkeypatch, "")
    for file in (first, second):
        with pytest.raises(NoKeyError):
            store_files.data_of(file)
    assert store_files.data_of(plain) == b"from before"


def test_changed_or_swapped_pieces_are_detected(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, KEY)
    file = store_files.save(FileDestination(ada.pk, long_conversation(ada, 2).pk), NewFile.of("notes.txt", DATA))
    first, second = FilePiece.objects.order_by("number")[:2]
    for piece, data in ((first, bytes(second.data)), (first, bytes(first.data)[:-1] + b"\0"), (first, b"")):
        FilePiece.objects.filter(pk=piece.pk).update(data=data)
        with pytest.raises(NoKeyError):
            store_files.data_of(file)


def test_a_transferred_file_is_readable_by_its_new_owner(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, KEY)
    adas = [
        store_files.save(FileDestination(ada.pk, long_conversation(ada, 2).pk), NewFile.of(f"{name}.txt", DATA)) for name in ("one", "two")
    ]
    assert ownership_transfer.transfer(ada, bela, with_summaries=True) == 2
    for file in adas:
        file.refresh_from_db()
        assert file.owner == bela and file.content.owner == bela and store_files.data_of(file) == DATA


def test_a_short_key_is_refused_at_startup() -> None:
    from chatui.env import Environment

    with pytest.raises(ValueError, match="at least 32 characters"):
        Environment(file_key="short")
