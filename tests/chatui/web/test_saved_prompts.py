"""Saved prompts: who may use, read, change and offer them, deletion with undo, and import and export as a file."""

import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.utils import timezone

from chatui.display import saved_prompts as display
from chatui.models.audit import AuditEvent
from chatui.models.saved_prompts import SavedPrompt
from chatui.models.user import User
from chatui.transfer import saved_prompts as transfer
from tests.chatui.conftest import make_person, signed_in

pytestmark = pytest.mark.django_db

TEXT = "Shorten this:\n\n{{text}}"
FORM = {"name": "Shorten", "text": TEXT}


def made(client: Client, **fields: str) -> str:
    response = client.post("/prompts/new/", {**FORM, **fields})
    assert response.status_code == 302, response.content.decode()
    return str(SavedPrompt.objects.latest("pk").pk)


def offered(person: User) -> list[dict[str, str]]:
    return list(signed_in(person).get("/prompts/offered/").json()["prompts"])


@pytest.fixture
def readers(ada: User, bela: User) -> Group:
    """A group of bela's, to which ada may offer prompts."""
    group = Group.objects.create(name="readers")
    bela.groups.add(group)
    ada.user_permissions.set(Permission.objects.filter(codename="offer_assistants"))
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    return group


def test_a_prompt_is_made_found_changed_deleted_and_brought_back(ada: User) -> None:
    client = signed_in(ada)
    key = made(client)
    assert offered(ada) == [{"id": key, "name": "Shorten", "begins": "Shorten this: {{text}}", "from": ""}]
    assert client.get(f"/prompts/{key}/text/").json() == {"text": TEXT}
    assert client.post(f"/prompts/{key}/", {"name": "Cut", "text": "Cut this."}).status_code == 302
    page = client.post(f"/prompts/{key}/delete/", follow=True).content.decode()
    assert "“Cut” was deleted" in page.replace("<bdi>", "").replace("</bdi>", "") and offered(ada) == []
    assert client.get(f"/prompts/{key}/text/").status_code == 404
    assert "The prompt is back." in client.post(f"/prompts/{key}/restore/", follow=True).content.decode()
    assert [each["name"] for each in offered(ada)] == ["Cut"]


def test_somebody_elses_prompt_looks_like_one_that_does_not_exist(ada: User, bela: User) -> None:
    key, client, nothing = made(signed_in(ada)), signed_in(bela), uuid4()
    assert offered(bela) == [] and "Shorten" not in client.get(f"/prompts/?deleted={key}").content.decode()
    for path in ("/prompts/{}/", "/prompts/{}/text/"):
        assert [client.get(path.format(each)).status_code for each in (key, nothing)] == [404, 404], path
    for path in ("/prompts/{}/", "/prompts/{}/delete/", "/prompts/{}/restore/"):
        assert [client.post(path.format(each), FORM).status_code for each in (key, nothing)] == [404, 404], path


def test_members_of_a_group_use_what_it_is_offered_and_cannot_change_it(ada: User, bela: User, readers: Group) -> None:
    key = made(signed_in(ada), group=str(readers.pk), text="Be\u200b brief\U000e0041.")
    client = signed_in(bela)
    assert [(each["name"], each["from"]) for each in offered(bela)] == [("Shorten", "readers · ada")], "two of one name can be told apart"
    assert client.get(f"/prompts/{key}/text/").json() == {"text": "Be brief."}, "nothing of it is invisible"
    assert client.post(f"/prompts/{key}/", FORM).status_code == 404
    assert offered(make_person("cleo")) == []
    assert signed_in(ada).post(f"/prompts/{key}/", {**FORM, "group": ""}).status_code == 302
    assert offered(bela) == []


