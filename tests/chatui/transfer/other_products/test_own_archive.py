"""What “Download everything” makes is imported as it is: with versions, dates, places and folders, and nothing that was hidden. Assistants
and saved prompts of an archive come as if they had been written into the forms.
"""

import io
import json
import zipfile
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile

from chatui.display import assistants, saved_prompts
from chatui.display.assistants import AssistantText
from chatui.display.saved_prompts import PromptText
from chatui.model_servers import choice
from chatui.model_servers.choice import choices_for
from chatui.models.assistants import Assistant, AssistantPicture, AssistantVersion
from chatui.models.collections import Collection
from chatui.models.conversation import Conversation, Folder
from chatui.models.message import Author, Message
from chatui.models.user import User
from chatui.pictures import only_pixels
from chatui.store import transcripts
from renderer.frame_kinds import SUMMARY
from renderer.frames import Frame, Header
from tests.chatui.conftest import signed_in
from tests.chatui.store.pictures import png
from tests.chatui.transfer.other_products.samples import as_json, as_zip
from tests.chatui.turns.calls.calling import fetch
from tests.support import offering
from tests.support.messages import add_message, open_branch

pytestmark = pytest.mark.django_db

BEGAN = datetime(2025, 3, 4, 5, 6, tzinfo=UTC)
QUESTION, FINAL = Header("user"), Header("assistant", channel="final")


def say(row: Conversation, parent: Message | None, text: str, header: Header) -> Message:
    message = add_message(row, parent, Frame(header, text), Author.MODEL)
    Message.objects.filter(pk=message.pk).update(created_at=BEGAN)
    return message


def archive_of(person: User) -> bytes:
    return b"".join(signed_in(person).get("/download/").streaming_content)  # type: ignore[attr-defined]


def upload(person: User, data: bytes, **more: str) -> str:
    response = signed_in(person).post("/import/", {"file": SimpleUploadedFile("all.zip", data), **more})
    return str(response.content.decode())


def told(row: Conversation) -> list[tuple[str, int | None]]:
    """The texts of a conversation's visible messages, each with the place of the one above it."""
    rows = list(row.messages.order_by("position"))
    places: dict[object, int] = {message.pk: place for place, message in enumerate(rows)}
    visible = (message for message in rows if message.is_visible)
    return [(transcripts.frame_of(message).body, places.get(message.parent_id)) for message in visible]


def test_an_archive_is_imported_by_somebody_else_with_versions_dates_places_and_folders(ada: User, bela: User) -> None:
    folder = Folder.objects.create(owner=ada, name="Work")
    row = Conversation.objects.create(owner=ada, title="Tea & coffee", folder=folder, is_pinned=True)
    question = say(row, None, "Why?", QUESTION)
    thought = say(row, question, "SECRET thought", Header("assistant", channel="analysis"))
    first = say(row, thought, "Because.", FINAL)
    say(row, question, "For another reason.", FINAL)
    open_branch(row, ada, first)
    Conversation.objects.filter(pk=row.pk).update(created_at=BEGAN, active_at=BEGAN)
    old = Conversation.objects.create(owner=ada, title="Old", archived_at=BEGAN)
    open_branch(old, ada, say(old, None, "Archived?", QUESTION))
    gone = Conversation.objects.create(owner=ada, title="Gone", deleted_at=BEGAN)
    say(gone, None, "Deleted", QUESTION)
    data = archive_of(ada)

    page = upload(bela, data)
    assert "2 conversations" in page
    assert "2 other data files of the archive were not read." in page, "the account, and what is in the bin; the folders were read"
    copy = Conversation.objects.get(owner=bela, title="Tea & coffee")
    assert told(copy) == [("Why?", None), ("Because.", 0), ("For another reason.", 0)]
    assert transcripts.frame_of(copy.active_leaves.get(person=bela).message).body == "Because."
    assert (copy.created_at, copy.active_at, copy.is_pinned) == (BEGAN, BEGAN, True)
    assert copy.folder is not None and (copy.folder.owner, copy.folder.name) == (bela, "Work")
    assert copy.imported_at is not None and copy.imported_from == ""
    assert Conversation.objects.get(owner=bela, title="Old").archived_at is not None
    assert not Conversation.objects.filter(owner=bela, title="Gone").exists() and Conversation.objects.filter(owner=bela).count() == 2
    assert "SECRET" not in page and not Message.objects.filter(conversation__owner=bela, text__contains="SECRET").exists()

    assert "2 conversations were skipped, because they were already imported." in upload(bela, data)
    assert Conversation.objects.filter(owner=bela).count() == 2


