"""Document search: the model gets a search tool, asks again, and reads excerpts with their pages. It finds nobody else's documents and
gets no tool that could send them out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from chatui.codes import ProductCode
from chatui.documents.reading import TextPart
from chatui.models.files import DocumentPassage, StoredFile
from chatui.models.message import Message, OpenedPage
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import documents, passages
from chatui.store.passages import SearchedBranch
from chatui.tools.document_search import NAME
from chatui.turns.asks import AskRefusedError, QuestionFile
from renderer.ocml.calls import FUNCTIONS
from tests.chatui.conftest import signed_in
from tests.chatui.store.uploads import uploaded, uploaded_with
from tests.chatui.tools.offering import offer
from tests.chatui.turns.calls.calling import call, calls, replies
from tests.chatui.turns.test_turns import ask, run
from tests.support import environment
from tests.support.scripted import ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)


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


async def test_a_document_to_search_is_refused_if_the_model_has_no_tools(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = await report(ada)
    monkeypatch.setattr("chatui.store.context_use.can_search", lambda choice: False)
    with pytest.raises(AskRefusedError) as refused:
        await run(ada, ask(files=(QuestionFile(file.pk, "search"),)))
    assert refused.value.code is ProductCode.TOO_LARGE and not backend.requests


async def test_passages_are_deleted_with_the_file(ada: User, backend: ScriptedBackend) -> None:
    turn = await searching(ada, backend, call(NAME, "c1", query="tea"))
    assert await DocumentPassage.objects.acount() == 2
    file = await StoredFile.objects.aget(conversation=turn.conversation_id)
    await database_sync_to_async(documents.delete)(file)
    assert await database_sync_to_async(passages.find)(SearchedBranch(turn.conversation_id, turn.question_id), "tea", "", 8) == []
    assert not await DocumentPassage.objects.aexists()


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


async def test_search_replies_are_identified_by_the_tool_name() -> None:
    assert f"{FUNCTIONS}{NAME}" == documents.SEARCH_NAME and json.loads(documents.DELETED_FOUND)["ok"]