@pytest.mark.parametrize("path", ["/prompts/new/", "/prompts/{}/"])
def test_a_group_that_is_gone_when_the_form_is_sent_is_said(path: str, ada: User, readers: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(ada)
    key = made(client)
    before = display.groups
    monkeypatch.setattr(display, "groups", lambda *asked: [*before(*asked), ("4711", "deleted meanwhile")])
    answer = client.post(path.format(key), {"name": "Cut", "text": "Cut.", "group": "4711"})
    assert answer.status_code == 400 and "The group does not exist any more" in answer.content.decode()
    row = SavedPrompt.objects.get()
    assert row.name == "Shorten" and row.group is None, "nothing was saved"


def test_what_is_done_with_an_offered_one_is_recorded_without_its_text(ada: User, readers: Group) -> None:
    client, other = signed_in(ada), Group.objects.create(name="writers")
    made(client, name="Not offered")
    key = made(client, group=str(readers.pk))
    for fields in ({"text": "Cut."}, {"text": "Cut."}, {"text": "Cut.", "group": str(other.pk)}):
        assert client.post(f"/prompts/{key}/", {**FORM, "group": str(readers.pk), **fields}).status_code == 302
    for done in ("delete", "restore"):
        assert client.post(f"/prompts/{key}/{done}/").status_code == 302
    assert client.post(f"/prompts/{key}/", {**FORM, "group": ""}).status_code == 302
    for done in ("delete", "restore"):
        assert client.post(f"/prompts/{key}/{done}/").status_code == 302
    lines = AuditEvent.objects.filter(action__contains="prompt").order_by("number").values_list("action", "detail")
    assert list(lines) == [
        ("prompt offered to group", "readers"),
        ("offered prompt changed", "readers"),
        ("prompt not offered to group any more", "readers"),
        ("prompt offered to group", "writers"),
        ("prompt not offered to group any more", "writers"),
        ("prompt offered to group", "writers"),
        ("offered prompt changed", "writers"),
        ("prompt not offered to group any more", "writers"),
    ]


def test_a_prompt_is_not_offered_by_who_left_nor_to_who_left_the_group(ada: User, bela: User, readers: Group) -> None:
    made(signed_in(ada), group=str(readers.pk))
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert offered(bela) == []
    User.objects.filter(pk=ada.pk).update(is_active=True)
    assert len(offered(bela)) == 1
    bela.groups.clear()
    assert offered(bela) == []


def test_whoever_may_not_offer_is_not_asked_and_cannot(bela: User, readers: Group) -> None:
    manager = make_person("manager", "view_user", "view_group", "change_group", staff=True)
    for person in (bela, manager, make_person("no staff", "offer_assistants")):
        client = signed_in(person)
        assert "Offer to a group" not in client.get("/prompts/new/").content.decode()
        made(client, group=str(readers.pk))
    assert not SavedPrompt.objects.exclude(group=None).exists()


def test_an_offer_counts_while_its_maker_may_offer(ada: User, bela: User, readers: Group) -> None:
    key, client = made(signed_in(ada), group=str(readers.pk)), signed_in(bela)
    for lose, win in (({"is_staff": False}, {"is_staff": True}), ({"is_active": False}, {"is_active": True})):
        User.objects.filter(pk=ada.pk).update(**lose)
        assert offered(bela) == [] and client.get(f"/prompts/{key}/text/").status_code == 404
        User.objects.filter(pk=ada.pk).update(**win)
        assert len(offered(bela)) == 1
    ada.user_permissions.clear()
    assert offered(bela) == [] and client.get(f"/prompts/{key}/text/").status_code == 404
    page = signed_in(ada).get("/prompts/").content.decode()
    assert "Not offered any more, because you may not offer prompts" in page and "Group: readers" not in page
    team = Group.objects.create(name="makers")
    team.permissions.add(Permission.objects.get(codename="offer_assistants"))
    team.user_set.add(ada)
    assert len(offered(bela)) == 1
    team.delete()
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    assert len(offered(bela)) == 1 and "Group: readers" in signed_in(ada).get("/prompts/").content.decode()


def test_who_lost_the_right_keeps_or_withdraws_an_offer_and_makes_no_other(ada: User, readers: Group) -> None:
    client, other = signed_in(ada), Group.objects.create(name="writers")
    key = made(client, group=str(readers.pk))
    ada.user_permissions.clear()
    assert client.post(f"/prompts/{key}/", {**FORM, "group": str(readers.pk)}).status_code == 302
    assert client.post(f"/prompts/{key}/", {**FORM, "group": str(other.pk)}).status_code == 400
    assert SavedPrompt.objects.get().group == readers
    assert client.post(f"/prompts/{key}/", {**FORM, "group": ""}).status_code == 302
    assert SavedPrompt.objects.get().group is None


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": " \u200b\u3164 "}, "Please enter a name."),
        ({"text": "\u200b\u3164"}, "Please enter a text."),
        ({"name": "x" * 61}, "60"),
        ({"text": "x" * 8_001}, "8000"),
    ],
)
def test_a_form_with_a_mistake_says_so_and_keeps_what_was_written(ada: User, fields: dict[str, str], says: str) -> None:
    response = signed_in(ada).post("/prompts/new/", {**FORM, "text": "Something long.", **fields})
    page = response.content.decode()
    assert response.status_code == 400 and says in page and not SavedPrompt.objects.exists()
    assert fields.get("text", "Something long.") in page


