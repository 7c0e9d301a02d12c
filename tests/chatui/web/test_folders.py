"""Folders: permissions, where their conversations are listed, notifications, and the effect of deletion."""

import json
import re
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.test import Client
from django.utils import timezone

from chatui.display import conversation_list, own_data
from chatui.display import folders as display_folders
from chatui.display.conversation_list import shown_list
from chatui.display.folders import INSTRUCTION_CHARS, MAX_FOLDERS, shown_folders
from chatui.limits import Throttle
from chatui.models.conversation import Conversation, Folder
from chatui.models.user import User
from chatui.transfer import exports
from renderer.gate import Audience
from tests.chatui.conftest import signed_in
from tests.chatui.store.long_conversations import long_conversation
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.scripted import ScriptedBackend

pytestmark = pytest.mark.django_db(transaction=True)

JSON = {"accept": "application/json"}


@pytest.fixture
def work(ada: User) -> Folder:
    return Folder.objects.create(owner=ada, name="Work", instructions="Answer in Latin.")


def listed_places(person: User) -> dict[str, list[str]]:
    """The titles in the list, in each folder by its name, and in the archive."""
    found = {"list": [link.title for link in shown_list(person).conversations]}
    for folder in Folder.objects.filter(owner=person):
        found[folder.name] = [link.title for link in shown_list(person, folder=folder.pk).conversations]
    return found | {"archive": [each.title for each in conversation_list.shown_archive(person).conversations]}


def test_a_conversation_is_listed_in_one_place_with_folders(ada: User, work: Folder) -> None:
    rows = {title: Conversation.objects.create(owner=ada, title=title) for title in "AB"}
    client = signed_in(ada)
    for action, data, expected in (
        ("move", {"folder": str(work.pk)}, (["B"], ["A"], [])),
        ("put", {"place": "pinned"}, (["B"], ["A"], [])),
        ("put", {"place": "archive"}, (["B"], [], ["A"])),
        ("put", {"place": "list"}, (["B"], ["A"], [])),
        ("put", {"place": "archive"}, (["B"], [], ["A"])),
        ("move", {"folder": str(work.pk)}, (["B"], ["A"], [])),
        ("delete", {}, (["B"], [], [])),
        ("restore", {}, (["B"], ["A"], [])),
        ("move", {"folder": ""}, (["B", "A"], [], [])),
    ):
        assert client.post(f"/c/{rows['A'].pk}/{action}/", data).status_code == 302
        assert listed_places(ada) == dict(zip(("list", "Work", "archive"), expected, strict=True)), (action, data)
    client.post(f"/c/{rows['A'].pk}/put/", {"place": "pinned"})
    client.post(f"/c/{rows['A'].pk}/move/", {"folder": str(work.pk)})
    assert not Conversation.objects.get(title="A").is_pinned, "it was pinned in the list, which it has left"


def test_a_pinned_conversation_is_at_the_top_of_its_folder(ada: User, work: Folder) -> None:
    rows = [Conversation.objects.create(owner=ada, title=title, folder=work) for title in "AB"]
    assert listed_places(ada)["Work"] == ["B", "A"]
    signed_in(ada).post(f"/c/{rows[0].pk}/put/", {"place": "pinned"})
    assert listed_places(ada) == {"list": [], "Work": ["A", "B"], "archive": []}


