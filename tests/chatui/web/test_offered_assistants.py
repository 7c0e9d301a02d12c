"""Assistants that are offered to groups: by whom, to whom, what members see of them, and what ends an offer."""

import io
import zipfile
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from chatui.display import assistants as display
from chatui.models.assistants import Assistant, AssistantVersion
from chatui.models.audit import AuditEvent
from chatui.models.collections import Collection
from chatui.models.conversation import Conversation
from chatui.models.message import SearchEntry
from chatui.models.shares import ShareLink
from chatui.models.user import ClosedAccount, User
from chatui.permissions import offers
from chatui.prompts import format_assistant_instructions
from chatui.store import transcripts
from tests.chatui.conftest import make_person, signed_in
from tests.chatui.turns.test_instructions import sent_instructions
from tests.support.environment import change as change_setting
from tests.support.scripted import ScriptedBackend
from tests.support.turns import ask, run

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "Answer in Etruscan."
FORM = {"name": "Editor", "instructions": SECRET, "starters": "Shorten this."}


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
def editor(maker: User, group: Group) -> str:
    assert signed_in(maker).post("/assistants/new/", {**FORM, "groups": [group.pk]}).status_code == 302
    return str(Assistant.objects.get().pk)


def change(maker: User, editor: str, **fields: object) -> None:
    groups = list(Group.objects.values_list("pk", flat=True))
    assert signed_in(maker).post(f"/assistants/{editor}/", {**FORM, "groups": groups, **fields}).status_code == 302


def lines() -> list[tuple[str, str]]:
    return list(AuditEvent.objects.filter(action__contains="assistant").order_by("number").values_list("action", "detail"))


def begun(person: User, editor: str) -> Conversation:
    version = AssistantVersion.objects.latest("number")
    return Conversation.objects.create(owner=person, title="Draft", began_with_assistant=True, assistant_version=version)


def test_its_maker_reads_which_of_its_documents_some_of_its_groups_may_not_ask(group: Group) -> None:
    maker = make_person("maker", "offer_assistants", "offer_collections", staff=True)
    client, readers = signed_in(maker), Group.objects.create(name="readers")
    letters, rules, gone = (Collection.objects.create(owner=maker, name=name) for name in ("Letters", "<Rules>", "Gone"))
    letters.groups.set([group, readers])
    rules.groups.set([group])
    Collection.objects.filter(pk=gone.pk).update(deleted_at=timezone.now())
    files = [str(letters.pk), str(rules.pk)]
    form = {**FORM, "collections": files, "groups": [group.pk, readers.pk]}
    saved = client.post("/assistants/new/", form, follow=True)
    page = saved.content.decode()
    editor = str(Assistant.objects.get().pk)
    assert saved.redirect_chain == [(f"/assistants/{editor}/?saved=1", 302)]
    assert "Saved." in page and "go on without them: <bdi>&lt;Rules&gt;</bdi>." in page
    assert "Saved." not in client.get(f"/assistants/{editor}/").content.decode()

    fits = {**form, "groups": [group.pk]}
    assert client.post(f"/assistants/{editor}/", fits).headers["Location"] == "/assistants/?saved=1", "nothing to say"
    assert "go on without them" not in client.get(f"/assistants/{editor}/").content.decode()
    maker.user_permissions.remove(Permission.objects.get(codename="offer_collections"))
    assert "<bdi>&lt;Rules&gt;, Letters</bdi>" in client.get(f"/assistants/{editor}/").content.decode(), "nobody may ask them then"
    maker.user_permissions.remove(Permission.objects.get(codename="offer_assistants"))
    assert "go on without them" not in client.get(f"/assistants/{editor}/").content.decode(), "it is offered to nobody"


def test_members_begin_with_it_and_others_see_nothing_of_it(ada: User, bela: User, maker: User, editor: str) -> None:
    client = signed_in(ada)
    page = client.get("/assistants/").content.decode()
    assert "Editor" in page and "Made by <bdi>maker</bdi>" in page and f"/assistants/{editor}/" not in page
    assert "Shorten this." in client.get(f"/?assistant={editor}").content.decode()
    assert "Editor" not in signed_in(bela).get("/assistants/").content.decode()
    assert "not offered to you" in signed_in(bela).get(f"/?assistant={editor}").content.decode()
    assert "Offered to <bdi>writers</bdi>" in signed_in(maker).get("/assistants/").content.decode()


