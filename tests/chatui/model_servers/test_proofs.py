"""What servers have proved, as it is stored: for whom it counts, and that what was taken back stays so."""

import asyncio
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.backends.separation import MAX_UPSTREAMS, OwnProofs
from chatui.backends.spec import BackendSpec
from chatui.model_servers import connected, proofs
from chatui.model_servers.proofs import StoredProofs
from chatui.models.model_servers import SeparationProof
from tests.support.new_process import begin_anew

URL = "http://127.0.0.1:9"
SPEC = BackendSpec(name="one", url=URL, kind="chat")


def of(key: str | None = None, url: str = URL, **settings: Any) -> StoredProofs:
    return StoredProofs(SPEC.model_copy(update=settings), url, key)


def another_process() -> None:
    begin_anew(proofs, connected)
    connected.specs()


def test_what_a_test_learned_counts_after_a_restart_and_until_a_sign(db: None) -> None:
    learned = OwnProofs()
    learned.keep("alpha", "", "v1")
    of().take(learned)
    another_process()
    assert of().version_of("alpha", "") == "v1"
    learned.end("alpha", "")
    of().take(learned)
    assert of().version_of("alpha", "") is None and not SeparationProof.objects.exists()


@pytest.mark.parametrize("other", [
    {"key": "sk-other"}, {"url": "http://127.0.0.1:8"}, {"kind": "responses"}, {"ask_for_reasoning": False}, {"api_root": True},
    {"sampling": {"temperature": 0.5}}, {"summaries": "server"},
])  # fmt: skip
def test_a_proof_counts_for_these_settings_alone(other: dict[str, Any], db: None) -> None:
    learned = OwnProofs()
    learned.keep("alpha", "", "")
    of().take(learned)
    assert of().version_of("alpha", "") == "" and of(name="renamed", label="One").version_of("alpha", "") == ""
    assert of(**other).version_of("alpha", "") is of().version_of("beta", "") is of().version_of("alpha", "upstream") is None


@pytest.mark.django_db(transaction=True)
async def test_what_this_process_took_back_does_not_return_with_rows_that_were_read_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting: list[Any] = []

    def post(write: Any, **_: object) -> "asyncio.Future[None]":
        waiting.append(write)
        return asyncio.get_running_loop().create_future()

    monkeypatch.setattr("chatui.database.writer.writer.post", post)
    here = of()
    here.keep("alpha", "", "v1")
    assert here.version_of("alpha", "") == "v1", "at once, not only once it is stored"
    await database_sync_to_async(waiting[0])()
    here.end("alpha", "")
    begin_anew(connected)
    await database_sync_to_async(connected.specs)()
    assert await SeparationProof.objects.aexists(), "the premise: its removal is not committed yet"
    assert here.version_of("alpha", "") is None and len(waiting) == 2
    here.keep("alpha", "", "v1")
    assert here.version_of("alpha", "") == "v1", "the next proof is another one"


def test_of_a_gateway_with_many_upstreams_the_newest_are_kept(db: None) -> None:
    learned = OwnProofs()
    for number in range(MAX_UPSTREAMS + 3):
        learned.keep("alpha", str(number), "")
    learned.keep("beta", "", "")
    of().take(learned)
    assert SeparationProof.objects.count() == MAX_UPSTREAMS + 1
    assert of().version_of("alpha", "0") is None and of().version_of("alpha", str(MAX_UPSTREAMS + 2)) == of().version_of("beta", "") == ""


def test_the_backends_of_people_use_what_is_stored(db: None) -> None:
    learned = OwnProofs()
    learned.keep("alpha", "", "")
    of().take(learned)
    backend: Any = connected.build(SPEC, None)
    assert backend._separations.of("alpha") == "structured"