def test_another_persons_folder_is_not_found(ada: User, bela: User, work: Folder) -> None:
    row = Conversation.objects.create(owner=ada, title="A", folder=work)
    own = Conversation.objects.create(owner=bela, title="B")
    client, nothing = signed_in(bela), uuid4()
    for key in (work.pk, nothing):
        for path in (f"/folders/{key}/", f"/folders/{key}/delete/", f"/?folder={key}", f"/conversations/?folder={key}"):
            assert client.get(path).status_code == 404, path
        assert client.post(f"/folders/{key}/", {"name": "Mine", "instructions": "Mine"}).status_code == 404
        assert client.post(f"/folders/{key}/delete/").status_code == 404
    assert client.post(f"/c/{own.pk}/move/", {"folder": work.pk}).status_code == 404
    assert client.post(f"/c/{row.pk}/move/", {"folder": ""}).status_code == 404
    assert client.post("/folders/new/", {"name": "Mine", "conversation": row.pk}).status_code == 404
    pages = b"".join(client.get(path).content for path in ("/", f"/c/{own.pk}/", f"/c/{own.pk}/move/", "/folders/new/"))
    assert str(work.pk).encode() not in pages and b"Latin" not in pages
    work.refresh_from_db()
    assert (work.name, work.instructions) == ("Work", "Answer in Latin.") and not Folder.objects.filter(owner=bela).exists()


def test_the_folders_of_own_conversations_are_told_and_of_nothing_else(ada: User, bela: User, work: Folder) -> None:
    inside, outside = (Conversation.objects.create(owner=ada, title=title, folder=folder) for title, folder in (("A", work), ("B", None)))
    gone = Conversation.objects.create(owner=ada, title="C", folder=work, archived_at=timezone.now())
    asked = ",".join(map(str, (inside.pk, outside.pk, gone.pk, uuid4(), "x", "")))
    assert signed_in(ada).get(f"/folders/of/?conversations={asked}").json() == {str(inside.pk): str(work.pk)}
    assert signed_in(bela).get(f"/folders/of/?conversations={asked}").json() == {}
    many = ",".join(str(uuid4()) for _ in range(100)) + f",{inside.pk}"
    assert signed_in(ada).get(f"/folders/of/?conversations={many}").json() == {}, "more than is asked at once"


def test_a_folder_is_created_changed_and_deleted_with_plain_forms(ada: User) -> None:
    row = Conversation.objects.create(owner=ada, title="A")
    client = signed_in(ada)
    response = client.post("/folders/new/", {"name": "  Work \n at home ", "instructions": "Be brief.\r\n\r\nUse Latin.\x07 "})
    folder = Folder.objects.get()
    assert response["Location"] == f"/?folder={folder.pk}"
    assert (folder.name, folder.instructions) == ("Work at home", "Be brief.\n\nUse Latin.")
    assert "Use Latin." in client.get(f"/folders/{folder.pk}/").content.decode()
    client.post(f"/folders/{folder.pk}/", {"name": "Home", "instructions": ""})
    folder.refresh_from_db()
    assert (folder.name, folder.instructions) == ("Home", "")
    client.post(f"/c/{row.pk}/move/", {"folder": folder.pk})
    assert "go back to your list" in client.get(f"/folders/{folder.pk}/delete/").content.decode()
    client.post(f"/folders/{folder.pk}/delete/")
    assert listed_places(ada) == {"list": ["A"], "archive": []}


def test_deleting_a_folder_keeps_its_conversations(ada: User, work: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_folders, "BATCH_SIZE", 2)
    now = timezone.now()
    for number in range(5):
        Conversation.objects.create(owner=ada, title=f"Talk {number}", folder=work)
    Conversation.objects.create(owner=ada, title="PooledProgram", folder=work, archived_at=now)
    Conversation.objects.create(owner=ada, title="Thrown", folder=work, deleted_at=now)
    signed_in(ada).post(f"/folders/{work.pk}/delete/")
    assert listed_places(ada) == {"list": [f"Talk {number}" for number in range(4, -1, -1)], "archive": ["PooledProgram"]}
    assert [each.title for each in conversation_list.shown_bin(ada).conversations] == ["Thrown"]


def test_instructions_may_have_the_stated_length_with_browser_line_breaks(ada: User) -> None:
    lines = "\n".join(["x" * 39] * 100)
    assert len(lines) == INSTRUCTION_CHARS - 1
    assert signed_in(ada).post("/folders/new/", {"name": "Work", "instructions": lines.replace("\n", "\r\n")}).status_code == 302
    assert Folder.objects.get().instructions == lines


