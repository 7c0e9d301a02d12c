"""Pictures of assistants: who is served one and how, what becomes of it with its assistant, and the part of the form that asks for one."""

import io
import json
import re
import zipfile
import zlib
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatui.models.assistants import Assistant, AssistantPicture, AssistantVersion
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.pictures import only_pixels
from chatui.store import assistants, ownership_transfer
from tests.chatui.conftest import make_person, signed_in
from tests.chatui.store.pictures import png

pytestmark = pytest.mark.django_db(transaction=True)

RED, BLUE = (only_pixels(png(2, 2, colour)) for colour in (b"\xff\0\0", b"\0\0\xff"))


@pytest.fixture
def group(ada: User) -> Group:
    """A group with Ada in it."""
    made = Group.objects.create(name="writers")
    made.user_set.add(ada)
    return made


@pytest.fixture
def maker(db: None) -> User:
    return make_person("maker", "offer_assistants", staff=True)


@pytest.fixture
def editor(maker: User, group: Group) -> Assistant:
    """An assistant with a red picture, which is offered to the group."""
    made = assistants.create(maker, {"name": "Editor"}, picture=RED)
    made.groups.add(group)
    return made


def newest(editor: Assistant) -> AssistantVersion:
    editor.refresh_from_db()
    return editor.versions.get(number=editor.newest)


def address(editor: Assistant) -> str:
    """The address of the picture that its newest version has."""
    return f"/assistants/pictures/{newest(editor).picture_id}/"


def begun(person: User, editor: Assistant) -> Conversation:
    return Conversation.objects.create(owner=person, title="Draft", began_with_assistant=True, assistant_version=newest(editor))


def test_a_picture_is_served_as_nothing_but_a_picture(ada: User, editor: Assistant) -> None:
    response = signed_in(ada).get(address(editor))
    assert (response.status_code, response.content, response["Content-Type"]) == (200, RED, "image/png")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cache-Control"] == "private, max-age=31536000, immutable"
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "sandbox" in policy and "img-src" not in policy


def test_whoever_is_not_offered_the_assistant_finds_no_picture(ada: User, bela: User, maker: User, editor: Assistant) -> None:
    here, nowhere = address(editor), f"/assistants/pictures/{uuid4()}/"
    assert [signed_in(person).get(here).status_code for person in (ada, maker)] == [200, 200]
    found, missing = (signed_in(bela).get(each) for each in (here, nowhere))
    assert found.status_code == missing.status_code == 404 and found["Cache-Control"] == missing["Cache-Control"] == "no-store"
    assert without_its_number(found.content) == without_its_number(missing.content)
    assert Client().get(here).status_code == 302
    ada.groups.clear()
    assert [signed_in(person).get(here).status_code for person in (ada, maker)] == [404, 200]
    Assistant.objects.update(deleted_at=timezone.now())
    assert signed_in(maker).get(here).status_code == 404


def without_its_number(page: bytes) -> bytes:
    """A page without the request's id, and without the tokens that differ in each."""
    return re.sub(rb"[0-9a-f]{16}(?=</code>)|(?<=[\"'])[A-Za-z0-9]{64}(?=[\"'])", b"", page)


def test_an_older_picture_is_shown_to_whom_the_older_version_applies(ada: User, group: Group, maker: User, editor: Assistant) -> None:
    cleo = make_person("cleo")
    cleo.groups.add(group)
    older, row = address(editor), begun(ada, editor)
    assert assistants.change(newest(editor), {"name": "Editor"}, picture=BLUE)
    assert [signed_in(person).get(older).status_code for person in (ada, cleo, maker)] == [200, 404, 404]
    assert [signed_in(person).get(address(editor)).content for person in (ada, cleo, maker)] == [BLUE] * 3
    signed_in(ada).post(f"/c/{row.pk}/assistant/")
    assert signed_in(ada).get(older).status_code == 404


