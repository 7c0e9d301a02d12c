"""Recorded requests of real client libraries: each is served, and the second one contains the reply of the function."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from chatui.backends.demo import DemoBackend
from chatui.model_servers import connected
from chatui.models.user import User
from tests.chatui.api.asking import Program, key_of, whole
from tests.clients import recording
from tests.support.places import ROOT

pytestmark = pytest.mark.django_db(transaction=True)

RECORDED = sorted((ROOT / "tests" / "clients" / "recorded").glob("*.jsonl"))


@pytest.fixture
def program(ada: User, monkeypatch: pytest.MonkeyPatch) -> Program:
    demo = DemoBackend(0)
    monkeypatch.setattr(connected, "backend", lambda choice="": demo)
    return Program(key_of(ada))


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_the_requests_of_a_client_are_served(path: Path, program: Program) -> None:
    exchanges: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(exchanges) >= 3, "the premise: a call, its reply, and a second turn"
    own_ids: dict[str, str] = {}
    replies = []
    for exchange in exchanges:
        text = json.dumps(exchange["body"])
        for recorded_id, own in own_ids.items():
            text = text.replace(recorded_id, own)
        response = await program.post(exchange["path"], text)
        reply = (await whole(response)).decode()
        assert response.status_code == exchange["status"] == 200, reply
        found = recording.ids_of(reply)
        assert len(found) == len(exchange["ids"]), "the recorded number of responses and calls"
        own_ids |= dict(zip(exchange["ids"], found, strict=True))
        replies.append(reply)
    assert any(" replied: " in said(reply) for reply in replies) and any(exchange["body"].get("stream") for exchange in exchanges)
    assert not any(word in reply for reply in replies for word in ("I should not guess", "reasoning_text"))


def said(reply: str) -> str:
    """The reply, with the text of a Messages stream behind it, which has it nowhere in one piece."""
    return reply + "".join(json.loads(text) for text in re.findall(r'"type":"text_delta","text":("(?:[^"\\]|\\.)*")', reply))


def test_each_client_has_a_recording() -> None:
    programs = {path.stem for path in (ROOT / "tests" / "clients" / "programs").iterdir() if path.suffix in (".py", ".mjs")}
    assert {path.stem for path in RECORDED} == programs - {"__init__"} | {"codex", "claude_code"}