def test_nobody_has_two_of_one_name(ada: User, bela: User) -> None:
    client = signed_in(ada)
    key, other = made(client, name="Straße"), made(client, name="Other")
    for path in ("/prompts/new/", f"/prompts/{other}/"):
        refused = client.post(path, {"name": " STRASSE ", "text": "What I wrote."})
        page = refused.content.decode()
        assert refused.status_code == 400 and "You have another prompt with this name." in page and "What I wrote." in page
    assert client.post(f"/prompts/{key}/", {"name": "strasse", "text": "Its own name, and another text."}).status_code == 302
    made(signed_in(bela), name="Straße")
    client.post(f"/prompts/{key}/delete/")
    made(client, name="Strasse")
    assert "The prompt is back." in client.post(f"/prompts/{key}/restore/", follow=True).content.decode()
    assert {name for name, _text in prompts_of(ada)} == {"strasse (2)", "Other", "Strasse"}


def test_two_that_have_one_name_from_before_can_be_changed(ada: User) -> None:
    rows = [SavedPrompt.objects.create(owner=ada, name="Shorten", text=text) for text in "ab"]
    assert signed_in(ada).post(f"/prompts/{rows[0].pk}/", {"name": "Shorten", "text": "c"}).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_of_two_requests_at_once_one_makes_the_prompt(ada: User) -> None:
    clients, both = [signed_in(ada), signed_in(ada)], Barrier(2)

    def post(client: Client) -> int:
        try:
            both.wait(10)
            return client.post("/prompts/new/", FORM).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(post, clients)) == [302, 400]
    assert SavedPrompt.objects.count() == 1


def test_a_file_brings_what_has_a_name_that_is_taken_under_a_number(ada: User) -> None:
    client, long = signed_in(ada), "x" * 60
    made(client)
    made(client, name=long)
    texts = [("shorten", "One"), ("Shorten", "Two"), ("Shorten", TEXT), (long, "Three"), ("Free", "Four"), ("Free", "Four")]
    file = json.dumps([{"name": name, "text": text} for name, text in texts]).encode()
    page = uploaded(client, file).content.decode()
    assert "4 prompts were imported." in page and "3 of them have a number behind their names now" in page
    assert "You had 2 of them already." in page
    assert prompts_of(ada)[2:] == [("shorten (2)", "One"), ("Shorten (3)", "Two"), ("x" * 56 + " (2)", "Three"), ("Free", "Four")]
    page = uploaded(client, file).content.decode()
    assert "0 prompts were imported." in page and "number" not in page and len(prompts_of(ada)) == 6


def test_nobody_has_more_than_the_most_prompts(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "MAX_PROMPTS", 1)
    client = signed_in(ada)
    key = made(client)
    assert "the maximum of" in client.post("/prompts/new/", {**FORM, "name": "Another"}).content.decode()
    assert uploaded(client, b'[{"name": "b", "text": "c"}]').status_code == 400
    client.post(f"/prompts/{key}/delete/")
    made(client)
    assert "the maximum of" in client.post(f"/prompts/{key}/restore/", follow=True).content.decode()
    assert SavedPrompt.objects.filter(deleted_at=None).count() == 1


def test_the_purge_erases_what_was_deleted_long_ago(ada: User) -> None:
    client = signed_in(ada)
    keys = made(client), made(client, name="Stays")
    client.post(f"/prompts/{keys[0]}/delete/")
    call_command("purge", "--days", "30")
    assert SavedPrompt.objects.count() == 2
    SavedPrompt.objects.filter(pk=keys[0]).update(deleted_at=timezone.now() - timedelta(days=31))
    call_command("purge", "--days", "30")
    assert SavedPrompt.objects.get().name == "Stays"