def test_versions_share_a_picture_and_one_that_none_has_is_removed(ada: User, editor: Assistant) -> None:
    first = newest(editor).picture_id
    assert not assistants.change(newest(editor), {"name": "Editor"}, picture=RED), "the same picture is no change"
    row = begun(ada, editor)
    assert assistants.change(newest(editor), {"name": "Second editor"})
    assert newest(editor).picture_id == first and AssistantPicture.objects.count() == 1
    assert assistants.change(newest(editor), {"name": "Second editor"}, picture=b"")
    assert newest(editor).picture is None and AssistantPicture.objects.get().pk == first, "the conversation has it"
    Conversation.objects.filter(pk=row.pk).delete()
    call_command("purge", "--days", "30")
    assert not AssistantPicture.objects.exists()


def test_pictures_go_with_their_assistant(ada: User, bela: User, maker: User, editor: Assistant) -> None:
    bela.user_permissions.add(Permission.objects.get(codename="offer_assistants"))
    User.objects.filter(pk=bela.pk).update(is_staff=True)
    assistants.create(maker, {"name": "A private one"}, picture=BLUE)
    ownership_transfer.transfer(maker, bela, with_summaries=True)
    call_command("erase_person", "maker", "--yes")
    assert [bytes(each.data) for each in AssistantPicture.objects.all()] == [RED], "what was handed over stays"
    assert [signed_in(person).get(address(editor)).status_code for person in (ada, bela)] == [200, 200]
    Assistant.objects.update(deleted_at=timezone.now() - timedelta(days=31))
    call_command("purge", "--days", "30")
    assert not AssistantPicture.objects.exists()


def test_the_archive_of_everything_has_the_pictures_of_ones_own(ada: User, maker: User, editor: Assistant) -> None:
    assistants.create(maker, {"name": "../<b>"}, picture=BLUE)
    assistants.create(maker, {"name": "Plain"})
    files = archive(maker)
    made = {each["name"]: each["picture"] for each in json.loads(files["assistants.json"])["assistants"]}
    assert made["Plain"] == "" and "assistants/" in files["READ-ME.txt"].decode()
    assert [files[made[name]] for name in ("Editor", "../<b>")] == [RED, BLUE]
    assert sorted(name for name in files if name.endswith(".png")) == sorted(filter(None, made.values()))
    assert not [name for name in archive(ada) if name.endswith(".png")], "a member's has none"


def archive(person: User) -> dict[str, bytes]:
    response = signed_in(person).get("/download/")
    found = zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))  # type: ignore[attr-defined]
    return {name: found.read(name) for name in found.namelist()}


FORM = {"name": "Editor", "instructions": "Something long."}


def sent(data: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("a.png", data, "image/png")


def stored() -> bytes | None:
    """The picture of the newest version of the newest assistant."""
    picture = newest(Assistant.objects.latest("created_at")).picture
    return bytes(picture.data) if picture else None


def test_a_picture_is_set_kept_changed_and_removed_by_the_form(ada: User) -> None:
    client = signed_in(ada)
    dirty = RED[:33] + b"\0\0\0\x04tEXtAda\0" + zlib.crc32(b"tEXtAda\0").to_bytes(4) + RED[33:]
    assert client.post("/assistants/new/", {**FORM, "picture": sent(dirty)}).status_code == 302
    assert stored() == RED, "and nothing else of the file"
    editor = Assistant.objects.get()
    here = f"/assistants/{editor.pk}/"
    for fields, after in (({}, RED), ({"picture": sent(BLUE)}, BLUE), ({"name": "A"}, BLUE), ({"no_picture": "on"}, None), ({}, None)):
        assert client.post(here, {**FORM, **fields}).status_code == 302
        assert stored() == after, fields
        assert ("/assistants/pictures/" in client.get(here).content.decode()) == (after is not None)
    client.post(here, {**FORM, "no_picture": "on", "picture": sent(RED)})
    assert stored() == RED, "one that was chosen counts more than the tick for none"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (png(129), "at most 128 × 128 pixels and 24 KB"),
        (png() + bytes(100_000), "at most 128 × 128 pixels and 24 KB"),
        (b"<svg/>", "neither interlaced nor animated"),
        (b"", "is empty"),
        (png() + b"\0", "is damaged"),
    ],
    ids=("wide", "long", "drawing", "empty", "damaged"),
)
def test_a_picture_that_cannot_be_used_is_refused_and_nothing_of_the_form_is_lost(
    ada: User, maker: User, editor: Assistant, data: bytes, says: str
) -> None:
    form = {"name": "Reader", "instructions": "Something long."}
    for person, here in ((ada, "/assistants/new/"), (maker, f"/assistants/{editor.pk}/")):
        response = signed_in(person).post(here, {**form, "picture": sent(data)})
        page = response.content.decode()
        assert response.status_code == 400 and says in page and 'value="Reader"' in page and "Something long." in page
    assert stored() == RED and newest(editor).name == "Editor"


