"""A real llama.cpp server configured by address alone: the product chooses token ids, and separates the preamble from the answer."""

import logging
from typing import Any

import pytest

from chatui.backends.auto import AutoBackend
from chatui.model_servers import connected
from renderer.gate import Audience, may_see, show
from renderer.harmony.vocabulary import Vocabulary
from tests.backends.recorded import ITINERARY
from tests.support.sampling import outcome, sample_request
from tests.support.several import Configure
from tests.support.several import closing as closing
from tests.support.several import configure as configure

pytestmark = pytest.mark.llama


async def test_with_only_the_address_the_preamble_is_separate_from_the_answer(
    configure: Configure,
    closing: None,
    llama_server: str,
    vocabulary: Vocabulary,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(connected, "gpt_oss_vocabulary", lambda: vocabulary)
    configure(backend_url=llama_server)
    backend: Any = connected.backend()
    assert isinstance(backend, AutoBackend)
    result = await outcome(backend, sample_request("Plan a weekend trip to Paris."))
    shown = [done.frame for done in result.finished if may_see(done.frame.header, Audience.END_USER)]
    assert [frame.header.intent for frame in shown] == ["preamble", None], "two messages, of which the first is a preamble"
    assert "".join(show(frame, Audience.END_USER) for frame in shown) == ITINERARY
    assert (await backend.choice()).kind == "harmony-llamacpp"
    assert sum("wire format harmony-llamacpp chosen" in record.getMessage() for record in caplog.records) == 1