def test_the_number_of_folders_is_limited(ada: User, bela: User) -> None:
    row = Conversation.objects.create(owner=ada, title="A")
    Folder.objects.bulk_create(Folder(owner=ada, name=f"Folder {number}") for number in range(MAX_FOLDERS))
    client = signed_in(ada)
    answer = client.post("/folders/new/", {"name": "One more"})
    assert answer.status_code == 400 and f"You have the maximum of {MAX_FOLDERS} folders" in answer.content.decode()
    assert 'id="move-name"' not in client.get(f"/c/{row.pk}/move/").content.decode()
    assert signed_in(bela).post("/folders/new/", {"name": "The first"}).status_code == 302
    assert Folder.objects.filter(owner=ada).count() == MAX_FOLDERS


def test_folder_changes_are_rate_limited(ada: User, work: Folder) -> None:
    client = signed_in(ada)
    assert Throttle("folder", attempts=120, seconds=60).take(117, str(ada.pk)) == 0
    statuses = [client.post(f"/folders/{work.pk}/", {"name": f"Work {number}"}).status_code for number in range(4)]
    assert statuses == [302] * 3 + [429]


def test_folders_are_sorted_by_name_and_mark_new_answers(ada: User, work: Folder) -> None:
    for name in ("alpha", "Österreich", "Zoo", "Beta"):
        Folder.objects.create(owner=ada, name=name)
    Conversation.objects.create(owner=ada, title="A", folder=work, has_news=True)
    listed, _ = shown_folders(ada, None)
    assert [folder.name for folder in listed] == ["alpha", "Beta", "Work", "Zoo", "Österreich"]
    assert [folder.name for folder in listed if folder.has_news] == ["Work"]


def visible(client: Client, path: str) -> str:
    """A page without the templates for scripts."""
    return re.sub(r"(?s)<template.*?</template>", "", client.get(path).content.decode())


def test_the_page_opens_only_its_own_folder(ada: User, work: Folder) -> None:
    play = Folder.objects.create(owner=ada, name="Play")
    inside, elsewhere, free = (
        Conversation.objects.create(owner=ada, title=title, folder=folder)
        for title, folder in (("Inside", work), ("Elsewhere", play), ("Free", None))
    )
    client = signed_in(ada)
    page = visible(client, f"/c/{inside.pk}/")
    assert str(elsewhere.pk) not in page and str(free.pk) in page and page.count(" open>") == 1
    assert 'data-folder="' + str(work.pk) in page and "Answer in Latin." not in page
    page = visible(client, f"/?folder={play.pk}")
    assert str(elsewhere.pk) in page and str(inside.pk) not in page
    assert str(inside.pk) not in visible(client, f"/c/{free.pk}/")


def test_without_scripts_links_page_through_a_folder(ada: User, work: Folder) -> None:
    rows = [Conversation(owner=ada, title=f"Talk {number}", folder=work) for number in range(63)]
    Conversation.objects.bulk_create(rows)
    client = signed_in(ada)
    assert f'href="/?folder={work.pk}"' in visible(client, "/")
    page = visible(client, f"/?folder={work.pk}")
    (more,) = re.findall(r'href="(/\?folder=[^"]+list=[^"]+)"', page)
    rest = visible(client, more.replace("&amp;", "&"))
    shown = [set(re.findall(r'data-conversation="([^"]+)"', each)) for each in (page, rest)]
    assert [len(each) for each in shown] == [60, 3] and shown[0] | shown[1] == {str(row.pk) for row in rows}
    (fragment,) = re.findall(r'data-fragment="([^"]+list=[^"]+)"', page)
    assert set(re.findall(r'data-conversation="([^"]+)"', client.get(fragment.replace("&amp;", "&")).content.decode())) == shown[1]