def test_a_chosen_picture_is_kept_when_something_else_is_wrong(ada: User) -> None:
    client, here = signed_in(ada), "/assistants/new/"
    page = client.post(here, {**FORM, "name": "", "picture": sent(BLUE)}).content.decode()
    [kept] = re.findall('name="kept_picture" value="([^"]*)"', page)
    assert "The picture that you chose is kept." in page
    again = client.post(here, {**FORM, "name": "", "kept_picture": kept}).content.decode()
    assert f'value="{kept}"' in again
    refused = client.post(here, {**FORM, "kept_picture": kept, "picture": sent(b"<svg/>")}).content.decode()
    assert f'value="{kept}"' in refused, "a wrong choice does not lose the right one"
    assert client.post(here, {**FORM, "kept_picture": kept, "no_picture": "on"}).status_code == 302
    assert stored() is None
    assert client.post(here, {**FORM, "kept_picture": kept}).status_code == 302
    assert stored() == BLUE


@pytest.mark.parametrize("forged", ["x", "é", "PHN2Zy8+", "\0", "A" * 50_000])
def test_what_is_kept_is_trusted_as_little_as_a_file(ada: User, forged: str) -> None:
    assert signed_in(ada).post("/assistants/new/", {**FORM, "kept_picture": forged}).status_code == 302
    assert stored() is None


def test_a_photograph_without_scripts_is_refused_in_the_form(ada: User) -> None:
    photograph = sent(b"\xff\xd8\xff\xe0" + bytes(6_000_000))
    page = signed_in(ada).post("/assistants/new/", {**FORM, "picture": photograph})
    assert page.status_code == 400 and "at most 128 × 128 pixels" in page.content.decode()


def test_it_is_shown_where_the_initials_were(ada: User, maker: User, editor: Assistant) -> None:
    row, client = begun(ada, editor), signed_in(ada)
    old = address(editor)
    assert assistants.change(newest(editor), {"name": "Editor"}, picture=BLUE)
    new = address(editor)
    pages = {"/": new, f"/?assistant={editor.pk}": new, "/assistants/": new, f"/c/{row.pk}/": old}
    for here, picture in pages.items():
        page = client.get(here).content.decode()
        assert set(re.findall("/assistants/pictures/[^/]*/", page)) == {picture}, here
        assert re.search(f'<img[^>]* src="{picture}" alt=""', page), here
        assert client.get(picture).status_code == 200, here
    assistants.change(newest(editor), {"name": "Editor"}, picture=b"")
    page = client.get("/").content.decode()
    assert "/assistants/pictures/" not in page and ">E</span>" in page, "the initials are back"


def test_pictures_cost_a_page_no_statement(ada: User) -> None:
    client = signed_in(ada)
    counts = []
    for picture in (b"", RED):
        for number in range(6):
            assistants.create(ada, {"name": f"Editor {number}"}, picture=picture)
        client.get("/")
        with CaptureQueriesContext(connection) as caught:
            client.get("/")
        counts.append(len(caught))
        assert all("assistantpicture" not in each["sql"] for each in caught)
        Assistant.objects.all().delete()
    assert counts[0] == counts[1]
