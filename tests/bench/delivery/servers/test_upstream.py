"""The benchmark's model server behaves like a real one: the product's own backend can read it."""

from __future__ import annotations

import asyncio
import re

import pytest

from chatui.backends.base import Endpoint, EndReason
from chatui.backends.chat.backend import ChatCompletionsBackend
from tests.bench.delivery.load import stamps
from tests.bench.delivery.servers.upstream import HIDDEN, Connection, shape
from tests.support.sampling import PATIENT, outcome, sample_request


def test_an_answer_has_as_many_words_as_tokens() -> None:
    for tokens in (1, 2, 150, 1_000):
        assert [piece.count("#") - piece.count("## ") * 2 for piece in shape(tokens)] == [1] * tokens


@pytest.mark.asyncio
async def test_the_product_reads_every_word_in_order_and_the_hidden_text_apart() -> None:
    before = stamps.now()
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    backend = ChatCompletionsBackend(Endpoint(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", limits=PATIENT))
    try:
        result = await outcome(backend, sample_request("tokens=400 rate=4000"))
    finally:
        await backend.aclose()
        server.close()
    assert result.ended is not None
    assert result.ended.reason is EndReason.STOP
    assert result.hidden == HIDDEN
    ticks = stamps.WordFinder(before - 1).feed(result.visible, stamps.now() + 400)
    assert len(ticks) == 400
    assert ticks == sorted(set(ticks))
    assert re.search(r"^- ", result.visible, re.MULTILINE)
