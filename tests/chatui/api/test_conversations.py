"""Conversations that programs begin: items in and out, responses in them, whose key sees what, and that they are the product's own."""

import asyncio
import json
from typing import Any

import pytest

from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.programs import ProgramConversation
from chatui.models.user import User
from chatui.store import erasure
from tests.chatui.api.asking import IGNORED, Program, json_of, new_key, text_of
from tests.chatui.api.functions import SECRET, WEATHER, calling, weather
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)

USER = {"type": "message", "role": "user", "content": "My name is Ada."}
REPLY = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello Ada.", "annotations": []}]}
CALL = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Tokyo"}'}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}


async def begun(program: Program, **body: Any) -> str:
    response = await program.post("/v1/conversations", body)
    assert response.status_code == 200, response.content  # type: ignore[attr-defined]
    return str(json_of(response)["id"])


async def items_of(program: Program, conversation: str, query: str = "order=asc&limit=100") -> list[dict[str, Any]]:
    found: dict[str, Any] = json_of(await program.get(f"/v1/conversations/{conversation}/items?{query}"))
    assert found["object"] == "list" and [found["first_id"], found["last_id"]] == [
        found["data"][0]["id"] if found["data"] else None,
        found["data"][-1]["id"] if found["data"] else None,
    ]
    data: list[dict[str, Any]] = found["data"]
    return data


def words(items: list[dict[str, Any]]) -> list[str]:
    return [
        item["content"][0]["text"] if item["type"] == "message" else item.get("output") or item.get("arguments") or item["type"]
        for item in items
    ]


def asked_of(backend: ScriptedBackend) -> str:
    """What the model was last given."""
    return "\n".join(frame.body for frame in backend.requests[-1].frames)


async def test_a_conversation_is_made_read_changed_and_deleted(program: Program) -> None:
    made = json_of(await program.post("/v1/conversations", {"metadata": {"topic": "demo"}, "items": [USER]}))
    assert made.keys() == {"id", "object", "created_at", "metadata"} and made["object"] == "conversation"
    assert made["id"].startswith("conv_") and made["metadata"] == {"topic": "demo"}
    path = f"/v1/conversations/{made['id']}"
    assert json_of(await program.get(path)) == made
    changed = json_of(await program.post(path, {"metadata": {"topic": "other"}}))
    assert changed == made | {"metadata": {"topic": "other"}} == json_of(await program.get(path))
    row = await Conversation.objects.aget()
    assert row.title == "My name is Ada." and row.archived_at is not None and row.pk.hex == made["id"].removeprefix("conv_")
    assert json_of(await program.delete(path)) == {"id": made["id"], "object": "conversation.deleted", "deleted": True}
    for response in (await program.get(path), await program.get(f"{path}/items"), await program.delete(path)):
        assert response.status_code == 404 and json_of(response)["error"]["code"] == "conversation_not_found"
    assert (await Conversation.objects.aget()).deleted_at is not None, "in the bin of its owner, where retention erases it"


async def test_items_are_added_listed_in_pages_read_and_deleted(program: Program) -> None:
    conversation = await begun(program)
    path = f"/v1/conversations/{conversation}/items"
    orders = {"role": "system", "content": "Be brief."}
    added = json_of(await program.post(path, {"items": [USER, REPLY, orders, CALL, OUTPUT]}))
    assert added["object"] == "list"
    assert words(added["data"]) == ["My name is Ada.", "Hello Ada.", "Be brief.", '{"city": "Tokyo"}', "sunny"]
    assert words(await items_of(program, conversation)) == words(added["data"])
    everything = [item["id"] for item in await items_of(program, conversation)]
    newest = await items_of(program, conversation, "limit=2")
    assert [item["id"] for item in newest] == everything[:-3:-1]
    page = await items_of(program, conversation, f"limit=1&order=asc&after={everything[1]}")
    assert [item["id"] for item in page] == [everything[2]] and page[0]["role"] == "developer"
    assert json_of(await program.get(f"{path}/{everything[0]}"))["content"] == [{"type": "input_text", "text": "My name is Ada."}]
    assert json_of(await program.delete(f"{path}/{everything[1]}"))["id"] == conversation
    assert json_of(await program.delete(f"{path}/{everything[2]}"))["object"] == "conversation"
    left = await items_of(program, conversation)
    assert words(left) == ["My name is Ada.", '{"city": "Tokyo"}', "sunny"]
    assert not await Message.objects.filter(text__contains="Hello Ada").aexists(), "removed for good"
    for missing in (
        await program.get(f"{path}/{everything[1]}"),
        await program.delete(f"{path}/{everything[1]}"),
        await program.get(f"{path}/x"),
    ):
        assert missing.status_code == 404 and json_of(missing)["error"]["code"] == "item_not_found"
    while left:  # as sessions take items back, the last first
        await program.delete(f"{path}/{left.pop()['id']}")
    assert await items_of(program, conversation) == []
    await program.post(path, {"items": [USER]})
    assert words(await items_of(program, conversation)) == ["My name is Ada."]


