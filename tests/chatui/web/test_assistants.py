"""Assistants: who may use, read and change them, what a conversation keeps of one, and the effect of deletion, purge and handing over."""

import io
import json
import re
import zipfile
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
import pytest_django
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from chatui.display import assistants as display
from chatui.models.assistants import Assistant, AssistantVersion
from chatui.models.collections import Collection
from chatui.models.conversation import Conversation, Folder
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.prompts import format_assistant_instructions, format_preferences
from chatui.store import ownership_transfer
from tests.chatui.conftest import signed_in
from tests.chatui.turns.calls.calling import fetch
from tests.chatui.turns.test_instructions import say, sent_instructions
from tests.support import offering
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.messages import branch_of
from tests.support.scripted import ScriptedBackend
from tests.support.turns import ask, run

pytestmark = pytest.mark.django_db(transaction=True)

LATIN = "Answer in Latin."
FORM = {
    "name": "Editor",
    "description": "Writes well.",
    "instructions": LATIN,
    "starters": "Shorten this.\n\n What is wrong here?",
    "effort": "high",
}


def made(client: Client, **fields: str) -> str:
    assert client.post("/assistants/new/", {**FORM, **fields}).status_code == 302
    return str(Assistant.objects.latest("created_at").pk)


@pytest.fixture
def editor(ada: User) -> str:
    return made(signed_in(ada))


def put(editor: str, **fields: str) -> None:
    owner = Assistant.objects.get(pk=editor).owner
    assert signed_in(owner).post(f"/assistants/{editor}/", {**FORM, **fields}).status_code == 302


def begun(person: User, editor: str) -> Conversation:
    row = Assistant.objects.get(pk=editor)
    version = row.versions.get(number=row.newest)
    return Conversation.objects.create(owner=person, title="Draft", began_with_assistant=True, assistant_version=version)


def test_the_page_of_a_new_conversation_offers_assistants_and_begins_with_the_chosen_one(ada: User) -> None:
    client = signed_in(ada)
    assert 'class="assistants' not in client.get("/").content.decode(), "nothing where there are none"
    editor = made(client, name="Text & editor")
    page = client.get("/").content.decode()
    assert f'href="?assistant={editor}"' in page and ">TE<" not in page and ">T&amp;<" in page and LATIN not in page
    page = client.get(f"/?assistant={editor}").content.decode()
    assert f'data-assistant="{editor}"' in page and LATIN not in page
    assert [question in page for question in ("Shorten this.", "What is wrong here?")] == [True, True], "its own first questions"
    assert '<option value="high" selected>' in page and "data-keeps-effort" in page and "data-linked" not in page


def test_a_description_stands_where_one_chooses_an_assistant_and_belongs_to_the_version(ada: User, bela: User) -> None:
    client = signed_in(ada)
    editor = made(client, description="Shortens <b>texts</b>.")
    addresses = ("/", f"/?assistant={editor}", "/assistants/", f"/assistants/{editor}/")
    for address in addresses:
        page = client.get(address).content.decode()
        assert "Shortens &lt;b&gt;texts&lt;/b&gt;." in page and "<b>texts" not in page, address
    row = begun(ada, editor)
    put(editor, description="Lengthens texts.")
    assert ["Lengthens texts." in client.get(address).content.decode() for address in addresses] == [True] * 4
    kept = Conversation.objects.get(pk=row.pk).assistant_version
    assert kept is not None and kept.description == "Shortens <b>texts</b>."
    assert "Lengthens" not in signed_in(bela).get("/assistants/").content.decode()
    put(editor, description="")
    assert "assistant-about" not in client.get("/").content.decode()


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("Two\r\nlines\tand a bell\x07", "Two lines and a bell"),
        ("Turned \u202eround\u2066", "Turned round"),
        ("\u200b\u3164\u2800 ", ""),
        ("x" * 160, "x" * 160),
    ],
)
def test_a_description_is_one_visible_line(ada: User, written: str, stored: str) -> None:
    made(signed_in(ada), description=written)
    assert [each.description for each in display.listed(ada)] == [stored]