def test_instructions_are_not_exported_or_shared(ada: User, work: Folder, client: Client) -> None:
    row = long_conversation(ada, 4, "carrot")
    own_data.move(ada, [row.pk], str(work.pk))
    row.refresh_from_db()
    for audience in Audience:
        for file_format in exports.DownloadFormat:
            text = exports.transcript(row, ada, audience, file_format)
            assert "carrot" in text and "Latin" not in text
    link = row.share_links.first()
    assert link is not None
    page = client.get(f"/s/{link.token}/")
    assert page.status_code == 200 and b"Latin" not in page.content and b"Work" not in page.content


def test_an_export_of_everything_has_the_persons_own_folders(ada: User, bela: User, work: Folder) -> None:
    row = Conversation.objects.create(owner=ada, title="A", folder=work)
    Conversation.objects.create(owner=ada, title="B")
    Folder.objects.create(owner=bela, name="Hers")
    *_, (name, text), _account = exports.all_files(ada)
    description = {"name": "Work", "instructions": "Answer in Latin.", "conversations": [f"{row.created_at:%Y-%m-%d}-a-{row.pk.hex[-8:]}"]}
    assert (name, json.loads(str(text))) == ("folders.json", {"folders": [description]})
    Folder.objects.all().delete()
    assert "folders.json" not in [name for name, _ in exports.all_files(ada)]


async def test_every_page_is_notified_of_folder_changes(ada: User, bela: User, backend: ScriptedBackend) -> None:
    client = await database_sync_to_async(signed_in)(ada)

    async def post(path: str, data: dict[str, object] | None = None) -> int:
        return (await database_sync_to_async(client.post)(path, data or {}, headers=JSON)).status_code

    async with BrowserSocket(ada) as socket, BrowserSocket(ada) as aside, BrowserSocket(bela) as stranger:
        await post("/folders/new/", {"name": "Work", "instructions": "Answer in Latin."})
        work = await Folder.objects.aget()
        assert await aside.next() == {"type": "chatui:folder", "folder": str(work.pk), "name": "Work", "before": ""}
        await post("/folders/new/", {"name": "Beta"})
        beta = await Folder.objects.aget(name="Beta")
        assert (await aside.next())["before"] == str(work.pk)
        await socket.send_message(folder=str(work.pk))
        accepted = (await socket.until("chatui:accepted"))[-1]
        listed = (await aside.until("chatui:listed"))[-1]
        assert (listed["conversation"], listed["folder"]) == (accepted["conversation"], str(work.pk))
        await socket.until(*ENDS)
        await aside.until("chatui:answered")
        assert await post(f"{accepted['url']}move/", {"folder": ""}) == 200
        assert (await aside.next())["folder"] == ""
        assert await post("/folders/new/", {"name": "Zoo", "conversation": accepted["conversation"]}) == 200
        zoo = await Folder.objects.aget(name="Zoo")
        assert (await aside.next())["type"] == "chatui:folder" and (await aside.next())["folder"] == str(zoo.pk)
        await post(f"/folders/{zoo.pk}/", {"name": "Animals"})
        renamed = {"type": "chatui:folder", "folder": str(zoo.pk), "name": "Animals", "before": str(beta.pk)}
        assert await aside.next() == renamed, "it is elsewhere now"
        await post(f"/folders/{zoo.pk}/delete/")
        assert await aside.next() == {"type": "chatui:folder.gone", "folder": str(zoo.pk)}
        assert await stranger.silence() == []
    assert "Latin" not in "".join(socket.raw + aside.raw), "nobody needs the instructions but the page on which they are written"


async def test_nobody_starts_a_conversation_in_somebody_elses_folder(ada: User, bela: User, work: Folder, backend: ScriptedBackend) -> None:
    async with BrowserSocket(bela) as socket:
        for folder in (str(work.pk), str(uuid4()), "x"):
            await socket.send_message(folder=folder)
            refused = (await socket.until("chatui:refused"))[-1]
            assert refused["code"] == "E-X-NOT-FOUND"
    assert not await Conversation.objects.filter(owner=bela).aexists() and not backend.requests