async def test_what_a_conversation_ignores_is_named(program: Program) -> None:
    item = {"role": "user", "content": "Hi", "name": "ada"}
    made = await program.post("/v1/conversations", {"items": [item, item], "metadata": {"a": "b"}, "title": "x"})
    assert set(made.headers[IGNORED].split(", ")) == {"title", "items.name"}
    path = f"/v1/conversations/{json_of(made)['id']}"
    assert (await program.post(path, {"metadata": {}, "color": "red"})).headers[IGNORED] == "color"
    added = await program.post(f"{path}/items", {"items": [{"type": "web_search_call", "id": "ws_1", "action": "x" * 5000}]})
    assert added.headers[IGNORED] == "items.web_search_call"
    plain = await program.post(f"{path}/items", {"items": [{"role": "user", "content": "Hi"}]})
    assert plain.status_code == 200 and IGNORED not in plain.headers


async def test_responses_continue_a_conversation_and_add_to_it(program: Program, backend: ScriptedBackend) -> None:
    conversation = await begun(program, items=[{"role": "developer", "content": "Be brief."}, USER, REPLY])
    backend.script = [*frame(ANALYSIS, SECRET), *answer("You are Ada.", SECRET)]
    first = await program.ask({"input": "Who am I?", "conversation": conversation})
    assert first["conversation"] == {"id": conversation} and text_of(first).strip() == "You are Ada."
    assert all(text in asked_of(backend) for text in ("My name is Ada.", "Hello Ada.", "Who am I?", "Be brief."))
    second = await program.ask({"input": "Again?", "conversation": {"id": conversation}})
    assert all(text in asked_of(backend) for text in ("Who am I?", "You are Ada.", "Again?")) and asked_of(backend).count("Be brief.") == 1
    await program.post(f"/v1/conversations/{conversation}/items", {"items": [{"role": "user", "content": "A remark."}]})
    found = await items_of(program, conversation)
    assert words(found) == [
        "Be brief.",
        "My name is Ada.",
        "Hello Ada.",
        "Who am I?",
        text_of(first),
        "Again?",
        text_of(second),
        "A remark.",
    ]
    assert "marmalade" not in json.dumps(found)
    assert found[4] == first["output"][-1], "the same item as in the response"
    assert await Conversation.objects.acount() == 1 and (await Conversation.objects.aget()).archived_at is not None
    refused = await program.delete(f"/v1/conversations/{conversation}/items/{found[4]['id']}")
    assert refused.status_code == 400 and json_of(refused)["error"]["code"] == "item_of_response"
    assert (await program.delete(f"/v1/responses/{second['id']}")).status_code == 200
    left = words(await items_of(program, conversation))
    assert text_of(first) in left and "Again?" not in left and "A remark." in left


async def test_an_empty_conversation_is_continued(program: Program, backend: ScriptedBackend) -> None:
    conversation = await begun(program)
    found = await program.ask({"input": "Hello.", "conversation": conversation})
    assert words(await items_of(program, conversation)) == ["Hello.", text_of(found)]
    assert (await Conversation.objects.aget()).title == "Hello."


async def test_functions_are_called_and_answered_in_a_conversation(program: Program, backend: ScriptedBackend) -> None:
    conversation = await begun(program)
    backend.script = calling(weather())
    first = await program.ask({"input": "How is it?", "conversation": conversation, "tools": [WEATHER]})
    call = next(item for item in first["output"] if item["type"] == "function_call")
    backend.script = answer("Sunny.", SECRET)
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "sun"}
    second = await program.ask({"input": [output], "conversation": conversation, "tools": [WEATHER]})
    assert text_of(second).strip() == "Sunny."
    kinds = [item["type"] for item in await items_of(program, conversation)]
    assert kinds == ["message", "function_call", "function_call_output", "message"]
    added = [{**CALL, "call_id": "call_9"}]
    await program.post(f"/v1/conversations/{conversation}/items", {"items": [USER, *added]})
    third = await program.ask({"input": [{**OUTPUT, "call_id": "call_9"}], "conversation": conversation})
    assert third["status"] == "completed" and "sunny" in asked_of(backend)