def test_the_chosen_assistant_is_named_where_a_new_conversation_welcomes(
    ada: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(ada)
    editor = made(client, name="<b>Text</b> & editor")
    assert "What would you like to know?" in client.get("/").content.decode()
    page = client.get(f"/?assistant={editor}").content.decode()
    assert '<h1 dir="auto">&lt;b&gt;Text&lt;/b&gt; &amp; editor</h1>' in page and "What would you like to know?" not in page
    assert "Made by" not in page, "one's own"
    (tmp_path / "welcome.md").write_text("No personal data, please.\n")
    monkeypatch.setattr(settings, "ENVIRONMENT", settings.ENVIRONMENT.model_copy(update={"pages_dir": tmp_path}))
    assert "No personal data, please." in client.get(f"/?assistant={editor}").content.decode(), "what the operator says stays"


def test_somebody_elses_assistant_looks_like_one_that_does_not_exist(bela: User, editor: str) -> None:
    client, nothing = signed_in(bela), uuid4()
    gone = made(client)
    client.post(f"/assistants/{gone}/delete/")
    pages = [client.get(f"/?q=Hello&assistant={key}") for key in (editor, gone, nothing, "x.y")]
    alike = {stable(page.content).replace(str(key).encode(), b"") for key, page in zip((editor, gone, nothing, "x.y"), pages, strict=True)}
    assert {page.status_code for page in pages} == {200} and len(alike) == 1
    assert "does not exist, or is not offered to you" in pages[0].content.decode() and "Editor" not in pages[0].content.decode()
    assert [client.get(f"/assistants/{key}/").status_code for key in (editor, nothing)] == [404, 404]
    for path in ("/assistants/{}/", "/assistants/{}/delete/", "/assistants/{}/restore/"):
        assert [client.post(path.format(key), FORM).status_code for key in (editor, nothing)] == [404, 404], path
    assert "Editor" not in client.get("/assistants/").content.decode() + client.get(f"/assistants/?deleted={editor}").content.decode()
    assert AssistantVersion.objects.get(assistant__pk=editor).name == "Editor"


def stable(page: bytes) -> bytes:
    """A page without what is another in each response."""
    return re.sub(rb'nonce="[^"]*"|(value|content)="[A-Za-z0-9]{64}"|data-updated="[^"]*"', b"", page)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": " \u200b\u3164 "}, "Please enter a name."),
        ({"starters": "\n".join("abcdefg")}, "Please enter at most 6 questions"),
        ({"starters": "x" * 201}, "each of at most 200 characters"),
        ({"description": "x" * 161}, "160"),
        ({"description": "A\0B"}, "Null characters"),
        ({"instructions": "x" * 8_001}, "8000"),
        ({"choice": "nowhere/nothing"}, "nowhere/nothing"),
        ({"effort": "utmost"}, "utmost"),
    ],
)
def test_a_form_with_a_mistake_says_so_and_keeps_what_was_written(ada: User, fields: dict[str, str], says: str) -> None:
    response = signed_in(ada).post("/assistants/new/", {**FORM, "instructions": "Something long.", **fields})
    page = response.content.decode()
    assert response.status_code == 400 and says in page and not Assistant.objects.exists()
    assert fields.get("instructions", "Something long.") in page


def test_nobody_has_more_than_the_most_assistants(ada: User, editor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "MAX_ASSISTANTS", 1)
    client = signed_in(ada)
    page = client.post("/assistants/new/", FORM)
    assert page.status_code == 400 and "the maximum of" in page.content.decode()
    client.post(f"/assistants/{editor}/delete/")
    made(client)
    back = client.post(f"/assistants/{editor}/restore/", follow=True).content.decode()
    assert "the maximum of" in back and display.deleted(ada, editor).name == "Editor", "a deletion is undone only where there is room"


