"""A program that does not read what it is sent is given up before it fills the memory."""

from __future__ import annotations

from twisted.internet.tcp import Connection

from chatui.live import server


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