async def test_what_is_wrong_is_named(program: Program, backend: ScriptedBackend) -> None:
    conversation, other = await begun(program), await program.ask({"input": "Hello."})
    both = {"input": "?", "conversation": conversation, "previous_response_id": other["id"]}
    wrong: list[tuple[str, dict[str, Any], int, str]] = [
        ("/v1/responses", both, 400, "conversation"),
        ("/v1/responses", {"input": "?", "conversation": conversation, "store": False}, 400, "store"),
        ("/v1/responses", {"input": "?", "conversation": "conv_" + "0" * 32}, 404, "conversation"),
        ("/v1/responses", {"input": "?", "conversation": {"id": 5}}, 404, "conversation"),
        ("/v1/responses", {"input": "?", "conversation": 5}, 400, "conversation"),
        ("/v1/conversations", {"items": "x"}, 400, "items"),
        ("/v1/conversations", {"metadata": {"a": 5}}, 400, "metadata.a"),
        ("/v1/conversations", {"metadata": {"a": "x" * 513}}, 400, "metadata.a"),
        ("/v1/conversations", {"metadata": {"a" * 65: "x"}}, 400, "metadata.other"),
        ("/v1/conversations", {"metadata": {"a " * 9: 5}}, 400, "metadata.other"),
        (f"/v1/conversations/{conversation}", {"metadata": {"a": "x" * 513}}, 400, "metadata.a"),
        ("/v1/responses", {"input": "?", "metadata": {"a": "x" * 513}}, 400, "metadata.a"),
        ("/v1/chat/completions", {"messages": [USER], "metadata": {"a": "x" * 513}}, 400, "metadata.a"),
        ("/v1/conversations", {"items": [{"type": "nonsense"}]}, 400, "items[0].type"),
        ("/v1/conversations", {"items": [{"type": "item_reference", "id": "msg_1"}]}, 400, "items[0]"),
        ("/v1/conversations", {"items": [OUTPUT]}, 400, "items"),
        (f"/v1/conversations/{conversation}/items", {}, 400, "items"),
        (f"/v1/conversations/{conversation}", {}, 400, "metadata"),
        ("/v1/conversations/conv_x/items", {"items": [USER]}, 404, "conversation"),
        (f"/v1/conversations/{other['id']}/items", {"items": [USER]}, 404, "conversation"),
    ]
    for path, body, status, param in wrong:
        response = await program.post(path, body)
        assert (response.status_code, json_of(response)["error"]["param"]) == (status, param), (path, body)
    assert await ProgramConversation.objects.acount() == 1, "nothing of a refused request stays"


async def test_nothing_is_added_while_an_answer_is_written(program: Program, backend: ScriptedBackend) -> None:
    conversation, wait = await begun(program), asyncio.Event()
    backend.script = [*frame(FINAL, "It is")[:-1], wait, *answer("four.", SECRET)[-5:]]
    running = asyncio.create_task(program.ask({"input": "?", "conversation": conversation}))
    await asyncio.wait_for(backend.waiting.wait(), 10)
    path = f"/v1/conversations/{conversation}/items"
    for response in (
        await program.post(path, {"items": [USER]}),
        await program.post("/v1/responses", {"input": "And?", "conversation": conversation}),
    ):
        assert (response.status_code, json_of(response)["error"]["code"]) == (409, "conversation_locked")
    assert words(await items_of(program, conversation))[0] == "?"
    wait.set()
    await running


async def test_only_the_key_that_began_it_adds_and_only_keys_that_read_all_read(program: Program, ada: User, bela: User) -> None:
    conversation = await begun(program, items=[USER])
    second, foreign, reader = [
        Program(await new_key(person, **options))
        for person, options in ((ada, {}), (bela, {"reads_all": True}), (ada, {"reads_all": True}))
    ]
    path = f"/v1/conversations/{conversation}"
    assert words(await items_of(reader, conversation)) == ["My name is Ada."] and (await reader.get(path)).status_code == 200
    own = json_of(await program.get(f"{path}/items"))["data"][0]["id"]
    for other in (second, foreign, reader):
        if other is not reader:
            for each in (path, f"{path}/items", f"{path}/items/{own}"):
                assert (await other.get(each)).status_code == 404
        for response in (
            await other.post(path, {"metadata": {}}),
            await other.post(f"{path}/items", {"items": [USER]}),
            await other.post("/v1/responses", {"input": "?", "conversation": conversation}),
            await other.delete(f"{path}/items/{own}"),
            await other.delete(path),
        ):
            assert response.status_code == 404
    chat = Program(await new_key(ada, for_responses=False))
    assert [(await chat.get(path)).status_code, (await chat.post("/v1/conversations", {})).status_code] == [403, 403]