async def test_a_conversation_keeps_its_version_until_its_owner_takes_the_newest(
    ada: User, editor: str, backend: ScriptedBackend, settings: pytest_django.Settings
) -> None:
    say(settings, "Be kind.")
    await User.objects.filter(pk=ada.pk).aupdate(instructions="Be brief.")
    turn = await run(ada, ask(assistant=UUID(editor)))
    await database_sync_to_async(put)(editor, instructions="Answer in verse.")
    await run(ada, ask(text="And 3 + 3?", conversation=turn.conversation_id))
    here, client = f"/c/{turn.conversation_id}/", await database_sync_to_async(signed_in)(ada)
    page = (await database_sync_to_async(client.get)(here)).content.decode()
    assert "newer version" in page and LATIN not in page
    assert (await database_sync_to_async(client.post)(f"{here}assistant/")).status_code == 302
    await run(ada, ask(text="And 4 + 4?", conversation=turn.conversation_id))
    latin, verse = ([format_assistant_instructions(text), format_preferences("Be brief.")] for text in (LATIN, "Answer in verse."))
    assert sent_instructions(backend) == [["Be kind.", *latin], ["Be kind.", *latin], ["Be kind.", *verse]]
    page = (await database_sync_to_async(client.get)(here)).content.decode()
    assert "newer version" not in page and "assistant-mark" in page
    assert await AssistantVersion.objects.acount() == 2
    await database_sync_to_async(put)(editor, instructions="Answer in prose.")
    numbers = [number async for number in AssistantVersion.objects.order_by("number").values_list("number", flat=True)]
    assert numbers == [2, 3], "what no conversation has any more is removed"

    @database_sync_to_async
    def stored() -> str:
        row = Conversation.objects.get(pk=turn.conversation_id)
        return "".join(message.text for message in branch_of(row, ada))

    assert "verse" not in await stored(), "the transcript has none of them"


async def test_a_question_over_the_socket_begins_with_an_assistant_of_ones_own_alone(
    ada: User, bela: User, editor: str, backend: ScriptedBackend
) -> None:
    for person, expected in ((bela, "chatui:refused"), (ada, "chatui:accepted")):
        async with BrowserSocket(person) as socket:
            client_id = str(uuid4())
            await socket.send("send", client_id=client_id, conversation=None, text="Hi", effort="low", assistant=editor)
            *_, event = await socket.until(expected)
            assert event["client_id"] == client_id
            if person == ada:
                await socket.until(*ENDS)
    [row] = [row async for row in Conversation.objects.filter(began_with_assistant=True)]
    assert row.owner_id == ada.pk and sent_instructions(backend) == [[format_assistant_instructions(LATIN)]]


async def test_a_conversation_goes_on_without_a_deleted_assistant_and_says_so(ada: User, editor: str, backend: ScriptedBackend) -> None:
    turn = await run(ada, ask(assistant=UUID(editor)))
    client = await database_sync_to_async(signed_in)(ada)
    get, post = (database_sync_to_async(each) for each in (client.get, client.post))
    page = (await post(f"/assistants/{editor}/delete/", follow=True)).content.decode()
    assert "was deleted" in page and f"/assistants/{editor}/restore/" in page
    await run(ada, ask(text="And 3 + 3?", conversation=turn.conversation_id))
    assert "Without its assistant" in (await get(f"/c/{turn.conversation_id}/")).content.decode()
    assert "not available any more" in (await get(f"/c/{turn.conversation_id}/assistant/")).content.decode()
    assert (await post(f"/assistants/{editor}/restore/")).status_code == 302
    await run(ada, ask(text="And 4 + 4?", conversation=turn.conversation_id))
    one = [format_assistant_instructions(LATIN)]
    assert sent_instructions(backend) == [one, [], one]