def document(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"title": "Talk", "created_at": None, "active_at": None, "archived_at": None, "messages": list(messages), "open": None} | more


def archive(*documents: dict[str, Any]) -> bytes:
    files = {f"talk{number}___versions__json": as_json(each) for number, each in enumerate(documents)}
    return as_zip(talk0__ocml=b"x", **files)


SAID = {"id": "a", "parent": None, "role": "user", "content": "Hello"}
UNDER = {"parent": "a", "role": "assistant"}


@pytest.mark.parametrize(
    "message",
    [
        {"channel": "analysis", "content": "SECRET"},
        {"channel": "commentary", "content": "SECRET"},
        {"channel": "final", "thinking": "SECRET", "content": "Shown"},
        {"channel": "final", "to": "functions.x", "content": "SECRET"},
        {"channel": "unheard of", "content": "SECRET"},
        {"channel": "final", "content": "SECRET", "unknown": 1},
        {"channel": ["final"], "content": "SECRET"},
        {"role": "system", "content": "SECRET"},
        {"role": "tool", "name": "x", "content": "SECRET"},
        {"tool_call": {"name": "x", "arguments": {"a": "SECRET"}}},
        {"channel": "final", "content": {"a": "SECRET"}},
    ],
    ids=str,
)
def test_what_a_forged_archive_labels_as_hidden_or_as_nothing_known_is_hidden(message: dict[str, Any], ada: User) -> None:
    page = upload(ada, archive(document(SAID, UNDER | {"id": "b"} | message)))
    row = Conversation.objects.get()
    assert Message.objects.filter(text__contains="SECRET").exists(), "the premise: it is stored, for staff"
    assert not row.messages.filter(text__contains="SECRET", is_visible=True).exists()
    client = signed_in(ada)
    pages = [page, client.get(f"/c/{row.pk}/").content.decode(), b"".join(client.get(f"/c/{row.pk}/download/")).decode()]
    assert all("Hello" in each for each in pages[1:]) and "SECRET" not in "".join(pages)


def test_a_summary_of_ours_is_one_again_and_a_forged_one_is_a_note(ada: User) -> None:
    summary = {"role": "assistant", "channel": SUMMARY.channel, "name": SUMMARY.name, "intent": SUMMARY.intent}
    ours = UNDER | summary | {"id": "b", "content": "- Collecting the main points"}
    forged = UNDER | summary | {"id": "c", "content": "- I think that the user is wrong"}
    upload(ada, archive(document(SAID, ours, UNDER | {"id": "d", "parent": "b", "channel": "final", "content": "Yes"}, forged)))
    [real, note] = Message.objects.filter(name=SUMMARY.name).order_by("position")
    assert (real.is_imported_note, note.is_imported_note) == (False, True)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (document(), "contains no message that you may see"),
        (document({"content": "no role"}), "contains no message that you may see"),
        (document(7), "contains no message that you may see"),  # type: ignore[arg-type]
        ({"messages": 3}, "could not be read"),
        (document(SAID | {"parent": "a"}), "contains no message that you may see"),
    ],
    ids=["empty", "role", "number", "other", "circle"],
)
def test_a_damaged_conversation_of_an_archive_is_counted_and_the_others_are_imported(
    changed: dict[str, Any], sentence: str, ada: User
) -> None:
    page = upload(ada, archive(changed, document(SAID)))
    assert Conversation.objects.count() == 1 and sentence in page


