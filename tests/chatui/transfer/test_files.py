"""Accepting an uploaded file: the order of a person's uploads, what a refused one leaves behind, and what is read again."""

from uuid import uuid4

import pytest

from chatui.documents.reading import TextPart
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentText, FileContent, StoredFile
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.transfer import files
from chatui.transfer.files import MAX_IN_MEMORY, FileDestination, UploadQueue, UploadRefusedError
from tests.chatui.store.uploads import uploaded, uploaded_with

pytestmark = pytest.mark.django_db
WORDS = b"The meeting is on Tuesday."


@pytest.fixture(autouse=True)
def queue(monkeypatch: pytest.MonkeyPatch) -> UploadQueue:
    queue = UploadQueue()
    monkeypatch.setattr(files, "_queue", queue)
    return queue


def accept(person: User, name: str = "notes.txt", data: bytes = WORDS) -> StoredFile:
    return files.accept(FileDestination(person.pk, None), name, lambda: data)


def test_a_file_is_loaded_when_no_other_one_of_its_person_is_and_only_a_few_are_in_memory(ada: User, queue: UploadQueue) -> None:
    seen: list[tuple[bool, bool, int]] = []

    def load() -> bytes:
        with queue.place(ada.pk) as own, queue.place(uuid4()) as another:
            free = 0
            while queue.memory_slots.acquire(blocking=False):
                free += 1
            queue.memory_slots.release(free)
            seen.append((own.acquire(blocking=False), another.acquire(blocking=False), free))
        return b""

    for _ in range(2):
        with pytest.raises(UploadRefusedError, match="blank"):
            files.accept(FileDestination(ada.pk, None), "a.txt", load)
    assert seen == [(False, True, MAX_IN_MEMORY - 1)] * 2


def test_a_refused_file_is_removed_and_no_other_one_that_waits(ada: User, bela: User) -> None:
    others = {uploaded(ada, "first.txt", "One.").pk, uploaded(bela, "blank.txt", "Two.").pk}
    with pytest.raises(UploadRefusedError) as refused:
        accept(ada, "blank.txt", b"  ")
    assert refused.value.why == "blank" and refused.value.reading is not None
    assert set(StoredFile.objects.values_list("pk", flat=True)) == others


def test_a_file_that_was_sent_meanwhile_is_not_removed(ada: User) -> None:
    file = uploaded(ada)
    StoredFile.objects.update(conversation=Conversation.objects.create(owner=ada))
    files.remove(file)
    assert StoredFile.objects.filter(pk=file.pk).exists()


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


def test_too_many_files_of_one_person_are_refused() -> None:
    line, ada = UploadQueue(max_per_person=2), uuid4()
    for _ in range(2):  # a place is free again
        with line.place(ada), line.place(ada):
            with pytest.raises(UploadRefusedError), line.place(ada):
                pass
            with line.place(uuid4()):
                pass


def test_too_many_files_of_all_people_are_refused() -> None:
    line = UploadQueue(max_waiting=2)
    with line.place(uuid4()), line.place(uuid4()), pytest.raises(UploadRefusedError), line.place(uuid4()):
        pass