def test_the_purge_erases_what_was_deleted_long_ago_and_conversations_still_say_so(ada: User, editor: str) -> None:
    row, client = begun(ada, editor), signed_in(ada)
    client.post(f"/assistants/{editor}/delete/")
    call_command("purge", "--days", "30")
    assert Assistant.objects.count() == 1
    Assistant.objects.update(deleted_at=timezone.now() - timedelta(days=31))
    call_command("purge", "--days", "30")
    assert not Assistant.objects.exists() and not AssistantVersion.objects.exists()
    assert "Without its assistant" in client.get(f"/c/{row.pk}/").content.decode()


def test_a_conversation_without_one_has_no_page_about_it(ada: User) -> None:
    row = Conversation.objects.create(owner=ada, title="Plain")
    client = signed_in(ada)
    assert [client.get(f"/c/{row.pk}/assistant/").status_code, client.post(f"/c/{row.pk}/assistant/").status_code] == [404, 404]
    assert "assistant-mark" not in client.get(f"/c/{row.pk}/").content.decode()


def test_the_archive_of_everything_has_them(ada: User, editor: str) -> None:
    response = signed_in(ada).get("/download/")
    archive = zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))  # type: ignore[attr-defined]
    [found] = json.loads(archive.read("assistants.json"))["assistants"]
    assert {name: found[name] for name in ("name", "description", "instructions", "starters", "effort")} == {
        "name": "Editor",
        "description": "Writes well.",
        "instructions": LATIN,
        "starters": ["Shorten this.", "What is wrong here?"],
        "effort": "high",
    }


def test_a_conversation_that_is_handed_over_goes_on_without_the_assistant_of_the_one_who_left(ada: User, bela: User, editor: str) -> None:
    row = begun(ada, editor)
    ownership_transfer.transfer(ada, bela, with_summaries=True)
    page = signed_in(bela).get(f"/c/{row.pk}/").content.decode()
    assert "Without its assistant" in page and "Editor" not in page
    with pytest.raises(NotFoundError):
        display.to_begin_with(bela, editor)


def test_a_model_that_is_not_offered_is_named_and_stays_when_something_else_is_changed(ada: User, editor: str) -> None:
    AssistantVersion.objects.update(choice="gone/model")
    client = signed_in(ada)
    page = client.get(f"/?assistant={editor}").content.decode()
    assert 'class="composer-gone"' in page and "data-linked" not in page
    form = client.get(f"/assistants/{editor}/").content.decode()
    assert "(not offered now)" in form
    put(editor, name="Another", choice="gone/model")
    assert AssistantVersion.objects.latest("number").choice == "gone/model"


def test_saving_what_is_already_there_makes_no_version(ada: User, editor: str) -> None:
    put(editor)
    assert AssistantVersion.objects.get().number == 1


def test_two_tabs_may_delete_and_restore_one_and_the_second_reads_that_it_is_done(ada: User, editor: str) -> None:
    client = signed_in(ada)
    for action, says in (("delete", "was deleted"), ("restore", "The assistant is back.")):
        pages = [client.post(f"/assistants/{editor}/{action}/", follow=True).content.decode() for _ in range(2)]
        assert [says in page for page in pages] == [True, True], action


@pytest.mark.parametrize(
    ("name", "initials"),
    [
        ("Text editor", "TE"),
        ("x\u030cyz lab", "X\u030cL"),
        ("👩🏽‍🔬 lab", "👩🏽‍🔬L"),
        ("🇰🇷", "🇰🇷"),
        ("क्षेत्र", "क्षे"),
        ("글쓰기 도우미", "글도"),
    ],
)
def test_the_initials_are_letters_as_people_see_them(ada: User, name: str, initials: str) -> None:
    made(signed_in(ada), name=name)
    assert [each.initials for each in display.listed(ada)] == [initials]


def tools_off(page: str) -> str | None:
    found = re.search(r'id="tools-menu"[^>]*data-off="([^"]*)"', page)
    return found[1] if found else None