def test_files_of_a_conversation_are_counted_and_what_is_only_in_the_bin_is_said(ada: User) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("talk.ocml", "x")
        made.writestr("talk-versions.json", json.dumps(document(SAID)))
        made.writestr("talk/picture.png", b"x")
        made.writestr("collections/1/rules.txt", b"x")
        made.writestr("folders.json", "{")
    assert "1 attached file was left out." in upload(ada, buffer.getvalue())
    refused = upload(ada, as_zip(**{"bin/talk__ocml": b"x", "bin/talk___versions__json": as_json(document(SAID))}))
    assert "the archive has no conversation outside the bin" in refused


RED = only_pixels(png(2, 2, b"\xff\0\0"))


def own(person: User) -> list[AssistantText]:
    return sorted(assistants.own_texts(person), key=lambda each: each.name)


def test_assistants_and_prompts_of_an_archive_become_those_of_whoever_imports_it(
    ada: User, bela: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, "current_time", fetch)
    model = choices_for(ada)[0].exact
    text = AssistantText("Editor", "ED", "Shortens.", "Answer in Latin.\n\nBriefly.", model, "high", "Why?\nHow?", ["fetch"])
    made = assistants.add(ada, text, RED)
    assert made is not None
    made.groups.add(Group.objects.create(name="writers"))
    made.versions.get().collections.add(Collection.objects.create(owner=ada, name="Rules"))
    assistants.add(ada, AssistantText("Plain"))
    saved_prompts.add(ada, [PromptText("Tea", "Make tea."), PromptText("Kettle", "Boil {{what}}.")])
    saved_prompts.add(bela, [PromptText("tea", "Another tea.")])
    data = archive_of(ada)

    new = ("2 new assistants", "2 new saved prompts", "1 collection of documents of an assistant is left out.")
    seen = upload(bela, data, look="1")
    assert all(words in seen for words in new) and not own(bela) and len(saved_prompts.own_texts(bela)) == 1, "a look stores nothing"
    page = upload(bela, data)
    assert all(words in page for words in new) and 'href="/assistants/"' in page and 'href="/prompts/"' in page
    assert "Nothing new" not in page and "2 other data files of the archive were not read." in page, "the account and the collections"
    assert own(bela) == own(ada) and own(bela)[0] == text
    copies = Assistant.objects.filter(owner=bela)
    assert not copies.filter(groups__isnull=False).exists() and not copies.filter(versions__collections__isnull=False).exists()
    assert [bytes(each.data) for each in AssistantPicture.objects.filter(assistant__owner=bela)] == [RED]
    assert [(each.name, each.text) for each in saved_prompts.own_texts(bela)] == [
        ("tea", "Another tea."),
        ("Tea (2)", "Make tea."),
        ("Kettle", "Boil {{what}}."),
    ]

    again = upload(bela, data)
    assert "Nothing new was imported." in again and len(own(bela)) == 2 and len(saved_prompts.own_texts(bela)) == 3
    assert "2 assistants are left out, because you have them already." in again
    assert "2 prompts are left out, because you have them already." in again


def lists(*made: Any, prompts: Any = (), **files: bytes) -> bytes:
    """An archive with these assistants and prompts, and no conversation."""
    own_files = {"READ___ME__txt": b"x", "account__json": b"{}", "prompts__json": as_json({"prompts": prompts})}
    return as_zip(assistants__json=as_json({"assistants": made}), **own_files, **files)


GOOD = {"name": "Good"}


