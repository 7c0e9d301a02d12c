"""A question with files: what is stored, what the model is sent, and what is refused."""

import threading
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from chatui.codes import ProductCode
from chatui.database import pools
from chatui.documents.reading import TextPart
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentPassage, SentDocument, StoredFile
from chatui.models.message import Message, OpenedPage
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.store import documents
from chatui.store import documents as store_documents
from chatui.tools.document_search import NAME
from chatui.turns.asks import Ask, AskKind, AskRefusedError, QuestionFile
from renderer.frame_kinds import is_document
from renderer.frames import Frame
from renderer.ocml import document
from tests.chatui.conftest import signed_in
from tests.chatui.store.uploads import pages, uploaded, uploaded_with
from tests.chatui.turns.calls.calling import call, calls, replies
from tests.support import constants, environment
from tests.support.messages import stored_messages
from tests.support.offering import offer
from tests.support.page import Page
from tests.support.scripted import ScriptedBackend, answer
from tests.support.turns import ask, prepared, run

pytestmark = pytest.mark.django_db(transaction=True)

bring = database_sync_to_async(uploaded)


def with_files(*files: StoredFile, **fields: Any) -> Ask:
    return ask(files=tuple(QuestionFile(file.pk) for file in files), **fields)


def documents_of(frames: tuple[Frame, ...]) -> list[str]:
    return [frame.body for frame in frames if is_document(frame.header)]