def with_tools(client: Client, *names: str, **fields: object) -> str:
    answer = client.post("/assistants/new/", {**FORM, "choose_tools": "on", "tools": names, **fields})
    assert answer.status_code == 302, answer.content.decode()
    return str(Assistant.objects.latest("created_at").pk)


def test_a_conversation_begins_with_the_tools_of_its_assistant(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, "current_time", fetch)
    client = signed_in(ada)
    assert tools_off(client.get(f"/?assistant={made(client)}").content.decode()) is None, "the person's own choice counts otherwise"
    timed, nothing = with_tools(client, "current_time"), with_tools(client)
    assert tools_off(client.get(f"/?assistant={timed}").content.decode()) == "fetch"
    assert tools_off(client.get(f"/?assistant={nothing}").content.decode()) == "current_time,fetch"
    form = client.get(f"/assistants/{timed}/").content.decode()
    assert re.search(r'value="current_time"[^>]* checked', form) and not re.search(r'value="fetch"[^>]* checked', form)
    put(timed, choose_tools="on", tools="fetch")
    assert tools_off(client.get(f"/?assistant={timed}").content.decode()) == "current_time"
    refused = client.post(f"/assistants/{timed}/", {**FORM, "tools": "fetch"})
    assert refused.status_code == 400 and "or none of them" in refused.content.decode()
    assert client.post("/assistants/new/", {**FORM, "choose_tools": "on", "tools": "no_such_tool"}).status_code == 400
    archive = zipfile.ZipFile(io.BytesIO(b"".join(client.get("/download/")))).read("assistants.json")
    assert [each["tools"] for each in json.loads(archive)["assistants"]].count(["fetch"]) == 1


def test_a_tool_that_is_not_offered_any_more_is_named_and_left_out(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, "current_time", fetch)
    client = signed_in(ada)
    editor = with_tools(client, "current_time", "fetch")
    assert "of its tools" not in client.get(f"/?assistant={editor}").content.decode()
    offering.offer(monkeypatch, "current_time")
    page = client.get(f"/?assistant={editor}").content.decode()
    assert tools_off(page) == "" and "You are not offered these of its tools any more: <bdi>fetch</bdi>" in page
    assert "fetch (not offered now)" in client.get(f"/assistants/{editor}/").content.decode()
    put(editor, choose_tools="on", tools="fetch", name="Saved without losing it")
    assert display.text_of(ada, editor).tools == ["fetch"]


