"""Chained instances: another instance of the product uses this one as its model server, in both formats, and stores no reasoning."""

from pathlib import Path

import httpx
import pytest

from tests.chatui.api.deployed import fast_key as fast_key
from tests.chatui.api.deployed import fast_server as fast_server
from tests.chatui.api.deployed import key_at
from tests.chatui.api.deployed import place as place
from tests.chatui.api.functions import WEATHER
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.served

DUMP = """
from django.core import serializers
from chatui.models import Message, Turn, TurnPiece
from chatui.store import requests
print("".join(row.text for row in Message.objects.order_by("position")), Turn.objects.count())
print([requests.unpack(bytes(row.request)).body for row in Turn.objects.exclude(request=None)])
"""
THOUGHTS = ("something that is nested by itself", "the program and the numbers are verified", "because a tool takes a moment")
"""The demo's reasoning for the question asked here."""


@pytest.mark.parametrize("kind", ["responses", "chat"])
def test_the_second_instances_database_has_no_reasoning(kind: str, fast_server: Server, fast_key: str, place: Path, tmp_path: Path) -> None:
    second = Deployment(tmp_path, CHATUI_BACKEND_URL=fast_server.url, CHATUI_BACKEND_KEY=fast_key, CHATUI_BACKEND_KIND=kind)
    try:
        served = second.start()
        second.make_people(ada=(False, []))
        headers = {"Authorization": f"Bearer {key_at(tmp_path)}"}
        with httpx.Client(base_url=f"{served.url}/v1", headers=headers, timeout=60) as client:
            question = {"model": "", "input": "Explain recursion.", "reasoning": {"summary": "auto"}}
            explained = client.post("/responses", json=question).json()
            called = client.post("/responses", json={"model": "", "input": "How is the weather in Oslo?", "tools": [WEATHER]}).json()
            [call] = [item for item in called["output"] if item["type"] == "function_call"]
            output = {"type": "function_call_output", "call_id": call["call_id"], "output": "22 degrees"}
            body = {"model": "", "input": [output], "previous_response_id": called["id"], "tools": [WEATHER]}
            answered = client.post("/responses", json=body).json()
        dumped = second.manage("shell", "--no-imports", "-c", DUMP)
    finally:
        second.stop()
    assert "calling itself" in str(explained["output"]) and call["arguments"] and "replied: 22 degrees" in str(answered["output"])
    assert "calling itself" in dumped and "replied: 22 degrees" in dumped, "the premise: the answer is stored"
    first = Deployment(place).manage("shell", "--no-imports", "-c", DUMP)
    # Over Responses the second instance asks the first to store nothing.
    assert kind == "responses" or all(thought in first for thought in THOUGHTS[:2]), "the premise: it was thought, in the first"
    for shown in (dumped, str(explained), str(called), str(answered)):
        assert not [thought for thought in THOUGHTS if thought in shown] and "analysis<|message|>" not in shown