async def test_what_a_person_adds_on_a_page_is_not_a_programs(program: Program, ada: User, backend: ScriptedBackend) -> None:
    from channels.db import database_sync_to_async

    from tests.support.turns import ask, store

    conversation = await begun(program, items=[USER])
    row = await Conversation.objects.aget()
    await database_sync_to_async(store)(ada, ask(text="A private question", conversation=row.pk))
    from chatui.models.turn import Turn

    await Turn.objects.aupdate(state="completed")
    assert words(await items_of(program, conversation)) == ["My name is Ada."]
    await program.ask({"input": "And?", "conversation": conversation})
    assert "private" not in asked_of(backend) and "My name is Ada." in asked_of(backend)
    assert (await program.delete(f"/v1/conversations/{conversation}")).status_code == 200
    assert (await Conversation.objects.aget()).deleted_at is None, "it stays, where a person has asked in it"
    assert (await program.get(f"/v1/conversations/{conversation}")).status_code == 404


async def test_erasing_a_conversation_erases_all_of_it(program: Program) -> None:
    from channels.db import database_sync_to_async

    conversation = await begun(program, items=[USER, REPLY])
    await program.ask({"input": "?", "conversation": conversation})
    await database_sync_to_async(erasure.erase_conversation)((await Conversation.objects.aget()).pk)
    assert not await ProgramConversation.objects.aexists() and not await Message.objects.aexists()


async def _asked_on_a_page(person: User, **asked: Any) -> None:
    from channels.db import database_sync_to_async

    from chatui.models.turn import Turn
    from tests.support.turns import ask, store

    await database_sync_to_async(store)(person, ask(conversation=(await Conversation.objects.aget()).pk, **asked))
    await Turn.objects.aupdate(state="completed")


async def test_an_item_that_a_person_had_answered_on_a_page_stays_the_programs(program: Program, ada: User) -> None:
    from chatui.turns.asks import AskKind

    conversation = await begun(program, items=[USER])
    question = (await Message.objects.aget()).pk
    await _asked_on_a_page(ada, kind=AskKind.REGENERATE, text="", question=question)
    assert words(await items_of(program, conversation)) == ["My name is Ada."]
    found = await program.ask({"input": "And?", "conversation": conversation})
    assert words(await items_of(program, conversation)) == ["My name is Ada.", "And?", text_of(found)]


async def test_a_deleted_conversation_has_no_responses_either_where_it_stays_for_its_person(
    program: Program, ada: User, backend: ScriptedBackend
) -> None:
    conversation = await begun(program)
    first = await program.ask({"input": "Who am I?", "conversation": conversation})
    await _asked_on_a_page(ada, text="A private question")
    reader = Program(await new_key(ada, reads_all=True))
    assert (await program.delete(f"/v1/conversations/{conversation}")).status_code == 200
    assert (await Conversation.objects.aget()).deleted_at is None and await Message.objects.filter(text__contains="Who am I?").aexists()
    for each in (program, reader):
        for response in (
            await each.get(f"/v1/responses/{first['id']}"),
            await each.get(f"/v1/responses/{first['id']}/input_items"),
            await each.post("/v1/responses", {"input": "And?", "previous_response_id": first["id"]}),
        ):
            assert response.status_code == 404


async def test_a_persons_answer_goes_on_when_a_program_deletes_the_conversation(
    program: Program, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from channels.db import database_sync_to_async

    from chatui.turns import running
    from tests.support.turns import ask, store

    stopped: list[object] = []
    monkeypatch.setattr(running, "stop_from_thread", stopped.append)
    conversation = await begun(program, items=[USER])
    row = await Conversation.objects.aget()
    await database_sync_to_async(store)(ada, ask(text="A private question", conversation=row.pk))
    assert (await program.delete(f"/v1/conversations/{conversation}")).status_code == 200
    assert stopped == []