def test_whoever_may_not_offer_is_not_asked_and_cannot(ada: User, group: Group) -> None:
    staff = make_person("plain staff", staff=True)
    with_right = make_person("no staff", "offer_assistants")
    for person in (ada, staff, with_right):
        client = signed_in(person)
        assert "Offer to groups" not in client.get("/assistants/new/").content.decode()
        assert client.post("/assistants/new/", {**FORM, "groups": [group.pk]}).status_code == 302
    assert not Assistant.objects.exclude(groups=None).exists() and lines() == []


def test_a_group_that_does_not_exist_is_refused(maker: User, group: Group) -> None:
    for key in ("999", "x", "9" * 40):
        page = signed_in(maker).post("/assistants/new/", {**FORM, "groups": [key]})
        assert page.status_code == 400 and SECRET in page.content.decode()
    assert not Assistant.objects.exists()


def test_what_is_done_with_an_offered_one_is_recorded(maker: User, group: Group, editor: str) -> None:
    client, named = signed_in(maker), "assistant Editor"
    more = Group.objects.create(name="readers")
    for groups, instructions in (([group.pk], "Be kind."), ([group.pk, more.pk], "Be kind."), ([], "Be kind."), ([], "Be brief.")):
        client.post(f"/assistants/{editor}/", {**FORM, "instructions": instructions, "groups": groups})
    client.post(f"/assistants/{editor}/", {**FORM, "groups": [more.pk]})
    client.post(f"/assistants/{editor}/delete/")
    client.post(f"/assistants/{editor}/restore/")
    offered, ended = "assistant offered", ("assistant not offered any more", named)
    assert lines() == [
        (offered, f"{named}; groups is now writers"),
        ("offered assistant changed", named),
        (offered, f"{named}; groups is now readers, writers"),
        ended,
        (offered, f"{named}; groups is now readers"),
        ended,
        (offered, f"{named}; groups is now readers"),
    ]


async def test_a_member_has_it_at_each_turn_and_keeps_the_version(ada: User, maker: User, editor: str, backend: ScriptedBackend) -> None:
    turn = await run(ada, ask(assistant=UUID(editor)))
    await database_sync_to_async(change)(maker, editor, instructions="Be kind.")
    await run(ada, ask(text="And 3 + 3?", conversation=turn.conversation_id))
    client = await database_sync_to_async(signed_in)(ada)
    page = (await database_sync_to_async(client.get)(f"/c/{turn.conversation_id}/assistant/")).content.decode()
    assert "There is a newer one" in page and "made by" in page and "Change the assistant" not in page and "Etruscan" not in page
    await database_sync_to_async(client.post)(f"/c/{turn.conversation_id}/assistant/")
    await run(ada, ask(text="And 4 + 4?", conversation=turn.conversation_id))
    old, new = ([format_assistant_instructions(text)] for text in (SECRET, "Be kind."))
    assert sent_instructions(backend) == [old, old, new]


def leave_group(ada: User, maker: User, editor: str) -> None:
    ada.groups.clear()


def withdraw(ada: User, maker: User, editor: str) -> None:
    signed_in(maker).post(f"/assistants/{editor}/", {**FORM, "groups": []})


def delete_group(ada: User, maker: User, editor: str) -> None:
    Group.objects.all().delete()


def delete_it(ada: User, maker: User, editor: str) -> None:
    signed_in(maker).post(f"/assistants/{editor}/delete/")


def forbid(ada: User, maker: User, editor: str) -> None:
    maker.user_permissions.clear()


def demote(ada: User, maker: User, editor: str) -> None:
    User.objects.filter(pk=maker.pk).update(is_staff=False)


def erase(ada: User, maker: User, editor: str) -> None:
    call_command("erase_person", "maker", "--yes")


@pytest.mark.parametrize("end", [leave_group, withdraw, delete_group, delete_it, forbid, demote, erase])
async def test_whoever_loses_it_goes_on_without_it_and_is_told(
    end: Callable[[User, User, str], None], ada: User, maker: User, editor: str, backend: ScriptedBackend
) -> None:
    turn = await run(ada, ask(assistant=UUID(editor)))
    await database_sync_to_async(end)(ada, maker, editor)
    await run(ada, ask(text="And 3 + 3?", conversation=turn.conversation_id))
    assert sent_instructions(backend) == [[format_assistant_instructions(SECRET)], []]
    client = await database_sync_to_async(signed_in)(ada)
    get, here = database_sync_to_async(client.get), f"/c/{turn.conversation_id}/"
    assert "Without its assistant" in (await get(here)).content.decode()
    assert "not available any more" in (await get(f"{here}assistant/")).content.decode()
    assert "Editor" not in (await get("/assistants/")).content.decode()


