"""What pages and programs receive when a limit is nearly or fully reached."""

from datetime import timedelta
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from chatui.models.programs import ApiKey
from chatui.models.usage import UsageEntry, UsageLimit
from chatui.models.user import User
from chatui.turns import running
from chatui.usage import limits
from tests.chatui.api.asking import Program, json_of, new_key
from tests.support.browser_socket import BrowserSocket
from tests.support.environment import change
from tests.support.scripted import ScriptedBackend

pytestmark = pytest.mark.django_db(transaction=True)


@database_sync_to_async
def limit(**numbers: int) -> None:
    UsageLimit.objects.create(**numbers)
    limits.clear_cache()


async def test_a_page_receives_the_limit_its_end_and_whom_to_ask(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"usage_contact": "Ask it@example.org for more."})
    await limit(day_turns=0)
    async with BrowserSocket(ada) as socket:
        client_id = str(uuid4())
        await socket.send("send", client_id=client_id, conversation=None, text="Hello?", effort="low")
        refused = (await socket.until("chatui:refused"))[-1]
    assert (refused["client_id"], refused["code"], refused["contact"]) == (client_id, "E-X-QUOTA-DAY", "Ask it@example.org for more.")
    until = parse_datetime(refused["until"])
    assert until == limits.now().day_ends and backend.requests == []


async def test_a_page_is_warned_of_a_near_limit_and_not_of_a_distant_one(ada: User, backend: ScriptedBackend) -> None:
    await limit(day_turns=5)
    async with BrowserSocket(ada) as socket:
        for number in range(4):
            await socket.send("send", client_id=str(uuid4()), conversation=None, text="Hello?", effort="low")
            accepted = (await socket.until("chatui:accepted"))[-1]
            await running.settle()
            assert accepted.get("percent") == (80 if number == 3 else None)
        assert parse_datetime(accepted["until"]) == limits.now().day_ends


async def test_a_program_gets_429_with_the_end_of_the_limit_and_is_told_not_to_retry_soon(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"usage_contact": "Ask it@example.org for more."})
    program = Program(await new_key(ada))
    await limit(month_turns=1)
    for path, body in (("/v1/responses", {"input": "Hello?"}), ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]})):
        if path == "/v1/responses":
            await program.ask(body)
        response = await program.post(path, body)
        error = json_of(response)["error"]
        assert (response.status_code, error["type"], error["code"]) == (429, "quota_exceeded", "quota_exceeded")
        wait = int(response.headers["Retry-After"])
        assert timedelta(0) < timedelta(seconds=wait) <= timedelta(days=31) and response.headers["x-should-retry"] == "false"
        assert "E-X-QUOTA-MONTH" in error["message"] and error["message"].endswith("Ask it@example.org for more.")


async def test_usage_of_a_program_is_booked_with_its_key(ada: User, backend: ScriptedBackend) -> None:
    program = Program(await new_key(ada))
    await program.ask({"input": "Hello?", "store": False})
    entry = await UsageEntry.objects.aget()
    assert entry.key_id == (await ApiKey.objects.aget()).pk
    assert (entry.input_tokens, entry.output_tokens, entry.turns, entry.day) == (10, 20, 1, timezone.now().date())
