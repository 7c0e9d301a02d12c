"""Serving files, with a policy that runs nothing, and uploading them: what is accepted, and what is refused.

Files are private: they are for their owner, and for everybody else they do not exist.
"""

import re
import threading
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.cache import cache
from django.db import connections
from django.test import Client
from django.utils import timezone

from chatui.documents import kinds
from chatui.documents.reading import FileReading, TextPart
from chatui.limits import Throttle
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentPart, DocumentPassage, FileContent, StoredFile
from chatui.models.user import User
from chatui.store import documents, erasure, passages
from chatui.store import documents as texts
from chatui.store import files as store_files
from chatui.store import uploads as store_uploads
from chatui.store.files import FileDestination, NewFile
from chatui.web import files as web_files
from tests.chatui.conftest import OPENING, signed_in
from tests.chatui.documents import samples
from tests.chatui.store.pictures import claiming, png
from tests.chatui.store.uploads import given, stored_bytes, uploaded
from tests.support import environment
from tests.support.limits import set_limits

pytestmark = pytest.mark.django_db

POLICY = {"default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "sandbox"}


def store_file(row: Conversation, name: str = "a.csv", data: bytes = b"a,b\n") -> StoredFile:
    return store_files.save(FileDestination(row.owner_id, row.pk), NewFile.of(name, data))


def body_of(response: object) -> bytes:
    return b"".join(response.streaming_content)  # type: ignore[attr-defined]


def test_the_owner_gets_a_file_as_a_download(conversation: Conversation, ada: User) -> None:
    file = store_file(conversation, "Zahlen – März.csv")
    response = signed_in(ada).get(f"/files/{file.pk}/")
    assert response.status_code == 200 and body_of(response) == b"a,b\n"
    assert response["Content-Disposition"] == "attachment; filename*=utf-8''Zahlen%20%E2%80%93%20M%C3%A4rz.csv"
    assert response["Content-Type"] == "application/octet-stream" and response["Content-Length"] == "4"


def test_a_picture_of_a_safe_format_is_shown_inline(conversation: Conversation, ada: User) -> None:
    response = signed_in(ada).get(f"/files/{store_file(conversation, 'plot.txt', png(3, 2)).pk}/")
    assert body_of(response) == png(3, 2) and response["Content-Type"] == "image/png"
    assert response["Content-Disposition"] == 'inline; filename="plot.txt"'


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        ("x.html", b"<script>alert(1)</script>"),
        ("x.png", b"<script>alert(1)</script>"),
        ("x.pdf", b"%PDF-1.7"),
        ("huge.png", claiming(20_000, 20_000)),
    ],
)
def test_nothing_else_is_shown_inline_whatever_its_name(name: str, data: bytes, conversation: Conversation, ada: User) -> None:
    response = signed_in(ada).get(f"/files/{store_file(conversation, name, data).pk}/")
    assert response["Content-Type"] == "application/octet-stream" and response["Content-Disposition"] == f'attachment; filename="{name}"'


@pytest.mark.parametrize(("data", "policy"), [(png(), POLICY | {"style-src 'unsafe-inline'"}), (b"<script>", POLICY)])
def test_no_browser_runs_or_caches_a_file(data: bytes, policy: set[str], conversation: Conversation, ada: User) -> None:
    response = signed_in(ada).get(f"/files/{store_file(conversation, 'x', data).pk}/")
    assert {directive.strip() for directive in response["Content-Security-Policy"].split(";")} == policy
    assert response["X-Content-Type-Options"] == "nosniff" and response["Cross-Origin-Resource-Policy"] == "same-origin"
    assert response["Cache-Control"] == "no-store" and response["X-Frame-Options"] == "DENY"


