"""Pictures of assistants: who is served one and how, what becomes of it with its assistant, and the part of the form that asks for one."""

import io
import json
import re
import zipfile
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.test import Client
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
