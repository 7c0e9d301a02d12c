"""Programs of one person that read a lot at once: nobody else waits for them, and what waits too long is told to come again."""

import asyncio
import threading
from typing import Any

import pytest

from chatui.api import conversations
from chatui.models.user import User
from chatui.turns.stored_program import stored_conversation
from tests.chatui.api.asking import Program, json_of, new_key
from tests.support.limits import limit, set_limits

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 20
"""More than the threads that read the database."""


class HeldReads:
    """Holds every reading of Ada's conversations until ``go``. ``most``: how many were held at once; ``begun``: which ones, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, person: User) -> None:
        self.go, self._lock, self._now, self.most = threading.Event(), threading.Lock(), 0, 0
        self._person, self.begun = person, list[Any]()
        monkeypatch.setattr(conversations, "stored_conversation", self._read)

    def _read(self, person: User, *arguments: Any) -> Any:
        if person.pk == self._person.pk:
            with self._lock:
                self.begun.append(arguments[0])
                self._now += 1
                self.most = max(self.most, self._now)
            self.go.wait(8)
            with self._lock:
                self._now -= 1
        return stored_conversation(person, *arguments)


async def test_nobody_waits_for_what_the_programs_of_another_read(
    program: Program, ada: User, bela: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, second, foreign = HeldReads(monkeypatch, ada), Program(await new_key(ada)), Program(await new_key(bela))
    paths = [f"/v1/conversations/{json_of(await each.post('/v1/conversations', {}))['id']}/items" for each in (program, second, foreign)]
    reads = [asyncio.create_task(each.get(path)) for each, path in [(program, paths[0]), (second, paths[1])] * (MANY // 2)]
    try:
        await asyncio.sleep(0.3)
        other = await asyncio.wait_for(foreign.get(paths[2]), 5)
        assert other.status_code == 200 and 0 < held.most <= limit("chatui.api", "AT_ONCE"), "of all keys of the person together"
    finally:
        held.go.set()
        found = await asyncio.gather(*reads)
    assert {response.status_code for response in found} == {200} and held.most <= limit("chatui.api", "AT_ONCE"), (
        "they waited, and none was lost"
    )


async def test_no_key_waits_for_all_that_another_key_of_its_person_reads(
    program: Program, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, second = HeldReads(monkeypatch, ada), Program(await new_key(ada))
    made = [json_of(await each.post("/v1/conversations", {}))["id"] for each in (program, second)]
    reads = [asyncio.create_task(program.get(f"/v1/conversations/{made[0]}/items")) for _ in range(MANY)]
    await asyncio.sleep(0.3)
    reads.append(asyncio.create_task(second.get(f"/v1/conversations/{made[1]}/items")))
    await asyncio.sleep(0.3)
    held.go.set()
    assert {response.status_code for response in await asyncio.gather(*reads)} == {200} and len(held.begun) == MANY + 1
    (place,) = [place for place, each in enumerate(held.begun) if held.begun.count(each) == 1]
    assert place <= 2 * limit("chatui.api", "AT_ONCE"), "behind what had begun, and a few that stood before it"


async def test_what_waits_too_long_is_told_to_come_again(program: Program, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.api", PATIENCE=0.2)
    held = HeldReads(monkeypatch, ada)
    path = f"/v1/conversations/{json_of(await program.post('/v1/conversations', {}))['id']}/items"
    reads = [asyncio.create_task(program.get(path)) for _ in range(limit("chatui.api", "AT_ONCE"))]
    try:
        await asyncio.sleep(0.1)
        refused = await program.get(path)
        assert refused.status_code == 503 and json_of(refused)["error"]["code"] == "server_busy"
    finally:
        held.go.set()
        found = await asyncio.gather(*reads)
    assert {response.status_code for response in found} == {200}
    assert (await program.get(path)).status_code == 200