def test_the_right_may_come_from_a_group_and_a_superuser_has_it(ada: User, maker: User, editor: str) -> None:
    maker.user_permissions.clear()
    assert display.listed(ada) == []
    team = Group.objects.create(name="makers")
    team.permissions.add(Permission.objects.get(codename="offer_assistants"))
    team.user_set.add(maker)
    assert [each.name for each in display.listed(ada)] == ["Editor"]
    team.delete()
    User.objects.filter(pk=maker.pk).update(is_superuser=True)
    assert [each.name for each in display.listed(ada)] == ["Editor"] and offers.may_offer(User.objects.get(pk=maker.pk))
    User.objects.filter(pk=maker.pk).update(is_superuser=False)
    page = signed_in(maker).get("/assistants/").content.decode()
    assert "Not offered any more, because you may not offer assistants" in page and display.listed(ada) == []


def test_the_heir_has_the_offered_ones_of_somebody_who_left_and_members_keep_them(
    ada: User, bela: User, maker: User, editor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bela.user_permissions.add(Permission.objects.get(codename="offer_assistants"))
    User.objects.filter(pk=bela.pk).update(is_staff=True)
    signed_in(maker).post("/assistants/new/", {**FORM, "name": "A private one"})
    row = begun(ada, editor)
    change_setting(monkeypatch, {"closed_accounts": "hand-over"})
    call_command("purge", "--heir", "bela")
    call_command("close_account", "maker")
    assert [each.maker for each in display.with_groups(ada)] == ["maker"], "until the heir has it, it is offered"
    ClosedAccount.objects.update(closed_at=timezone.now() - timedelta(days=400))
    call_command("purge")
    assert not User.objects.filter(username="maker").exists(), "the premise"
    assert [(each.name, each.maker) for each in display.with_groups(ada)] == [("Editor", "bela")]
    assert "Without its assistant" not in signed_in(ada).get(f"/c/{row.pk}/").content.decode()
    assert SECRET in signed_in(bela).get(f"/assistants/{editor}/").content.decode(), "the heir may change it"
    assert [each.name for each in display.listed(bela)] == ["Editor"], "what was not offered is erased"


def test_a_model_that_a_member_is_not_offered_is_not_named(ada: User, maker: User, editor: str) -> None:
    AssistantVersion.objects.update(choice="secret-server/secret-model")
    page = signed_in(ada).get(f"/?assistant={editor}").content.decode()
    assert "is not offered to you. Another one answers." in page and "secret-" not in page
    assert "secret-server" in signed_in(maker).get(f"/assistants/{editor}/").content.decode(), "the premise"


def archive(client: Client) -> bytes:
    found = zipfile.ZipFile(io.BytesIO(b"".join(client.get("/download/").streaming_content)))  # type: ignore[attr-defined]
    return b"".join(found.read(name) for name in found.namelist())


async def test_no_page_file_link_or_copy_of_a_member_has_the_instructions(
    ada: User, bela: User, editor: str, backend: ScriptedBackend
) -> None:
    turn = await run(ada, ask(assistant=UUID(editor)))
    key, here = turn.conversation_id, f"/c/{turn.conversation_id}/"

    @database_sync_to_async
    def found() -> dict[str, bytes]:
        client, other = signed_in(ada), signed_in(bela)
        paths = ["/", "/assistants/", f"/?assistant={editor}", here, f"{here}?all=1", f"{here}assistant/", f"{here}share/", f"{here}debug/"]
        paths += [f"{here}download/?format={each}" for each in ("markdown", "openchatml", "json")]
        pages = {path: client.get(path).getvalue() for path in paths}
        leaf = transcripts.active_leaf(Conversation.objects.get(pk=key), ada)
        assert leaf is not None
        assert client.post(f"{here}share/", {"leaf": str(leaf.pk), "days": "1"}).status_code == 302
        shared = f"/s/{ShareLink.objects.get().token}/"
        pages["shared"], pages["copied"] = other.get(shared).getvalue(), other.post(f"{shared}copy/", follow=True).content
        assert bela.conversations.count() == 1 and bela.conversations.get().assistant_version is None, "the premise"
        pages["their archives"] = archive(client) + archive(other)
        pages["of another group"] = b"".join(other.get(path).getvalue() for path in paths)
        return pages

    pages = await found()
    assert [where for where, text in pages.items() if b"Etruscan" in text] == []
    assert sent_instructions(backend) == [[format_assistant_instructions(SECRET)]], "the premise"
    assert not await SearchEntry.objects.filter(terms__icontains="etruscan").aexists()
