"""Files sent earlier: their owner finds and sends them again, and nothing is stored twice."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.files import DocumentText, FileContent, StoredFile
from chatui.models.user import User
from chatui.store import documents, uploads
from chatui.transfer import files
from tests.chatui.conftest import signed_in
from tests.chatui.store.uploads import uploaded

pytestmark = pytest.mark.django_db


@pytest.fixture
def talk(ada: User) -> Conversation:
    return Conversation.objects.create(owner=ada, title="With files")


def sent_file(conversation: Conversation, name: str, text: str = "") -> StoredFile:
    file = uploaded(conversation.owner, name, text or f"Words of {name}.")
    StoredFile.objects.filter(pk=file.pk).update(conversation=conversation)
    return file


def names(client: Client, words: str = "") -> list[str]:
    response = client.get("/files/earlier/", {"q": words})
    assert response.status_code == 200
    return [file["name"] for file in response.json()["files"]]


def again(client: Client, file: StoredFile, conversation: Conversation | None = None) -> Any:
    place = f"?conversation={conversation.pk}" if conversation else ""
    return client.post(f"/files/{file.pk}/again/{place}")


def test_the_newest_come_first_without_duplicates_and_match_by_words_of_the_name(ada: User, talk: Conversation) -> None:
    for name in ("Budget 2025.csv", "notes.txt", "Budget 2026.csv", "notes.txt"):
        sent_file(talk, name)
    uploaded(ada, "waiting.txt")
    assert names(signed_in(ada)) == ["notes.txt", "Budget 2026.csv", "Budget 2025.csv"]
    assert names(signed_in(ada), "budget") == ["Budget 2026.csv", "Budget 2025.csv"]
    assert names(signed_in(ada), "2026 bud") == ["Budget 2026.csv"]
    assert names(signed_in(ada), "%") == [] == names(signed_in(ada), "\0_" + "x " * 900)


def test_the_response_says_if_there_are_more_files(ada: User, talk: Conversation) -> None:
    def listed(words: str = "") -> tuple[int, bool]:
        answer = signed_in(ada).get("/files/earlier/", {"q": words}).json()
        return len(answer["files"]), answer["more"]

    for number in range(50):
        sent_file(talk, f"{number}.txt")
    assert listed() == (50, False)
    sent_file(talk, "more.txt")
    assert listed() == (50, True)
    assert listed("more") == (1, False)


def test_so_many_copies_of_a_file_that_not_all_are_examined_count_as_more(
    ada: User, talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_ROWS", 2)
    for count, has_more in ((1, False), (2, True), (3, True)):
        sent_file(talk, "notes.txt")
        found, more = files.search(ada, "")
        assert (len(found), more) == (1, has_more), count


def test_each_of_several_files_is_pending_under_its_own_name_with_its_own_text(ada: User, talk: Conversation) -> None:
    """Files are the same only if their names and texts are, and they wait at the same message box."""
    other = Conversation.objects.create(owner=ada)
    sent = [sent_file(talk, name, text) for name, text in (("a.txt", "one"), ("a.txt", "two"), ("b.txt", "one"))]
    pending = [files.attach_again(ada, file.pk, place) for place in (None, other.pk) for file in (*sent, *sent)]
    assert [(file.name, file.content_id) for file in pending] == [(file.name, file.content_id) for file in sent] * 4
    assert [file.brought_in for file in pending] == [None] * 6 + [other.pk] * 6
    assert len({file.pk for file in pending}) == 6 and {file.source for file in pending} == {"person"}


def test_files_that_are_pending_again_count_towards_the_most_that_wait(
    ada: User, talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_PENDING", 1)
    sent = [sent_file(talk, f"{number}.txt") for number in range(2)]
    first, second = (files.attach_again(ada, file.pk, None) for file in sent)
    assert StoredFile.objects.filter(pk=second.pk).exists() and not StoredFile.objects.filter(pk=first.pk).exists()
    assert StoredFile.objects.filter(conversation=talk).count() == 2


def test_a_file_is_pending_again_with_its_text_and_no_second_copy(ada: User, talk: Conversation) -> None:
    file = sent_file(talk, "notes.txt")
    other = Conversation.objects.create(owner=ada)
    contents = FileContent.objects.count(), DocumentText.objects.count()
    client = signed_in(ada)
    reply = again(client, file, other).json()
    assert reply["ok"] and reply["name"] == "notes.txt" and reply["tokens"] > 0 and reply["id"] != str(file.pk)
    assert again(client, file, other).json()["id"] == reply["id"], "pressed twice, it is one"
    assert (FileContent.objects.count(), DocumentText.objects.count()) == contents
    assert [each["id"] for each in client.get(f"/files/?conversation={other.pk}").json()["files"]] == [reply["id"]]
    assert "Words of notes.txt." in client.get(reply["text"]).content.decode()


def test_deleting_one_copy_keeps_the_others_text(ada: User, talk: Conversation) -> None:
    file = sent_file(talk, "notes.txt")
    reply = again(signed_in(ada), file).json()
    documents.delete(StoredFile.objects.get(pk=file.pk))
    assert "Words of notes.txt." in signed_in(ada).get(reply["text"]).content.decode()
    assert names(signed_in(ada)) == [] and again(signed_in(ada), file).status_code == 404


@pytest.mark.parametrize("change", ["deleted_at", "unfinished_until", "temporary_until", "unread", "tool"])
def test_unlisted_files_and_files_without_text_are_not_offered(change: str, ada: User, talk: Conversation) -> None:
    file = sent_file(talk, "notes.txt")
    assert names(signed_in(ada)) == ["notes.txt"], "the premise"
    if change == "unread":
        DocumentText.objects.update(state="unreadable")
    elif change == "tool":
        StoredFile.objects.update(source="tool")
    else:
        Conversation.objects.filter(pk=talk.pk).update(**{change: timezone.now() + timedelta(hours=1)})
    assert names(signed_in(ada)) == [] and again(signed_in(ada), file).status_code == 404


def test_nobody_finds_or_reuses_somebody_elses_files(ada: User, bela: User, grace: User, talk: Conversation) -> None:
    file = sent_file(talk, "notes.txt")
    for other in (bela, grace):
        assert names(signed_in(other)) == [] and again(signed_in(other), file).status_code == 404
    belas = Conversation.objects.create(owner=bela)
    assert again(signed_in(ada), file, belas).status_code == 404
    assert Client().get("/files/earlier/").status_code == 302 == again(Client(), file).status_code
    assert StoredFile.objects.count() == 1
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert again(strict, file).status_code == 403
