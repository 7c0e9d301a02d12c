"""The WebSocket server: compression offers, and pages of another release."""

from __future__ import annotations

import hashlib

import pytest
from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept
from twisted.internet.error import ConnectionLost
from twisted.internet.tcp import Connection

from chatui import wire
from chatui.live import consumer
from chatui.live.server import MAX_FRAME_BYTES, WINDOW_BITS, _Protocol, accepted_compression
from chatui.models import User
from tests.support.browser_socket import BrowserSocket
from tests.tools import wire_types

CONTRACTS = {7: "bb58226f1ffb04d4"}
"""The digest of the contract for the newest version only; a change that older pages accept changes just the digest."""


def test_only_bounded_deflate_is_accepted() -> None:
    accept = accepted_compression([PerMessageDeflateOffer()])
    assert isinstance(accept, PerMessageDeflateOfferAccept)
    assert (accept.window_bits, accept.max_message_size) == (WINDOW_BITS, MAX_FRAME_BYTES)
    assert accepted_compression([]) is None


def test_the_version_is_reconsidered_when_the_contract_changes() -> None:
    digest = hashlib.sha256(wire_types.source().encode()).hexdigest()[:16]
    assert {wire.PROTOCOL: digest} == CONTRACTS, "Would a page of the last release bear this change? If not, raise wire.PROTOCOL."


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("query", "is_reported"), [("", False), (f"?protocol={wire.PROTOCOL}", False), ("?protocol=0", True), ("?protocol=x", True)]
)
async def test_e_x_other_release_a_page_of_another_release_is_told_to_reload(query: str, is_reported: bool, ada: User) -> None:
    async with BrowserSocket(ada, path=f"/ws/{query}") as socket:
        if is_reported:
            events = await socket.until("closed")
            assert events[-2]["code"] == "E-X-OTHER-RELEASE" and socket.close_code == consumer.CLOSE_OTHER_RELEASE
        else:
            await socket.send("subscribe", conversation="nobody's")
            assert (await socket.next())["code"] == "E-X-NOT-FOUND"


class Peer(Connection):
    """A connection whose system accepts ``takes`` bytes at a time, or fails."""

    def __init__(self, takes: int | ConnectionLost) -> None:
        self.takes = takes
        self.sent: list[bytes] = []
        self.buffered: list[bytes] = []
        self.connected = True
        self._tempDataBuffer: list[bytes] = []

    def writeSomeData(self, data: bytes) -> int | ConnectionLost:  # noqa: N802
        if not isinstance(self.takes, int):
            return self.takes
        self.sent.append(bytes(data[: self.takes]))
        return len(self.sent[-1])

    def write(self, data: bytes) -> None:
        self.buffered.append(data)


@pytest.mark.parametrize(
    ("takes", "sent", "buffered"),
    [(100, [b"hello"], []), (2, [b"he"], [b"llo"]), (0, [b""], [b"hello"]), (ConnectionLost(), [], [b"hello"])],
)
def test_a_frame_is_written_at_once_as_far_as_the_system_accepts_it(takes: int, sent: list[bytes], buffered: list[bytes]) -> None:
    protocol, peer = _protocol(), Peer(takes)
    protocol.transport = peer
    protocol.sendData(b"hello")
    assert (peer.sent, peer.buffered) == (sent, buffered)


@pytest.mark.parametrize(
    "held", [{"dataBuffer": b"x"}, {"_tempDataBuffer": [b"x"]}, {"disconnecting": True}, {"TLS": True}, {"connected": False}]
)
def test_a_frame_waits_behind_earlier_ones(held: dict[str, object]) -> None:
    protocol, peer = _protocol(), Peer(100)
    vars(peer).update(held)
    protocol.transport = peer
    protocol.sendData(b"hello")
    assert (peer.sent, peer.buffered) == ([], [b"hello"])


def _protocol() -> _Protocol:
    protocol = _Protocol()
    protocol.send_queue, protocol.peer, protocol.logOctets, protocol.state = [], "", False, None
    return protocol