def test_foreign_deleted_and_guessed_files_are_equally_not_found(conversation: Conversation, ada: User, bela: User, grace: User) -> None:
    file = store_file(conversation)
    assert signed_in(ada).get(f"/files/{file.pk}/").status_code == 200, "the premise"
    others = [signed_in(person).get(f"/files/{file.pk}/") for person in (bela, grace)]
    guessed = signed_in(bela).get(f"/files/{uuid4()}/")
    conversation.deleted_at = timezone.now()
    conversation.save()
    answers = [*others, guessed, signed_in(ada).get(f"/files/{file.pk}/")]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert len({re.sub(rb"[0-9A-Za-z-]{12,}", b"", answer.content) for answer in [others[0], guessed]}) == 1, "not even the page differs"
    assert "script-src 'self'" in guessed["Content-Security-Policy"], "a page of ours"
    assert Client().get(f"/files/{file.pk}/").status_code == 302
    assert not AuditEvent.objects.filter(action__contains="file").exists()


def test_staff_open_a_file_under_the_rules_of_the_debug_view(conversation: Conversation, grace: User) -> None:
    file = store_file(conversation)
    path = f"/c/{conversation.pk}/debug/files/{file.pk}/"
    client = signed_in(grace)
    assert client.get(path).status_code == 403, "not before the debug view is open"
    client.post(f"/c/{conversation.pk}/debug/open/", OPENING)
    assert body_of(client.get(path)) == b"a,b\n"
    assert client.get(f"/c/{conversation.pk}/debug/files/{uuid4()}/").status_code == 404


def upload(client: Client, name: str = "notes.txt", data: bytes = b"The meeting is on Tuesday.") -> Any:
    return client.post("/files/", data, content_type="application/octet-stream", headers={"X-File-Name": name})


def test_a_text_file_is_stored_read_and_counted(ada: User) -> None:
    client = signed_in(ada)
    reply = upload(client, "Notes%20%E2%80%93%20May.txt").json()
    file = StoredFile.objects.get()
    assert (reply["id"], reply["name"], reply["size"]) == (str(file.pk), "Notes – May.txt", 26)
    assert 100 < reply["tokens"] < 200 and reply["room"] > 100_000 and reply["description"].endswith("0.1% of the limit")
    assert file.conversation_id is None and DocumentPart.objects.get().text == "The meeting is on Tuesday."
    text = client.get(reply["text"])
    assert text.content == b"The meeting is on Tuesday." and text["Content-Type"] == "text/plain; charset=utf-8"
    assert "sandbox" in text["Content-Security-Policy"] and text["X-Content-Type-Options"] == "nosniff"
    assert client.post(reply["delete"]).json() == {"ok": True} and not FileContent.objects.exists() and not DocumentPart.objects.exists()


def test_what_is_hidden_in_a_file_is_named_to_the_person_and_to_the_model(ada: User) -> None:
    rows = '<row><c><v>1</v></c></row><row hidden="1"><c><v>666</v></c></row>'
    data = samples.xlsx({"Q1": rows, "Salaries [1]": "<row><c><v>666</v></c></row>"}, states={"Salaries [1]": "hidden"})
    reply = upload(signed_in(ada), "a.xlsx", data).json()
    assert reply["note"] == "Hidden sheets were left out: Salaries [1]. Hidden rows or columns were left out of these sheets: Q1."
    file = StoredFile.objects.get()
    for use in ("whole", "search", "places"):
        body = given(file, use, "1")
        assert "Hidden sheets left out: Salaries (1). Hidden rows or columns left out of these sheets: Q1. What follows" in body
        assert "666" not in body


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.xlsx", samples.xlsx({"A": "<row><c><v>1</v></c></row>"}, states={"A": "hidden"}), "hidden"),
        ("a.png", png(), "picture"),
        ("a.txt", png(), "picture"),
        ("a.exe", b"MZ\0\0\0", "type"),
        ("a.txt", b"   ", "blank"),
        ("a.txt", b"", "blank"),
    ],
)
def test_an_unreadable_file_is_refused_with_a_reason_and_not_stored(name: str, data: bytes, why: str, ada: User) -> None:
    answer = upload(signed_in(ada), name, data)
    assert answer.json()["why"] == why and len(answer.json()["message"]) > 20
    assert not StoredFile.objects.exists() and not FileContent.objects.exists()


