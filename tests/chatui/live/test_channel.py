"""The head of a request has a minute, however it comes, and a program that does not read is given up before it fills the memory."""

from __future__ import annotations

import resource
from typing import Any

import pytest
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.tcp import Connection
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.web.http import HTTPFactory, Request

from chatui.live import open_files, server
from chatui.live.channel import HEAD_SECONDS, protocol

REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


class Answered(Request):
    """Answers once it is told to."""

    def process(self) -> None:
        waiting.append(self)


waiting: list[Any] = []


@pytest.fixture
def clock() -> Clock:
    waiting.clear()
    return Clock()


def connected(clock: Clock) -> tuple[Any, StringTransport]:
    factory: Any = HTTPFactory(timeout=HEAD_SECONDS, reactor=clock)  # type: ignore[arg-type]
    factory.protocol = protocol
    connection = factory.buildProtocol(None)
    connection.requestFactory = Answered
    transport = StringTransport()
    connection.makeConnection(transport)
    return connection, transport


def test_a_head_that_comes_byte_by_byte_is_given_up(clock: Clock) -> None:
    connection, transport = connected(clock)
    for _ in range(HEAD_SECONDS):
        assert not transport.disconnecting
        connection.dataReceived(b"G")
        clock.advance(1)
    assert transport.disconnecting


def test_a_silent_one_is_given_up_as_well(clock: Clock) -> None:
    _, transport = connected(clock)
    clock.advance(HEAD_SECONDS - 1)
    assert not transport.disconnecting
    clock.advance(1)
    assert transport.disconnecting


def test_an_answer_may_take_as_long_as_it_likes_and_the_next_head_has_a_minute_from_it(clock: Clock) -> None:
    connection, transport = connected(clock)
    for _ in range(3):
        clock.advance(HEAD_SECONDS - 1)
        connection.dataReceived(REQUEST)
        clock.advance(10 * HEAD_SECONDS)
        assert not transport.disconnecting, "while the answer is written"
        waiting.pop().finish()
    clock.advance(HEAD_SECONDS - 1)
    connection.dataReceived(REQUEST[:-4])
    assert not transport.disconnecting
    clock.advance(1)
    assert transport.disconnecting


def test_requests_that_were_sent_together_are_answered_one_after_the_other(clock: Clock) -> None:
    connection, transport = connected(clock)
    connection.dataReceived(REQUEST + REQUEST)
    waiting.pop().finish()
    clock.advance(10 * HEAD_SECONDS)
    assert not transport.disconnecting, "the second is being answered"
    waiting.pop().finish()
    clock.advance(HEAD_SECONDS)
    assert transport.disconnecting


def test_nothing_is_left_of_a_connection_that_ended(clock: Clock) -> None:
    connection, _ = connected(clock)
    connection.dataReceived(b"GET ")
    connection.connectionLost(Failure(ConnectionDone()))
    assert not clock.getDelayedCalls()


@pytest.mark.parametrize(
    ("limits", "raised"), [((1024, 4096), 4096), ((1024, 1_000_000), open_files.MOST), ((1024, resource.RLIM_INFINITY), open_files.MOST)]
)
def test_the_limit_of_open_files_is_raised(limits: tuple[int, int], raised: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: asked.append(wanted))
    open_files.raise_limit()
    assert asked == [(raised, limits[1])]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100_000, 100_000))
    open_files.raise_limit()
    assert len(asked) == 1, "what is higher stays"


class Stuck(Connection):
    """A connection that takes nothing more."""

    def __init__(self, waiting: int) -> None:
        self.dataBuffer, self.offset, self._tempDataLen = b"x" * 10, 10, waiting
        self.is_aborted = False

    def abortConnection(self) -> None:  # noqa: N802 - Twisted's name
        self.is_aborted = True


def test_a_connection_is_given_up_where_too_much_waits_for_it() -> None:
    for waiting, is_given_up in ((0, False), (server.MOST_UNSENT, False), (server.MOST_UNSENT + 1, True)):
        stuck = Stuck(waiting)
        server.give_up_slow(stuck)
        assert stuck.is_aborted is is_given_up
    server.give_up_slow(object())
