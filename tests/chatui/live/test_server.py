"""The server around the sockets: what it answers to offers of compression, and pages of another release."""

from __future__ import annotations

import hashlib

import pytest
from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept

from chatui import wire
from chatui.live import consumer
from chatui.live.server import MOST_FRAME_BYTES, WINDOW_BITS, accepted_compression
from chatui.models import User
from tests.support.browser_socket import BrowserSocket
from tests.tools import wire_types

CONTRACTS = {2: "b764750b66e2e6d0"}
"""The digest of the contract that each version stands for. The newest only; a change that older pages bear changes the digest alone."""


def test_deflate_is_accepted_with_bounds_and_nothing_else() -> None:
    accept = accepted_compression([PerMessageDeflateOffer()])
    assert isinstance(accept, PerMessageDeflateOfferAccept)
    assert (accept.window_bits, accept.max_message_size) == (WINDOW_BITS, MOST_FRAME_BYTES)
    assert accepted_compression([]) is None


def test_the_version_is_thought_of_whenever_the_contract_changes() -> None:
    digest = hashlib.sha256(wire_types.source().encode()).hexdigest()[:16]
    assert {wire.PROTOCOL: digest} == CONTRACTS, "Would a page of the last release bear this change? If not, raise wire.PROTOCOL."


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("query", "is_told"), [("", False), (f"?protocol={wire.PROTOCOL}", False), ("?protocol=0", True), ("?protocol=x", True)]
)
async def test_e_x_other_release_a_page_of_another_release_is_told_to_reload(query: str, is_told: bool, ada: User) -> None:
    async with BrowserSocket(ada, path=f"/ws/{query}") as socket:
        if is_told:
            events = await socket.until("closed")
            assert events[-2]["code"] == "E-X-OTHER-RELEASE" and socket.close_code == consumer.CLOSE_OTHER_RELEASE
        else:
            await socket.say("subscribe", conversation="nobody's")
            assert (await socket.next())["code"] == "E-X-NOT-FOUND"