@pytest.mark.parametrize(
    "given",
    ["a%0D%0AX-Evil:%201.txt", "..%2F..%2Fetc%2Fpasswd", "x%E2%80%AEtxt.exe.txt", "%22><img src=x>.txt", "", "%ff%00.txt", "a" * 3000],
)
def test_a_hostile_file_name_is_harmless(given: str, ada: User) -> None:
    assert upload(signed_in(ada), given).status_code == 200
    (name,) = StoredFile.objects.values_list("name", flat=True)
    assert not set(name) & set('\r\n/\\"<>\0\u202e') and name.strip(".") and len(name) <= 80


def test_equal_contents_are_read_once(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(ada)
    upload(client)
    monkeypatch.setattr("chatui.documents.reading.read", None)
    assert upload(client, "again.txt").status_code == 200 and FileContent.objects.count() == 1
    client.post(f"/files/{StoredFile.objects.get(name='notes.txt').pk}/delete/")
    assert DocumentPart.objects.count() == 1, "the other file has the same content"


def test_the_file_name_decides_how_equal_contents_are_read(ada: User) -> None:
    client, page = signed_in(ada), b"<title>t</title><p>Hello</p>"
    texts = [client.get(upload(client, name, page).json()["text"]).content for name in ("a.html", "a.txt", "b.html")]
    assert texts[0] == texts[2] != page and texts[1] == page and FileContent.objects.count() == 2
    for name in ("table.csv", "table.txt", "table.md"):
        assert upload(client, name, b"a,b\n1,2\n").json()["ok"]
    kinds = StoredFile.objects.filter(name__startswith="table").order_by("name").values_list("name", "content__document__kind")
    assert list(kinds) == [("table.csv", "csv"), ("table.md", "markdown"), ("table.txt", "text")]


def test_pending_files_are_listed_at_the_message_box_they_were_uploaded_in(ada: User, bela: User, conversation: Conversation) -> None:
    client = signed_in(ada)
    Conversation.objects.filter(pk=conversation.pk).update(owner=ada)
    here = f"/files/?conversation={conversation.pk}"
    new = upload(client, "new.txt", b"new").json()
    there = client.post(here, b"there", content_type="application/octet-stream", headers={"X-File-Name": "there.txt"}).json()
    empty = {"ok": True, "files": []}
    assert client.get("/files/").json() == {"ok": True, "files": [{key: value for key, value in new.items() if key != "ok"}]}
    assert [each["id"] for each in client.get(here).json()["files"]] == [there["id"]]
    assert signed_in(bela).get("/files/").json() == empty and signed_in(bela).get(here).status_code == 404
    StoredFile.objects.filter(name="there.txt").update(conversation=conversation)
    StoredFile.objects.filter(name="new.txt").update(created_at=timezone.now() - timedelta(hours=25))
    assert client.get(here).json() == client.get("/files/").json() == empty, "sent, or too old"


def test_a_page_says_whether_there_are_pending_files_to_load(ada: User) -> None:
    client = signed_in(ada)
    assert "data-files" not in client.get("/").content.decode()
    talk = Conversation.objects.create(owner=ada)
    upload(client)
    assert "data-files" in client.get("/").content.decode()
    assert "data-files" not in client.get(f"/c/{talk.pk}/").content.decode(), "it waits at another box"


def test_extracted_text_counts_towards_the_quota(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(name: str, data: bytes, **hints: str) -> FileReading:
        return FileReading("text", (TextPart("", "ä" * 600_000),))

    environment.change(monkeypatch, {"file_mb": 1, "files_of_person_mb": 1})
    monkeypatch.setattr("chatui.documents.reading.read", read)
    assert upload(signed_in(ada), data=b"few bytes").json()["why"] == "quota"
    assert not StoredFile.objects.exists() and not FileContent.objects.exists()
    environment.change(monkeypatch, {"file_mb": 1, "files_of_person_mb": 2})
    assert upload(signed_in(ada), data=b"few bytes").json()["ok"] and stored_bytes(ada) == 9 + 1_200_000


def test_pending_files_that_are_never_sent_do_not_block_uploads(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_uploads, "MAX_PENDING", 2)
    client = signed_in(ada)
    for number in range(4):
        assert upload(client, f"{number}.txt", f"Text {number}".encode()).json()["ok"]
    assert set(StoredFile.objects.values_list("name", flat=True)) == {"2.txt", "3.txt"} and FileContent.objects.count() == 2
    StoredFile.objects.filter(name="2.txt").update(created_at=timezone.now() - timedelta(hours=25))
    upload(client, "4.txt", b"Text 4")
    assert set(StoredFile.objects.values_list("name", flat=True)) == {"3.txt", "4.txt"}


def test_files_pending_for_an_hour_are_replaced_when_space_runs_out(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"file_mb": 1, "files_of_person_mb": 2})
    client = signed_in(ada)
    upload(client, "old.txt", b"a" * 700_000)
    assert upload(client, "new.txt", b"b" * 700_000).json()["why"] == "quota", "uploaded just now, it may be about to be sent"
    StoredFile.objects.update(created_at=timezone.now() - timedelta(hours=2))
    assert upload(client, "new.txt", b"b" * 700_000).json()["ok"] and StoredFile.objects.get().name == "new.txt"


def test_a_file_deleted_while_it_is_read_is_refused(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(name: str, data: bytes, **hints: str) -> FileReading:
        await sync_to_async(_delete_all)()
        return FileReading("text", (TextPart("", "words"),))

    monkeypatch.setattr("chatui.documents.reading.read", read)
    answer = upload(signed_in(ada))
    assert (answer.status_code, answer.json()["why"]) == (200, "gone") and not DocumentPart.objects.exists()


def _delete_all() -> None:
    for file in StoredFile.objects.all():
        documents.delete(file)


def test_text_read_by_a_concurrent_upload_is_not_overwritten(ada: User) -> None:
    file = uploaded(ada)
    passages.index(file.content_id)
    texts.save(file.content, FileReading("text", (TextPart("", "other"),)), [1], is_counted=True)
    assert DocumentPart.objects.get().text == "The meeting is on Tuesday." and DocumentPassage.objects.exists()


def test_limits_apply(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(ada)
    environment.change(monkeypatch, {"file_mb": 1, "files_of_person_mb": 2})
    assert upload(client, data=b"a" * 1024 * 1024).json()["ok"], "exactly full, with its text"
    assert upload(client, data=b"b" * (1024 * 1024 + 1)).json()["why"] == "too-long"
    assert upload(client, data=b"b").json()["why"] == "quota"
    monkeypatch.setattr(web_files, "uploads", Throttle("files", attempts=5, seconds=600))
    assert [upload(client).status_code == 429 for _ in range(3)] == [False, False, True], "the three above count, too"
    cache.clear()


def test_nobody_else_reads_or_deletes_a_pending_file(ada: User, bela: User, grace: User, conversation: Conversation) -> None:
    file = uploaded(ada)
    for person in (bela, grace):
        client = signed_in(person)
        answers = [client.get(f"/files/{key}/{what}") for key in (file.pk, uuid4()) for what in ("", "text/")]
        answers += [client.post(f"/files/{key}/delete/") for key in (file.pk, uuid4())]
        assert [answer.status_code for answer in answers] == [404] * 6
    assert grace.has_perm("chatui.view_hidden_channels") and StoredFile.objects.filter(pk=file.pk).exists()
    assert Client().post("/files/", b"x", content_type="text/plain").status_code == 302
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert upload(strict).status_code == 403, "without a token"


def test_a_tool_made_file_is_not_deleted_here(ada: User, conversation: Conversation) -> None:
    file = uploaded(ada)
    StoredFile.objects.filter(pk=file.pk).update(source="tool", conversation=conversation)
    assert signed_in(ada).post(f"/files/{file.pk}/delete/").status_code == 404 and StoredFile.objects.exists()


def test_pending_files_expire_after_a_day(ada: User, conversation: Conversation) -> None:
    old, sent, new = (uploaded(ada, f"{name}.txt", name) for name in ("old", "sent", "new"))
    StoredFile.objects.filter(pk__in=[old.pk, sent.pk]).update(created_at=timezone.now() - timedelta(hours=25))
    StoredFile.objects.filter(pk=sent.pk).update(conversation=conversation)
    assert erasure.sweep() == 0 and set(StoredFile.objects.values_list("pk", flat=True)) == {sent.pk, new.pk}
    assert FileContent.objects.count() == DocumentPart.objects.count() == 2


@pytest.mark.parametrize(("command", "why"), [("true", None), ("false", "infected")])
def test_a_virus_scanner_decides(command: str, why: str | None, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"file_scanner": command})
    answer = upload(signed_in(ada))
    assert answer.json().get("why") == why and StoredFile.objects.exists() == (why is None)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_twenty_concurrent_uploads_stay_within_the_quota(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"files_of_person_mb": 2})
    client, answers = signed_in(ada), []

    def bring(number: int) -> None:
        try:
            own = Client()
            own.cookies = client.cookies
            answers.append(upload(own, f"{number}.txt", bytes([97 + number]) * 200_000))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=bring, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(answer.json()["ok"] for answer in answers) == 5 and len(answers) == 20
    assert sum(StoredFile.objects.values_list("content__size", flat=True)) == 1_000_000


@pytest.mark.django_db(transaction=True)
def test_no_database_connection_is_held_while_a_file_is_read(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[object] = []

    async def read(name: str, data: bytes, **hints: str) -> FileReading:
        held.append(connections["default"].connection)
        return FileReading("text", (TextPart("", "words"),))

    def detected(name: str, data: bytes) -> kinds.DetectedKind:
        held.append(connections["default"].connection)
        return detect(name, data)

    detect = kinds.detect
    monkeypatch.setattr(kinds, "detect", detected)
    monkeypatch.setattr("chatui.documents.reading.read", read)
    assert upload(signed_in(ada)).json()["ok"]
    # async_to_sync runs it in this same thread.
    assert held == [None, None], "neither when its turn comes"


def test_a_temporary_refusal_says_so(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.transfer", MAX_WAITING_PER_PERSON=0)
    answer = upload(signed_in(ada))
    assert (answer.status_code, answer.json()["why"]) == (503, "busy") and not StoredFile.objects.exists()


def test_a_text_whose_encoding_is_not_certain_says_so_and_can_be_read_in_another(ada: User, bela: User) -> None:
    client, data = signed_in(ada), "Árvíztűrő tükörfúrógép".encode("cp1250")
    reply = upload(client, data=data).json()
    assert reply["note"] == "Its encoding is not certain: it was read as Windows-1250."
    assert reply["encoding"] == "cp1250" and ["cp1251", "Windows-1251"] in reply["encodings"]
    again = client.post(reply["recode"], {"encoding": "cp1252"}).json()
    assert (again["id"], again["encoding"], again["note"]) == (reply["id"], "cp1252", "")
    assert DocumentPart.objects.get().text == data.decode("cp1252") and again["recode"] == reply["recode"]
    assert client.get("/files/").json()["files"][0]["encoding"] == "cp1252"
    for wrong in ({"encoding": "utf-7"}, {"encoding": "rot13"}, {}):
        assert client.post(reply["recode"], wrong).status_code == 404
    assert signed_in(bela).post(reply["recode"], {"encoding": "cp1251"}).status_code == 404
    assert DocumentPart.objects.get().text == data.decode("cp1252")


def test_an_encoding_is_not_asked_where_it_is_certain_or_the_text_was_sent(ada: User, conversation: Conversation) -> None:
    client, sent = signed_in(ada), "Árvíztűrő".encode("cp1250")
    for data in (b"plain", "Grüße".encode()):
        reply = upload(client, data=data).json()
        assert (reply["encodings"], reply["recode"]) == ([], "")
        assert client.post(f"/files/{reply['id']}/encoding/", {"encoding": "cp1252"}).status_code in (200, 404)
    first = upload(client, data=sent).json()
    StoredFile.objects.filter(pk=first["id"]).update(conversation=conversation)
    assert client.post(first["recode"], {"encoding": "cp1252"}).status_code == 404