def uploaded(client: Client, data: bytes) -> Any:
    return client.post("/prompts/import/", {"file": SimpleUploadedFile("prompts", data)})


def prompts_of(person: User) -> list[tuple[str, str]]:
    return [(each.name, each.text) for each in display.own_texts(person)]


def test_an_export_is_imported_again_with_nothing_lost_and_nothing_twice(ada: User, bela: User) -> None:
    client = signed_in(ada)
    made(client)
    made(client, name="Größe, „alles“", text='A "quoted" <b>text</b>,\nwith 👩‍💻 and {{tone: a | b}}')
    response = client.get("/prompts/export/")
    assert response["Content-Disposition"] == 'attachment; filename="prompts.json"'
    again = signed_in(bela)
    assert "2 prompts were imported." in uploaded(again, response.content).content.decode()
    assert prompts_of(bela) == prompts_of(ada)
    page = uploaded(again, response.content).content.decode()
    assert "0 prompts were imported." in page and "You had 2 of them already." in page and len(prompts_of(bela)) == 2


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'[{"command": "/short", "title": "", "content": "Shorten."}]', [("short", "Shorten.")]),
        (b'[{"command": "/short", "title": "Shorten", "content": "S."}]', [("Shorten", "S.")]),
        ('\ufeffName;,Text\n"a, ""b""","x\ny"\n'.replace(";", "").encode(), [('a, "b"', "x\ny")]),
        (b'act,prompt,for_devs\r\n"Poet","Be a poet.",TRUE\r\n', [("Poet", "Be a poet.")]),
    ],
)
def test_files_of_other_products_and_tables_are_read(ada: User, data: bytes, found: list[tuple[str, str]]) -> None:
    assert uploaded(signed_in(ada), data).status_code == 200
    assert prompts_of(ada) == found


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"\xff\xfe\x00", "The file is not text in UTF-8."),
        (b'{"prompts": [', "it is not valid JSON"),
        (b'{"prompts": {}}', "neither a list of prompts nor"),
        (b"[]", "There is no prompt in the file."),
        (b"[" * 100_000, "it is not valid JSON"),
        (b'[{"name": "a", "text": "b"}, {"name": "c"}]', "Prompt 2: it has no text."),
        (b'[7, {"text": "b"}]', "Prompt 1: it has no name."),
        (b'[{"name": "' + b"x" * 61 + b'", "text": "b"}]', "Prompt 1: its name is longer than 60 characters."),
        (b'[{"name": "a", "text": "' + b"x" * 8001 + b'"}]', "Prompt 1: its text is longer than 8000 characters."),
        (b"Dear all,\nhello", "neither JSON nor a CSV table"),
        (b"name,text\na\n", "Line 2 of the table has more or fewer cells"),
        (b"name,text\na,b,c\n", "Line 2 of the table has more or fewer cells"),
        (b'name,text\na,"b\n', "a quotation mark is missing"),
        (json.dumps([{"name": str(each), "text": "x"} for each in range(201)]).encode(), "The file has more than 200 prompts."),
    ],
)
def test_a_file_with_a_mistake_says_where_and_nothing_of_it_is_imported(ada: User, data: bytes, says: str) -> None:
    response = uploaded(signed_in(ada), data)
    assert response.status_code == 400 and says in response.content.decode()
    assert not SavedPrompt.objects.exists()


def test_a_file_that_is_too_large_is_refused_before_it_is_read(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "MAX_FILE_BYTES", 10)
    with pytest.raises(transfer.PromptFileError, match="larger than"):
        transfer.import_file(ada, b"[" + b" " * 10 + b"]")


def test_the_archive_of_everything_has_them_as_the_import_reads_them(ada: User, bela: User) -> None:
    made(signed_in(ada))
    response = signed_in(ada).get("/download/")
    archive = zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))  # type: ignore[attr-defined]
    uploaded(signed_in(bela), archive.read("prompts.json"))
    assert prompts_of(bela) == [("Shorten", TEXT)]
    nothing = signed_in(make_person("cleo")).get("/download/")
    assert "prompts.json" not in zipfile.ZipFile(io.BytesIO(b"".join(nothing.streaming_content))).namelist()  # type: ignore[attr-defined]
