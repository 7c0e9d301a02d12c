"""A simulated tab: the product's WebSocket, with a Browser's cookies and origin. Checks everything that it receives."""

from __future__ import annotations

import contextlib
import json
import time
from types import TracebackType
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from chatui.canary.visitors.browser import Browser
from chatui.canary.watch import SOCKET, CanaryError
from chatui.live.inbound_queue import COMMANDS_BURST, COMMANDS_PER_SECOND
from chatui.wire import Expander

PLACE = SOCKET
_MAX_FRAME_BYTES = 16 << 20
_SECONDS = 15.0
_COMMANDS_PER_SECOND = COMMANDS_PER_SECOND / 2
_COMMANDS_AT_ONCE = COMMANDS_BURST / 2
"""A tab sends commands at half the pace at which the product would close its socket, however fast the machine is."""
_OF_STAFF = ("chatui:debug", "chatui:frame")
"""The prefixes of events that are only sent to permitted staff."""


class SilentError(CanaryError):
    """No event arrived in time."""


class Tab:
    """A simulated tab: ``with Tab(browser) as tab``.

    Events come as a flat list, in order; ``heard``: all received text, and the HTML of each block.
    """

    def __init__(self, browser: Browser, *, address: str = "/ws/") -> None:
        self._browser = browser
        self.watch = browser.watch
        self._address = browser.origin.replace("http", "ws", 1) + address
        self._events: list[dict[str, Any]] = []
        self._expander = Expander()
        self._open = contextlib.ExitStack()
        self.heard: list[str] = []
        self._allowance = _COMMANDS_AT_ONCE
        self._last_command = time.monotonic()

    def __enter__(self) -> Tab:
        browser = self._browser
        try:
            opening = connect(
                self._address,
                origin=Origin(browser.origin),
                additional_headers={"Cookie": browser.cookies},
                ssl=browser.certificates if self._address.startswith("wss") else None,
                proxy=None,
                open_timeout=browser.clock.left(_SECONDS),
                close_timeout=1,
                max_size=_MAX_FRAME_BYTES,
            )
            self._connection: ClientConnection = self._open.enter_context(opening)
        except InvalidStatus as error:
            raise CanaryError(f"The socket was not opened: the server answered {error.response.status_code}.") from error
        except (OSError, WebSocketException) as error:
            raise CanaryError(f"The socket could not be opened: {type(error).__name__}.") from error
        for name, value in self._connection.response.headers.raw_items() if self._connection.response else ():
            self._look(f"header {name}", f"{name}: {value}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()

    def say(self, command: str, **fields: object) -> None:
        """Send one command, as soon as the pace allows it."""
        self._wait_for_turn()
        self.watch.looked[f"commands {command}"] += 1
        try:
            self._connection.send(json.dumps({"type": command, **fields}))
        except ConnectionClosed as error:
            raise CanaryError("The socket was closed from the other side.") from error

    def until(self, *types: str, turn: str | None = None, seconds: float = _SECONDS) -> list[dict[str, Any]]:
        """Events up to and including the first one of these types (of ``turn``, if given)."""
        seen: list[dict[str, Any]] = []
        while True:
            seen.append(self._next(self._browser.clock.left(seconds)))
            if seen[-1].get("type") in types and (turn is None or seen[-1].get("turn") == turn):
                return seen

    def _wait_for_turn(self) -> None:
        now = time.monotonic()
        self._allowance = min(_COMMANDS_AT_ONCE, self._allowance + (now - self._last_command) * _COMMANDS_PER_SECOND) - 1
        self._last_command = now
        if self._allowance < 0:
            time.sleep(-self._allowance / _COMMANDS_PER_SECOND)

    def _next(self, seconds: float) -> dict[str, Any]:
        while not self._events:
            try:
                frame = self._connection.recv(timeout=seconds)
            except TimeoutError as error:
                raise SilentError(f"The socket of the {self._browser.viewer} was silent for {seconds:.0f} s.") from error
            except ConnectionClosed as error:
                self._look("close reason", str(error))
                raise CanaryError(f"The socket of the {self._browser.viewer} was closed from the other side.") from error
            self._take(frame)
        return self._events.pop(0)

    def _take(self, frame: str | bytes) -> None:
        text = frame if isinstance(frame, str) else frame.decode("utf-8", "replace")
        self.heard.append(text)
        try:
            events = self._expander.read(text)
        except ValueError:
            self._look("event", text)
            raise CanaryError("The socket sent what is no list of events.") from None
        if not self.watch.awaits_withdrawal:
            self._look("event", text)
        for event in events:
            self._look_at_one(event)
            self.watch.looked["events on sockets"] += 1
            if str(event.get("type")).startswith(_OF_STAFF):
                self.watch.note("event of the debug view", self._browser.viewer, PLACE, "event")
            if event.get("type") == "chatui:ping":
                self.say("pong", number=event.get("number"))
        self._events += events

    def _look_at_one(self, event: dict[str, Any]) -> None:
        """Each event is checked: one frame may contain text, its withdrawal, and what follows; short events add up to a block."""
        if event.get("type") == "chatui:withdrawn":
            self.watch.withdrawn()
        if self.watch.awaits_withdrawal:
            self._look("event", json.dumps(event, ensure_ascii=False))
        if block := str(event.get("html", "")):
            self.heard.append(block)
            self._look("block", block)

    def _look(self, part: str, text: str) -> None:
        self.watch.look(self._browser.viewer, PLACE, part, text)
