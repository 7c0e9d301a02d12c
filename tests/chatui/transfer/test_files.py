"""Accepting an uploaded file: the order of a person's uploads, what a refused one leaves behind, and what is read again."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from uuid import UUID, uuid4

import pytest

from chatui.documents.reading import TextPart
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentText, FileContent, StoredFile
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.transfer import files
from chatui.transfer.files import FileDestination, UploadRefusedError
from tests.chatui.store.uploads import uploaded, uploaded_with
from tests.support.database import Database
from tests.support.database import database as database
from tests.support.limits import limit, set_limits

pytestmark = pytest.mark.django_db
WORDS = b"The meeting is on Tuesday."


def accept(person: User, name: str = "notes.txt", data: bytes = WORDS) -> StoredFile:
    return files.accept(FileDestination(person.pk, None), name, lambda: data)


def test_a_file_is_loaded_when_no_other_one_of_its_person_is_and_only_a_few_are_in_memory() -> None:
    most, loading, seen = limit("chatui.transfer", "MAX_IN_MEMORY"), list[UUID](), list[tuple[int, int]]()
    ada, *others = (uuid4() for _ in range(most + 2))

    def upload(person: UUID) -> None:
        def load() -> bytes:
            loading.append(person)
            time.sleep(0.02)  # long enough for others to begin, if they may
            seen.append((loading.count(person), len(loading)))
            loading.remove(person)
            return b""

        with pytest.raises(UploadRefusedError, match="blank"):
            files.accept(FileDestination(person, None), "a.txt", load)

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(upload, [ada, *others] * 3))
    assert len(seen) == 3 * len([ada, *others]) and max(own for own, _ in seen) == 1 and max(every for _, every in seen) == most


def test_a_refused_file_is_removed_and_no_other_one_that_waits(ada: User, bela: User) -> None:
    others = {uploaded(ada, "first.txt", "One.").pk, uploaded(bela, "blank.txt", "Two.").pk}
    with pytest.raises(UploadRefusedError) as refused:
        accept(ada, "blank.txt", b"  ")
    assert refused.value.why == "blank" and refused.value.reading is not None
    assert set(StoredFile.objects.values_list("pk", flat=True)) == others


def test_a_refused_file_that_was_sent_meanwhile_is_not_removed(ada: User, conversation: Conversation, database: Database) -> None:
    database.before("SELECT .*FROM chatui_documenttext", lambda: StoredFile.objects.update(conversation=conversation))
    with pytest.raises(UploadRefusedError, match="blank"):
        accept(ada, "blank.txt", b"  ")
    assert StoredFile.objects.get().conversation == conversation


def test_a_file_whose_text_could_not_be_extracted_before_is_read_again(ada: User) -> None:
    first = accept(ada)
    DocumentText.objects.update(state="unreadable")
    second = accept(ada, "again.txt")
    assert second.content_id == first.content_id and FileContent.objects.count() == 1
    assert DocumentText.objects.get().state == "read"


def test_the_text_of_a_file_has_the_label_of_each_part(ada: User) -> None:
    file = uploaded_with(ada, "a.pdf", TextPart("page 1", "One."), TextPart("", "Two."), TextPart("page 3", "Three."))
    assert files.text_of(ada, file.pk) == "[page 1]\nOne.\n\nTwo.\n\n[page 3]\nThree."
    file.content.parts.all().delete()
    with pytest.raises(NotFoundError):
        files.text_of(ada, file.pk)


def test_too_many_files_of_one_person_or_of_all_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def upload(*people: UUID) -> None:
        """Each uploads a file while the one before it is loaded; ``why``: why they are refused, the last one first."""

        def load() -> bytes:
            if people[1:]:
                (inner := Thread(target=upload, args=people[1:], daemon=True)).start()
                inner.join(10)  # who is not refused would wait for this one
            return b""

        with pytest.raises(UploadRefusedError) as refused:
            files.accept(FileDestination(people[0], None), "a.txt", load)
        why.append(refused.value.why)

    ada, bela, cleo = (uuid4() for _ in range(3))
    set_limits(monkeypatch, "chatui.transfer", MAX_WAITING_PER_PERSON=1, MAX_WAITING=2)
    for _ in range(2):  # a place is free again
        for people, expected in (((ada, ada), "busy"), ((ada, bela), "blank"), ((ada, bela, cleo), "busy")):
            why: list[str] = []
            upload(*people)
            assert why[:1] == [expected], people