@pytest.mark.parametrize(
    "bad",
    [
        7,
        None,
        [["Good"]],
        {},
        {"name": 10**400},
        {"name": ["Good"]},
        {"name": " \u200b\u3164\n"},
        {"name": "x" * 61},
        {"name": "x" * 3_000_000},
        {"name": "A\0B"},
        GOOD | {"initials": "x" * 9},
        GOOD | {"description": "x" * 161},
        GOOD | {"instructions": "x" * 8_001},
        GOOD | {"instructions": {"a": "b"}},
        GOOD | {"instructions": None},
        GOOD | {"choice": 1},
        GOOD | {"effort": True},
        GOOD | {"starters": "Why?"},
        GOOD | {"starters": ["x" * 201]},
        GOOD | {"starters": ["\u200b" * 1_000_000]},
        GOOD | {"starters": ["x\nx"] * 4},
        GOOD | {"starters": [1e308]},
        GOOD | {"tools": "fetch"},
        GOOD | {"tools": [["fetch"]]},
    ],
    ids=lambda bad: str(bad)[:40],
)
def test_an_assistant_that_no_form_would_take_is_left_out_and_the_others_are_imported(bad: Any, ada: User) -> None:
    page = upload(ada, lists({"name": "First"}, bad, {"name": "Last"}))
    assert "2 new assistants" in page and [each.name for each in own(ada)] == ["First", "Last"]
    assert "1 assistant is left out, because it cannot be read or is longer than allowed." in page


def test_two_assistants_with_the_same_texts_stay_two_and_are_recognized_as_two(ada: User) -> None:
    upload(ada, lists(GOOD))
    for _ in range(2):
        upload(ada, lists(GOOD, GOOD | {"effort": "low"}))
        assert sorted(text.effort for text in own(ada)) == ["", "low"]


def test_what_is_written_into_an_assistant_of_an_archive_is_cleaned_as_in_the_form_and_is_no_markup(ada: User) -> None:
    name, lines = "<b>Two</b>\r\nlines\u202e\ud800\x07", "<script>\x1b[2J</script>\r\nTwo \ud800\n"
    upload(ada, lists({"name": name, "description": name, "instructions": lines, "starters": [lines], "groups": ["x"], "id": "1"}))
    [text] = own(ada)
    assert (text.name, text.description, text.instructions) == ("<b>Two</b> lines",) * 2 + ("<script>[2J</script>\nTwo",)
    assert text.starters == "<script>[2J</script>\nTwo"
    client = signed_in(ada)
    pages = [client.get(address).content.decode() for address in ("/assistants/", "/", f"/?assistant={Assistant.objects.get().pk}")]
    assert all("&lt;b&gt;Two&lt;/b&gt; lines" in page and "<b>Two" not in page and "<script>[" not in page for page in pages)


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ({"choice": "nowhere/nothing"}, 1),
        ({"effort": "utmost"}, 1),
        ({"tools": ["current_time", "of_nobody", "of_nobody", "fetch"]}, 2),
        ({"choice": "x" * 1_000, "effort": "x" * 1_000, "tools": ["fetch"]}, 3),
    ],
)
def test_a_model_effort_or_tool_that_is_not_offered_is_left_out_of_an_assistant(
    given: dict[str, Any], number: int, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, "current_time", fetch, tools={"current_time": (), "fetch": ("staff",)})
    page = upload(ada, lists(GOOD | given))
    [text] = own(ada)
    kept = [name for name in given.get("tools", ()) if name == "current_time"]
    assert (text.choice, text.effort, text.tools) == ("", "", kept if "tools" in given else None)
    assert f"{number} model" in page and "not offered to you here." in page


