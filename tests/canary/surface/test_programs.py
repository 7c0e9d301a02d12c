"""API clients as visitors: with the owner's key, somebody else's, one of staff who may see hidden channels, and a revoked one."""

import json

import pytest
from asgiref.sync import sync_to_async

from chatui.models.programs import ApiKey, ProgramAnswer, ProgramConversation
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frames import Terminator
from tests.canary.conftest import World
from tests.canary.planting import VISIBLE
from tests.chatui.api.asking import Program, key_of, whole
from tests.chatui.api.test_socket import Socket
from tests.support.canary import hidden_headers
from tests.support.cases import mostly_slow
from tests.support.scripted import FINAL, ScriptedBackend, ended, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

ASKED = {"model": "", "input": "?", "messages": [{"role": "user", "content": "?"}]}
HIDDEN = ["reasoning.encrypted_content", "reasoning.content"]
GREEDY = ASKED | {"include": HIDDEN, "include_reasoning": True, "reasoning": {"exclude": False, "summary": "detailed"}}
KINDS = ("owner", "other", "both", "revoked", "anonymous")


def requests_for(answer: str, conversation: str) -> list[tuple[str, str, object]]:
    """Every address of the API, with everything that a client could send to get more than it should."""
    posts: list[tuple[str, str, object]] = [
        ("POST", path, body | {"stream": stream})
        for path in ("/v1/responses", "/v1/chat/completions")
        for body in (
            ASKED,
            GREEDY,
            GREEDY | {"background": True},
            ASKED | {"previous_response_id": answer},
            ASKED | {"conversation": conversation},
        )
        for stream in (False, True)
    ]
    reads = ["models", "models/demo", f"responses/{answer}", f"responses/{answer}?include[]=reasoning.encrypted_content"]
    reads += [f"responses/{answer}/input_items?order={order}&include[]=reasoning" for order in ("asc", "desc")]
    greedy = GREEDY | {"max_tokens": 500, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    posts += [("POST", "/v1/messages", greedy | {"stream": stream}) for stream in (False, True)]
    posts.append(("POST", "/v1/messages/count_tokens", greedy))
    reads += [f"conversations/{conversation}{rest}" for rest in ("", "/items?limit=100&include[]=reasoning.content", "/items/msg_1")]
    posts += [
        ("POST", f"/v1/conversations{path}", {"items": [{"role": "user", "content": "?"}]}) for path in ("", f"/{conversation}/items")
    ]
    posts.append(("POST", f"/v1/conversations/{conversation}", {"metadata": {}}))
    posts += [("POST", "/v1/responses/input_tokens", body) for body in (GREEDY, ASKED | {"previous_response_id": answer})]
    posts.append(("POST", "/v1/responses/compact", {"model": "demo", "input": "?"}))
    return [*posts, *(("GET", f"/v1/{path}", None) for path in reads), ("POST", f"/v1/responses/{answer}/cancel", {})]


@pytest.mark.parametrize("kind", mostly_slow(KINDS))
async def test_no_api_address_returns_anything_hidden(kind: str, world: World, backend: ScriptedBackend) -> None:
    person = world.people.get("owner" if kind == "revoked" else kind)
    key = await sync_to_async(key_of)(person) if person else ""
    asker = await ApiKey.objects.filter(owner=world.people["owner"]).afirst()
    answer = await ProgramAnswer.objects.acreate(turn=world.planted.turn, key=asker, given={"format": "responses"})
    begun = await ProgramConversation.objects.acreate(
        conversation=world.planted.turn.conversation, key=asker, leaf=world.planted.turn.question_id
    )
    if kind == "revoked":
        await ApiKey.objects.aupdate(revoked_at="2026-01-01T00:00Z")
    program, seen = Program(key), 0
    for method, path, body in requests_for(f"resp_{answer.pk.hex}", f"conv_{begun.conversation_id.hex}"):
        backend.script = [
            event
            for what, header in hidden_headers(world.canary).items()
            if header.role == "assistant" and "call" not in what and "to a tool" not in what
            for event in (FrameOpened(header), FrameText(world.canary.plant(what)), FrameClosed(Terminator.END))
        ]
        backend.script = [*backend.script, *frame(FINAL, VISIBLE, Terminator.RETURN), ended()]
        response = await (program.post(path, body) if method == "POST" else program.get(path))
        sent = await whole(response) + str(dict(response.headers)).encode()
        assert not world.canary.found(sent), f"{method} {path}"
        if kind in ("revoked", "anonymous"):
            assert response.status_code == 401, path
        elif kind != "owner" and (answer.pk.hex in path or begun.conversation_id.hex in path):
            assert response.status_code == 404, path
        seen += VISIBLE.encode() in sent or VISIBLE in json.dumps(sent.decode())
    socket = Socket(key)
    if await socket.opened():
        events = await socket.ask({"type": "response.create", **GREEDY})
        assert not world.canary.found(json.dumps(events)) and VISIBLE in json.dumps(events), "socket"
        await socket.leave()
    else:
        assert kind in ("revoked", "anonymous")
    premise = {"owner": 9, "other": 5, "both": 5, "revoked": 0, "anonymous": 0}
    assert (seen >= premise[kind]) if premise[kind] else not seen, "the premise: visible text comes through"