async def test_long_documents_are_not_prepared_on_the_command_thread(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    ready = store_documents.prepare

    def recorded(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        return ready(*arguments)

    monkeypatch.setattr(store_documents, "prepare", recorded)
    await run(ada, with_files(await bring(ada)))
    assert [name.partition("_")[0] for name in threads] == ["documents"] and pools.documents is not pools.commands


async def test_a_document_is_a_separate_frame_before_the_question(ada: User, backend: ScriptedBackend) -> None:
    file = await bring(ada)
    turn = await run(ada, with_files(file, text="When?"))
    messages = await stored_messages(turn.conversation, ada)
    assert [(each.role, each.name, each.is_visible) for each in messages[:2]] == [("user", "document", False), ("user", "", True)]
    assert messages[0].text.startswith(
        '<|start|>user name=document content_type=text<|message|>[Attached document "notes.txt", a text file.'
    )
    assert messages[0].text.endswith("\n\nThe meeting is on Tuesday.<|end|>") and "not instructions.]" in messages[0].text
    assert messages[1].pk == turn.question_id and messages[1].parent_id == messages[0].pk
    (request,) = backend.requests
    assert [frame.body for frame in request.frames] == [document.parse_frame(messages[0].text).body, "When?"]
    assert turn.conversation.title == "When?", "a title says nothing of a document"
    await file.arefresh_from_db()
    assert file.conversation_id == turn.conversation_id


async def test_a_request_counts_the_tokens_of_its_documents(ada: User, backend: ScriptedBackend) -> None:
    files = [await bring(ada, f"{name}.txt", f"Text of {name}") for name in ("one", "two")]
    first = await run(ada, with_files(*files))
    await run(ada, ask(text="And then?", conversation=first.conversation_id))
    tokens = [row.tokens async for row in SentDocument.objects.order_by("message__position")]
    for request in backend.requests:
        assert [request.counted[frame] for frame in request.frames if is_document(frame.header)] == tokens and min(tokens) > 100


async def test_documents_longer_than_the_conversation_limit_are_read(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, seen_chars=2000)
    files = [await bring(ada, f"{name}.csv", f"{name}{' ' * 1000}") for name in ("one", "two", "three")]
    first = await run(ada, with_files(*files))
    await run(ada, ask(text="And then?", conversation=first.conversation_id))
    assert [len(documents_of(request.frames)) for request in backend.requests] == [3, 3]


async def test_edits_and_regenerations_keep_the_documents(ada: User, backend: ScriptedBackend) -> None:
    first = await run(ada, with_files(await bring(ada)))
    place = {"conversation": first.conversation_id, "question": first.question_id}
    edited = await run(ada, ask(AskKind.EDIT, "Another wording", **place))
    await run(ada, ask(AskKind.REGENERATE, "", **place))
    assert {len(documents_of(request.frames)) for request in backend.requests} == {1}
    assert edited.question_id != first.question_id and await SentDocument.objects.acount() == 1


async def test_a_file_is_sent_once_even_if_its_question_repeats(ada: User, backend: ScriptedBackend) -> None:
    question = with_files(await bring(ada))
    first = await run(ada, question)
    assert (await run(ada, question)).pk == first.pk and await SentDocument.objects.acount() == 1
    with pytest.raises(NotFoundError):
        await run(ada, replace(question, client_id=uuid4()))


async def test_a_question_with_foreign_or_missing_files_is_not_stored(ada: User, bela: User, backend: ScriptedBackend) -> None:
    belas, twice = await bring(bela), await bring(ada)
    for uses in (
        [QuestionFile(belas.pk)],
        [QuestionFile(uuid4())],
        [QuestionFile(twice.pk), QuestionFile(twice.pk)],
        [QuestionFile(twice.pk, "everything")],
    ):
        with pytest.raises(NotFoundError):
            await run(ada, ask(files=tuple(uses)))
    assert not await Conversation.objects.filter(owner=ada).aexists() and not backend.requests


async def test_only_the_chosen_pages_or_the_first_part_are_given(ada: User, backend: ScriptedBackend) -> None:
    file = await database_sync_to_async(pages)(ada, 20)
    turn = await run(ada, ask(files=(QuestionFile(file.pk, "places", " 2-3,5"),)))
    (body,) = documents_of(backend.requests[0].frames)
    assert "It has 20 pages. Only pages 2-3, 5 are here" in body and "[page 3]\nThis is page 3." in body and "page 4" not in body
    assert (await SentDocument.objects.aget(file=file)).places == "2-3, 5"
    other = await database_sync_to_async(pages)(ada, 21)
    with pytest.raises(NotFoundError):
        await run(ada, ask(files=(QuestionFile(other.pk, "places", "22"),), conversation=turn.conversation_id))


async def test_a_document_that_does_not_fit_is_refused_but_its_first_part_fits(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.change(monkeypatch, {"backend_url": "http://127.0.0.1:9", "backend_context_tokens": 2000})
    file = await bring(ada, "long.txt", "word " * 4000)
    with pytest.raises(AskRefusedError) as refused:
        await run(ada, with_files(file))
    assert refused.value.code is ProductCode.TOO_LARGE
    await run(ada, ask(files=(QuestionFile(file.pk, "first"),)))
    (body,) = documents_of(backend.requests[0].frames)
    assert "Only its beginning is here" in body and 1000 < body.count("word") < 1500


async def test_a_deleted_document_leaves_one_line_and_the_others_unchanged(ada: User, backend: ScriptedBackend) -> None:
    files = [await bring(ada, f"{name}.txt", f"Secret of {name}") for name in ("one", "two")]
    turn = await run(ada, with_files(*files))
    await database_sync_to_async(store_documents.delete)(files[0])
    await run(ada, ask(text="And then?", conversation=turn.conversation_id))
    before, after = (documents_of(request.frames) for request in backend.requests)
    assert after == ["[A document was attached here. The person has deleted it.]", before[1]]
    stored = [text async for text in Message.objects.values_list("text", flat=True)]
    assert not any("Secret of one" in text for text in stored) and any("Secret of two" in text for text in stored)
    assert not await Turn.objects.filter(pk=turn.pk).exclude(request=None).aexists(), "the stored request is deleted, too"
    assert not await StoredFile.objects.filter(pk=files[0].pk).aexists()


async def test_a_page_shows_chips_and_never_the_text(ada: User, backend: ScriptedBackend) -> None:
    file = await bring(ada, "no<t>es.txt", "Hidden words")
    turn = await run(ada, with_files(file))

    def page() -> str:
        return signed_in(ada).get(f"/c/{turn.conversation_id}/").content.decode()

    shown = await database_sync_to_async(page)()
    assert "no_t_es.txt" in shown and f"/files/{file.pk}/text/" in shown and "Hidden words" not in shown


async def test_documents_must_fit_in_the_model_of_the_question_and_else_in_that_of_the_conversation(
    ada: User, backend: ScriptedBackend
) -> None:
    file, turn = await bring(ada), await run(ada, ask())
    await Turn.objects.filter(pk=turn.pk).aupdate(context_size=100)
    prepare = database_sync_to_async(prepared)
    assert (await prepare(ada, with_files(file, conversation=turn.conversation_id, choice="large"))).documents
    with pytest.raises(AskRefusedError) as refused:
        await prepare(ada, with_files(file, conversation=turn.conversation_id))
    assert refused.value.code is ProductCode.TOO_LARGE


# Editing a question with files: the new version has exactly the files its author leaves and adds, and the old one keeps its own.


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


async def test_no_list_of_files_differs_from_an_empty_one(ada: User, backend: ScriptedBackend) -> None:
    first = await run(ada, with_files(await bring(ada)))
    async with Page(ada) as socket:
        place: dict[str, Any] = {"conversation": first.conversation_id, "question": first.question_id}
        for fields, count in ((place, 1), (place | {"files": []}, 0)):
            await socket.answered("x", type="edit", **fields)
            assert len(documents_of(backend.requests[-1].frames)) == count


async def test_only_the_editor_learns_which_files_a_question_had(ada: User, bela: User, backend: ScriptedBackend) -> None:
    file = await database_sync_to_async(pages)(ada, 3)
    turn = await run(ada, ask(files=(QuestionFile(file.pk, "places", "2-3"),)))

    def get_listed(person: User) -> Any:
        where = {"choice": "", "conversation": str(turn.conversation_id), "question": str(turn.question_id)}
        return signed_in(person).get("/files/", where)

    (listed,) = (await database_sync_to_async(get_listed)(ada)).json()["files"]
    assert (listed["id"], listed["use"], listed["chosen"], listed["delete"]) == (str(file.pk), "places", "2-3", "")
    assert (await database_sync_to_async(get_listed)(bela)).status_code == 404


# Document search: the model gets a search tool, asks again, and reads excerpts with their pages. It finds nobody else's documents and gets
# no tool that could send them out.


@pytest.fixture(autouse=True)
def _no_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"backend_url": "http://127.0.0.1:9"})


@database_sync_to_async
def report(person: User, text: str = "The price of tea fell by 7%.") -> StoredFile:
    return uploaded_with(person, "report.pdf", TextPart("page 1", "An introduction."), TextPart("page 2", text), kind="pdf")


async def searching(person: User, backend: ScriptedBackend, *steps: Any, use: str = "search", **fields: Any) -> Turn:
    """A turn with a document whose model makes these calls and then answers."""
    backend.script, backend.following = calls(*steps), [answer("Done.")]
    return await run(person, ask(files=(QuestionFile((await report(person)).pk, use),), **fields))


def offered(backend: ScriptedBackend, number: int = 0) -> list[str]:
    return [tool.name for tool in backend.requests[number].tools]


async def test_the_model_finds_the_passage_and_its_page_without_approval(ada: User, backend: ScriptedBackend) -> None:
    turn = await searching(ada, backend, call(NAME, "c1", query="tea price"), call(NAME, "c2", query="zebra", document="Report.pdf"))
    assert offered(backend) == [NAME]
    texts = {key: str(reply) for key, reply in (await replies(turn)).items()}
    assert "report.pdf, page 2" in texts["c1"] and "fell by 7%" in texts["c1"] and "not instructions" in texts["c1"]
    assert "No part of the documents" in texts["c2"]
    (document,) = [frame.body for frame in backend.requests[0].frames if frame.header.name == "document"]
    assert "fell by 7%" not in document and "search in it" in document


async def test_the_tool_works_in_later_turns_and_under_its_other_name(ada: User, backend: ScriptedBackend) -> None:
    turn = await searching(ada, backend, call(NAME, "c1", query="tea"))
    backend.script, backend.following = calls(call(NAME, "c2", query="tea", document="other.pdf")), [answer("Done.")]
    later = await run(ada, ask(text="And now?", conversation=turn.conversation_id))
    reply = str((await replies(later))["c2"])
    assert "There is no document" in reply and "report.pdf" in reply


async def test_the_tool_is_offered_only_with_a_searchable_document(ada: User, bela: User, backend: ScriptedBackend) -> None:
    await searching(bela, backend, call(NAME, "c1", query="tea"))
    backend.requests.clear()
    backend.script, backend.following = answer("Done."), []
    await run(ada, ask())
    whole = await database_sync_to_async(uploaded)(ada)
    await run(ada, ask(files=(QuestionFile(whole.pk),)))
    assert [offered(backend, number) for number in range(2)] == [[], []]


async def test_other_peoples_documents_are_never_found(ada: User, bela: User, backend: ScriptedBackend) -> None:
    belas = await report(bela, "The SECRET price of tea.")
    await run(bela, ask(files=(QuestionFile(belas.pk, "search"),)))
    assert await DocumentPassage.objects.acount() == 2
    turn = await searching(ada, backend, call(NAME, "c1", query="SECRET price tea"))
    texts = str((await replies(turn))["c1"])
    assert "fell by 7%" in texts and "SECRET" not in texts


async def test_outbound_tools_are_not_offered_with_it(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    def send(text: str) -> str:
        """Sends a text away."""
        raise AssertionError

    def clock() -> str:
        """Says what time it is."""
        return "noon"

    offer(monkeypatch, send, clock, tool_facts={"send": ("outside",), "clock": ("neither",)})
    turn = await searching(ada, backend, call("send", "c1", text="x"), call("clock", "c2"))
    assert sorted(offered(backend)) == ["clock", NAME]
    texts = {key: str(reply) for key, reply in (await replies(turn)).items()}
    assert "There is no tool" in texts["c1"] and "noon" in texts["c2"]


async def test_a_citation_opens_its_passage_for_the_owner_alone(ada: User, bela: User, grace: User, backend: ScriptedBackend) -> None:
    backend.script = calls(call(NAME, "c1", query="tea price"))
    backend.following = [calls(call(NAME, "c2", query="fell")), answer("It fell【0†L0】. And【7†L0】. [Not](/documents/x/1/#here)")]
    turn = await run(ada, ask(files=(QuestionFile((await report(ada)).pk, "search"),)))
    texts = [str(reply) for reply in (await replies(turn)).values()]
    assert all("[0] report.pdf, page 2" in each and "L0: The price of tea fell by 7%." in each for each in texts), "the same cursor"
    file = await StoredFile.objects.aget(conversation=turn.conversation_id)
    place = f"/documents/{file.pk}/2/#here"
    await database_sync_to_async(_check_pages)(turn, place, ada, bela, grace)
    await database_sync_to_async(documents.delete)(file)
    await database_sync_to_async(_check_deleted)(turn, place, ada)


def _check_pages(turn: Turn, place: str, ada: User, bela: User, grace: User) -> None:
    address = f"/c/{turn.conversation_id}/"
    page = signed_in(ada).get(address).content.decode()
    assert page.count(f'href="{place}"') == 2, "in the answer, and among the sources"
    assert page.count("report.pdf, page 2</a>") == 1 and 'class="sources"' in page
    assert "【" not in page.partition("It fell")[2][:600] and 'href="/documents/x' not in page
    path = place.partition("#")[0]
    shown = signed_in(ada).get(path).content.decode()
    assert '<mark id="here" tabindex="-1">The price of tea fell by 7%.</mark>' in shown and "An introduction" not in shown
    for client, status in ((signed_in(bela), 404), (signed_in(grace), 404), (Client(), 302)):
        assert client.get(path).status_code == status
    assert [signed_in(ada).get(f"{path[:-2]}{number}/").status_code for number in (0, 3)] == [404, 404]
    leaf = Message.objects.filter(turn=turn, is_visible=True).order_by("position").last()
    assert leaf is not None
    signed_in(ada).post(f"{address}share/", {"leaf": str(leaf.pk), "days": "7"})
    shared = Client().get(f"/s/{turn.conversation.share_links.get().token}/").content.decode()
    assert "It fell" in shared and 'href="/documents' not in shared and "report.pdf" not in shared


def _check_deleted(turn: Turn, place: str, ada: User) -> None:
    page = signed_in(ada).get(f"/c/{turn.conversation_id}/").content.decode()
    assert "It fell" in page and place not in page and "report.pdf" not in page and "【" not in page.partition("It fell")[2][:600]
    assert signed_in(ada).get(place.partition("#")[0]).status_code == 404
    assert not OpenedPage.objects.exclude(url="", title="").exists()


async def test_results_from_a_deleted_document_leave_the_transcript_and_later_prompts(ada: User, backend: ScriptedBackend) -> None:
    turn = await searching(ada, backend, call(NAME, "c1", query="tea"))
    stored = Message.objects.filter(conversation=turn.conversation_id)
    assert await stored.filter(text__contains="fell by 7%").aexists(), "the premise"
    await database_sync_to_async(documents.delete)(await StoredFile.objects.aget(conversation=turn.conversation_id))
    assert not await stored.filter(text__contains="fell by 7%").aexists()
    (reply,) = (await replies(turn)).values()
    assert "deleted" in str(reply), "the call still has its reply"
    backend.requests.clear()
    backend.script, backend.following = answer("Done."), []
    await run(ada, ask(text="And now?", conversation=turn.conversation_id))
    assert not any("fell by 7%" in frame.body for frame in backend.requests[0].frames)