@pytest.mark.parametrize("name", ["\ud800", "x" * 300, "a\u202e\x1b[2J\nB"])
def test_a_model_that_no_server_can_have_is_left_out_also_where_the_models_are_not_known(
    name: str, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = choice.ModelChoice("srv", "Server", "", is_demo=False)
    monkeypatch.setattr(choice, "choices_for", lambda person: [unknown])
    page = upload(ada, lists(GOOD | {"choice": f"srv/{name}"}, {"name": "Other", "choice": "srv/gpt-oss"}))
    assert sorted(text.choice for text in own(ada)) == ["", "srv/gpt-oss"] and "1 model" in page


@pytest.mark.parametrize(
    "picture",
    [b"", b"<svg/>", png(129, 1), RED + b"more", RED[:-1], b"\x89PNG\r\n\x1a\n" + b"\0" * 30_000_000, None],
    ids=["empty", "svg", "large", "more", "cut", "long", "missing"],
)
def test_a_picture_that_no_form_would_take_is_left_out_of_an_assistant(picture: bytes | None, ada: User) -> None:
    files = {} if picture is None else {"assistants/a__png": picture}
    page = upload(ada, lists(GOOD | {"picture": "assistants/a.png"}, {"name": "Odd", "picture": {"a": 1}}, **files))
    assert "2 new assistants" in page and "2 pictures of assistants are left out" in page and not AssistantPicture.objects.exists()


def test_an_archive_brings_no_more_than_a_person_may_make(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assistants, "MAX_ASSISTANTS", 2)
    saved_prompts.add(ada, [PromptText(f"Own {number}", "x") for number in range(199)])
    assistants.add(ada, AssistantText("Own"))
    prompts = [{"name": f"New {number}", "text": "x"} for number in range(300)]
    page = upload(ada, lists({"name": "Own"}, *({"name": f"New {number}"} for number in range(5)), prompts=prompts))
    assert [each.name for each in own(ada)] == ["New 0", "Own"] and len(saved_prompts.own_texts(ada)) == 200
    assert "4 assistants are left out, because you have the maximum." in page
    assert "299 prompts are left out, because you have the maximum." in page
    page = upload(ada, lists(*[GOOD] * 3_000, prompts=prompts * 10))
    assert "400 assistants are left out, because you have the maximum." in page
    assert "2600 assistants are left out, because they cannot be read" in page, "no archive of ours has as many"
    assert "2600 prompts are left out, because they cannot be read" in page


@pytest.mark.parametrize(
    "bad",
    [7, {}, {"name": "x"}, {"name": "x", "text": 10**400}, {"name": "x" * 61, "text": "x"}, {"name": "x", "text": "x" * 8_001}],
    ids=lambda bad: str(bad)[:40],
)
def test_a_prompt_that_no_form_would_take_is_left_out_and_the_others_are_imported(bad: Any, ada: User) -> None:
    page = upload(ada, lists(prompts=[{"name": "<i>Tea</i>\x07", "text": "Tea\ud800"}, bad, {"name": "Last", "text": "x"}]))
    assert [(each.name, each.text) for each in saved_prompts.own_texts(ada)] == [("<i>Tea</i>", "Tea"), ("Last", "x")]
    assert "1 prompt is left out, because it cannot be read or is longer than allowed." in page
    assert "<i>Tea" not in signed_in(ada).get("/prompts/").content.decode()


@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b"[]",
        b"7",
        b'{"assistants": {"name": "x"}}',
        b'{"assistants": ' + b"[" * 90_000,
        b'{"assistants": [' + b"0," * 100_001 + b"0]}",
    ],
    ids=["cut", "list", "number", "object", "deep", "many"],
)
def test_a_list_of_assistants_that_cannot_be_read_is_counted_and_the_rest_of_the_archive_is_imported(broken: bytes, ada: User) -> None:
    prompts = as_json({"prompts": [{"name": "Tea", "text": "x"}]})
    page = upload(
        ada, as_zip(talk__ocml=b"x", talk___versions__json=as_json(document(SAID)), assistants__json=broken, prompts__json=prompts)
    )
    assert "1 conversation was imported." in page and "1 new saved prompt" in page and not AssistantVersion.objects.exists()
    assert "1 other data file of the archive was not read." in page


def test_a_file_whose_place_in_the_archive_cannot_be_is_left_out_and_the_rest_is_imported(ada: User) -> None:
    whole = io.BytesIO(lists(GOOD | {"picture": "assistants/a.png"}, **{"assistants/a__png": RED}))
    with zipfile.ZipFile(whole, "a") as archive:
        archive.getinfo("assistants/a.png").header_offset = 2**63 + 5
        archive.comment = b"written anew"
    page = upload(ada, whole.getvalue())
    assert "1 new assistant" in page and "1 picture of an assistant is left out" in page
