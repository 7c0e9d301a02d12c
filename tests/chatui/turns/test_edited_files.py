"""Editing a question with files: the new version has exactly the files its author leaves and adds, and the old one keeps its own."""

from __future__ import annotations

from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui import wire
from chatui.live.commands import Caller, _ask_of
from chatui.models.files import SentDocument, StoredFile
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.store import documents
from chatui.turns.asks import Ask, AskKind, QuestionFile
from tests.chatui.conftest import signed_in
from tests.chatui.store.uploads import pages, uploaded
from tests.chatui.turns.test_documents import documents_of, with_files
from tests.chatui.turns.test_turns import ask, run
from tests.support.scripted import ScriptedBackend

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

bring = database_sync_to_async(uploaded)


def edited(turn: Turn, *files: StoredFile | QuestionFile, **fields: Any) -> Ask:
    uses = tuple(each if isinstance(each, QuestionFile) else QuestionFile(each.pk) for each in files)
    place = {"conversation": turn.conversation_id, "question": turn.question_id}
    return ask(AskKind.EDIT, "Another wording", files=uses, has_own_files=True, **place, **fields)


@database_sync_to_async
def page(person: User, turn: Turn) -> str:
    return signed_in(person).get(f"/c/{turn.conversation_id}/").content.decode()


async def test_one_file_is_removed_and_another_added(ada: User, backend: ScriptedBackend) -> None:
    one, two = [await bring(ada, f"{name}.txt", f"Text of {name}") for name in ("one", "two")]
    first = await run(ada, with_files(one, two))
    three = await bring(ada, "three.txt", "Text of three")
    await run(ada, edited(first, three, two))
    before, after = (documents_of(request.frames) for request in backend.requests)
    assert [body.rpartition("\n\n")[2] for body in after] == ["Text of three", "Text of two"]
    assert [body.rpartition("\n\n")[2] for body in before] == ["Text of one", "Text of two"] and after[1] == before[1]
    assert await StoredFile.objects.filter(conversation=first.conversation_id).acount() == 3, "none is stored twice"
    await run(ada, ask(AskKind.REGENERATE, "", conversation=first.conversation_id, question=first.question_id))
    assert documents_of(backend.requests[-1].frames) == before


async def test_all_files_are_removed_and_all_versions_remain(ada: User, backend: ScriptedBackend) -> None:
    first = await run(ada, ask(text="Hello"))
    with_file = await run(ada, with_files(await bring(ada), text="With a file", conversation=first.conversation_id))
    without = await run(ada, edited(with_file))
    assert documents_of(backend.requests[-1].frames) == [] and len(backend.requests[-1].frames) == 3
    again = await run(ada, edited(without, await bring(ada, "new.txt", "New words")))
    assert len(documents_of(backend.requests[-1].frames)) == 1
    unchanged = await run(ada, ask(AskKind.EDIT, "As before", conversation=first.conversation_id, question=again.question_id))
    assert documents_of(backend.requests[-1].frames) == documents_of(backend.requests[-2].frames)
    keys = [str(turn.question_id) for turn in (with_file, without, again, unchanged)]
    for place, turn in enumerate((with_file, without, again, unchanged)):
        client = await database_sync_to_async(signed_in)(ada)
        await database_sync_to_async(client.post)(f"/c/{turn.conversation_id}/branch/", {"message": keys[place]})
        shown = await page(ada, turn)
        assert f"m-{keys[place]}" in shown and f"{place + 1}/4" in "".join(shown.split()).replace("of", "/"), place


async def test_pages_can_be_chosen_again(ada: User, backend: ScriptedBackend) -> None:
    file = await database_sync_to_async(pages)(ada, 20)
    first = await run(ada, with_files(file))
    await run(ada, edited(first, QuestionFile(file.pk, "places", "2")))
    (body,) = documents_of(backend.requests[-1].frames)
    assert "This is page 2." in body and "This is page 3." not in body


async def test_a_deleted_file_is_gone_from_every_version(ada: User, backend: ScriptedBackend) -> None:
    file = await bring(ada, "secret.txt", "Secret words")
    first = await run(ada, with_files(file))
    await run(ada, edited(first, file))
    await run(ada, edited(first, file, await bring(ada, "more.txt", "More")))
    await database_sync_to_async(documents.delete)(file)
    assert not [text async for text in Message.objects.values_list("text", flat=True) if "Secret words" in text]
    with pytest.raises(NotFoundError):
        await run(ada, edited(first, file))


async def test_only_files_of_that_question_and_pending_uploads_are_accepted(ada: User, bela: User, backend: ScriptedBackend) -> None:
    first = await run(ada, ask(text="Hello"))
    belas = await run(bela, with_files(await bring(bela, "theirs.txt", "Theirs")))
    elsewhere = await run(ada, with_files(await bring(ada, "elsewhere.txt", "Elsewhere")))
    here = await run(ada, with_files(await bring(ada, "here.txt", "Here"), conversation=first.conversation_id))
    count, request_count = await Message.objects.acount(), len(backend.requests)
    strangers = [await StoredFile.objects.aget(sent__message__conversation=turn.conversation_id) for turn in (belas, elsewhere)]
    own = await StoredFile.objects.aget(sent__message__conversation=here.conversation_id)
    for file in [*strangers, await bring(bela, "waits.txt", "Waits")]:
        with pytest.raises(NotFoundError):
            await run(ada, edited(here, file))
    for wrong in (edited(first, own), edited(here, own, own), edited(belas), edited(here, QuestionFile(own.pk, "everything"))):
        with pytest.raises(NotFoundError):
            await run(ada, wrong)
    assert (await Message.objects.acount(), len(backend.requests)) == (count, request_count)
    assert await SentDocument.objects.acount() == 3


async def test_a_repeated_edit_is_stored_once(ada: User, backend: ScriptedBackend) -> None:
    first = await run(ada, with_files(await bring(ada)))
    question = edited(first, await bring(ada, "new.txt", "New words"))
    assert (await run(ada, question)).pk == (await run(ada, question)).pk
    assert await SentDocument.objects.acount() == 2


async def test_no_list_of_files_differs_from_an_empty_one() -> None:
    keys = dict.fromkeys(("client_id", "conversation", "question"), "6f2c2f0e-3a53-4d0e-9d3c-0d9a4e1b2c3d")
    for files, has_own in ((None, False), ((), True)):
        fields: dict[str, Any] = {**keys, "text": "x", "effort": "low", "choice": None, "files": files}
        assert _ask_of(wire.Edit(**fields), Caller(None, "")).has_own_files is has_own


async def test_only_the_editor_learns_which_files_a_question_had(ada: User, bela: User, backend: ScriptedBackend) -> None:
    file = await database_sync_to_async(pages)(ada, 3)
    turn = await run(ada, ask(files=(QuestionFile(file.pk, "places", "2-3"),)))

    def get_listed(person: User) -> Any:
        where = {"choice": "", "conversation": str(turn.conversation_id), "question": str(turn.question_id)}
        return signed_in(person).get("/files/", where)

    (listed,) = (await database_sync_to_async(get_listed)(ada)).json()["files"]
    assert (listed["id"], listed["use"], listed["chosen"], listed["delete"]) == (str(file.pk), "places", "2-3", "")
    assert (await database_sync_to_async(get_listed)(bela)).status_code == 404