def test_an_assistant_lends_no_tool_and_names_none(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """What bela is not offered is off, however the request is made."""
    team, staff = Group.objects.create(name="team"), Group.objects.create(name="staff")
    bela.groups.add(team)
    ada.groups.add(staff)
    ada.user_permissions.set(Permission.objects.filter(codename="offer_assistants"))
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    offering.offer(monkeypatch, "current_time", fetch, tools={"current_time": (), "fetch": ("staff",)})
    editor = with_tools(signed_in(ada), "fetch", groups=[team.pk])
    page = signed_in(bela).get(f"/?assistant={editor}").content.decode()
    assert tools_off(page) == "current_time" and "You are not offered all of its tools." in page and "fetch" not in page
    assert tools_off(signed_in(ada).get(f"/?assistant={editor}").content.decode()) == "current_time"


def with_files(client: Client, *files: Collection, **fields: object) -> str:
    answer = client.post("/assistants/new/", {**FORM, "collections": [str(each.pk) for each in files], **fields})
    assert answer.status_code == 302, answer.content.decode()
    return str(Assistant.objects.latest("created_at").pk)


def files_of(editor: str) -> list[str]:
    row = Assistant.objects.get(pk=editor)
    return sorted(row.versions.get(number=row.newest).collections.values_list("name", flat=True))


def test_its_maker_chooses_its_files_among_their_own_collections(ada: User, bela: User) -> None:
    client = signed_in(ada)
    page = client.get("/assistants/new/").content.decode()
    assert 'name="collections"' not in page and "once you have a collection of them" in page, "the way to the first one"
    letters, rules = (Collection.objects.create(owner=ada, name=name) for name in ("Letters", "Rules"))
    of_folder = Collection.objects.create(owner=ada, folder=Folder.objects.create(owner=ada, name="Travel"))
    of_bela = Collection.objects.create(owner=bela, name="Bela's secret")
    page = client.get("/assistants/new/").content.decode()
    assert "Letters" in page and "Rules" in page and str(of_folder.pk) not in page and "Bela" not in page
    assert "once you have a collection of them" not in page
    for key in (of_folder.pk, of_bela.pk, uuid4(), "x.y", "9" * 400):
        refused = client.post("/assistants/new/", {**FORM, "collections": [str(letters.pk), str(key)]})
        assert refused.status_code == 400 and "Select a valid choice" in refused.content.decode()
        assert "Bela" not in refused.content.decode() and not Assistant.objects.exists()
    editor = with_files(client, letters, rules)
    row = begun(ada, editor)
    assert files_of(editor) == ["Letters", "Rules"]
    put(editor, collections=str(letters.pk))
    kept = Conversation.objects.get(pk=row.pk).assistant_version
    assert files_of(editor) == ["Letters"] and kept is not None and kept.collections.count() == 2
    put(editor, collections=str(letters.pk))
    assert AssistantVersion.objects.count() == 2, "saving what is already there makes no version"
    assert display.text_of(ada, editor).collections == [str(letters.pk)]


def test_an_assistant_has_at_most_as_many_files_as_a_conversation_asks(ada: User) -> None:
    rows = [Collection.objects.create(owner=ada, name=f"Number {number}") for number in range(6)]
    answer = signed_in(ada).post("/assistants/new/", {**FORM, "collections": [str(each.pk) for each in rows]})
    assert answer.status_code == 400 and "Please choose at most 5." in answer.content.decode() and not Assistant.objects.exists()
    with_files(signed_in(ada), *rows[:5])


def test_a_deleted_collection_stays_chosen_until_it_is_erased(ada: User) -> None:
    client, letters = signed_in(ada), Collection.objects.create(owner=ada, name="Letters")
    editor = with_files(client, letters)
    client.post(f"/collections/{letters.pk}/delete/")
    assert "Letters (deleted)" in client.get(f"/assistants/{editor}/").content.decode()
    assert "Letters" not in client.get("/assistants/new/").content.decode()
    assert "Not all of its documents are available to you." in client.get(f"/?assistant={editor}").content.decode()
    assert archived(client)["collections"] == []
    put(editor, name="Saved without losing it", collections=str(letters.pk))
    client.post(f"/collections/{letters.pk}/restore/")
    assert files_of(editor) == ["Letters"] and archived(client)["collections"] == ["Letters"]
    assert "available to you" not in client.get(f"/?assistant={editor}").content.decode()
    client.post(f"/collections/{letters.pk}/delete/")
    Collection.objects.update(deleted_at=timezone.now() - timedelta(days=400))
    call_command("purge")
    assert files_of(editor) == [] and "Letters" not in client.get(f"/assistants/{editor}/").content.decode()


def archived(client: Client) -> dict[str, object]:
    archive = zipfile.ZipFile(io.BytesIO(b"".join(client.get("/download/"))))
    [found] = json.loads(archive.read("assistants.json"))["assistants"]
    return dict(found)


def test_an_erased_maker_leaves_nothing_of_its_files(ada: User) -> None:
    editor = with_files(signed_in(ada), Collection.objects.create(owner=ada, name="Letters"))
    assert files_of(editor) == ["Letters"], "the premise"
    call_command("erase_person", "ada", "--yes")
    assert not AssistantVersion.collections.through.objects.exists() and not Collection.objects.exists()
