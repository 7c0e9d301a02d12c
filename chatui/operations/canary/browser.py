"""A simulated browser and its tab, which check everything that they receive.

The browser fetches pages with cookies and CSRF tokens. The tab uses the product's WebSocket, with the browser's cookies and origin.
"""

from __future__ import annotations

import contextlib
import json
import re
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from chatui.live.page_socket import COMMANDS_BURST, COMMANDS_PER_SECOND
from chatui.operations.canary.watch import SOCKET, CanaryError, Clock, LeakWatch

_REQUEST_SECONDS = 30.0
_MAX_FRAME_BYTES = 16 << 20
_SECONDS = 60.0
_TOKEN = re.compile(r'name="csrf-?(?:middleware)?token" (?:content|value)="([^"]+)"')

File = tuple[str, bytes, str]
"""The name, the content and the type of a file in a form."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The visited deployment: its ``origin`` (scheme, host and port), the Watch that checks its output, and the remaining time.
    ``transport``: how requests get there, if not over the network."""

    origin: str
    watch: LeakWatch
    clock: Clock
    transport: httpx.BaseTransport | None = None


class HttpVisitor(contextlib.ExitStack):
    """Asks the deployment over HTTP, and checks everything that it answers: ``with`` it. ``viewer``: the visitor's name in the report.

    Redirects are not followed.
    """

    def __init__(self, viewer: str, deployment: Deployment, headers: Mapping[str, str]) -> None:
        super().__init__()
        self.viewer = viewer
        self.origin = deployment.origin
        self.watch = deployment.watch
        self.clock = deployment.clock
        self._certificates = ssl.create_default_context()
        # No proxy and no .netrc from the environment: only this deployment gets requests.
        self._client = self.enter_context(
            httpx.Client(base_url=self.origin, headers=headers, trust_env=False, verify=self._certificates, transport=deployment.transport)
        )

    def fetch(self, method: str, path: str, place: str, **content: Any) -> httpx.Response:
        """One request, with httpx's parameters for its content; ``place``: its name in the report."""
        try:
            response = self._client.request(method, path, timeout=self.clock.left(_REQUEST_SECONDS), **content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # The operating system's or OpenSSL's words, but never any from the other side.
            why = f"{type(error).__name__}, {error}" if isinstance(error, httpx.ConnectError) else type(error).__name__
            raise CanaryError(f"{place} could not be fetched: {why}.") from error
        self.look(place, "body", response.content)
        self.watch.look(self.viewer, place, "status line", response.reason_phrase)
        for name, value in response.headers.multi_items():
            self.watch.look(self.viewer, place, f"header {name}", f"{name}: {value}")
        return response

    def look(self, place: str, part: str, what: str | bytes) -> None:
        self.watch.looked[f"answers to the {self.viewer}"] += 1
        self.watch.look(self.viewer, place, part, what)

    def connected(self, path: str, place: str, headers: Mapping[str, str], **options: Any) -> ClientConnection:
        """A socket with these headers, to be closed by the caller. Raises CanaryError, and InvalidStatus if it is refused."""
        try:
            connection: ClientConnection = connect(
                self.origin.replace("http", "ws", 1) + path,
                additional_headers=headers,
                ssl=self._certificates if self.origin.startswith("https") else None,
                proxy=None,
                open_timeout=self.clock.left(_SECONDS),
                close_timeout=1,
                max_size=_MAX_FRAME_BYTES,
                **options,
            )
        except InvalidStatus:
            raise
        except (OSError, WebSocketException) as error:
            raise CanaryError(f"The socket could not be opened: {type(error).__name__}.") from error
        for name, value in connection.response.headers.raw_items() if connection.response else ():
            self.watch.look(self.viewer, place, f"header {name}", f"{name}: {value}")
        return connection


class SimulatedBrowser(HttpVisitor):
    """A simulated browser, with cookies and CSRF tokens: ``with SimulatedBrowser("owner", deployment) as owner``."""

    def __init__(self, viewer: str, deployment: Deployment) -> None:
        super().__init__(viewer, deployment, {"Origin": deployment.origin, "Referer": f"{deployment.origin}/", "Accept": "text/html"})
        self._token = ""

    @property
    def cookies(self) -> str:
        """The cookies as a header, for opening a socket."""
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self._client.cookies.jar)

    def sign_in(self, address: str, name: str, password: str) -> None:
        """Sign in on the page at ``address``. Raises CanaryError if that fails."""
        self.get(address, address)
        answer = self.post(address, address, {"username": name, "password": password})
        if answer.status_code in (301, 308):
            raise CanaryError("The deployment sends on to another address. --url must be the one under which people reach it.")
        if answer.status_code != 302:
            raise CanaryError(f"The {self.viewer} could not sign in: {address} answered {answer.status_code}.")

    def fetch(self, method: str, path: str, place: str, **content: Any) -> httpx.Response:
        """Keeps the CSRF token of a page for the next form."""
        answer = super().fetch(method, path, place, **content)
        if is_html(answer) and (token := _TOKEN.search(answer.text)):
            self._token = token[1]
        return answer

    def get(self, path: str, place: str) -> httpx.Response:
        return self.fetch("GET", path, place)

    def post(self, path: str, place: str, form: Mapping[str, str], files: Mapping[str, File] | None = None) -> httpx.Response:
        return self.fetch("POST", path, place, data={**form, "csrfmiddlewaretoken": self._token}, files=files)


def is_html(answer: httpx.Response) -> bool:
    """Whether it is a page or a part of one."""
    return bool(answer.headers.get("content-type", "").startswith("text/html"))


def origin_of(url: str) -> str:
    """Scheme, host and port of an address. Raises CanaryError if it is not a web address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise CanaryError("--url must be an address such as https://chat.example.org")
    return f"{parts.scheme}://{parts.netloc}"


_COMMANDS_PER_SECOND = COMMANDS_PER_SECOND / 2
_COMMANDS_AT_ONCE = COMMANDS_BURST / 2
"""A tab sends commands at half the pace at which the product would close its socket, however fast the machine is."""
_OF_STAFF = ("chatui:debug", "chatui:frame")
"""The prefixes of events that are only sent to permitted staff."""


class NoEventError(CanaryError):
    """No event arrived in time."""


class Tab(contextlib.ExitStack):
    """A simulated tab: ``with Tab(browser) as tab``.

    Events come as a flat list, in order; ``heard``: all received text, and the HTML of each block.
    """

    def __init__(self, browser: SimulatedBrowser) -> None:
        super().__init__()
        self._browser = browser
        self.watch = browser.watch
        self._events: list[dict[str, Any]] = []
        self.heard: list[str] = []
        self._allowance = _COMMANDS_AT_ONCE
        self._last_command = time.monotonic()
        try:
            opened = browser.connected("/ws/", SOCKET, {"Cookie": browser.cookies}, origin=Origin(browser.origin))
        except InvalidStatus as error:
            raise CanaryError(f"The socket was not opened: the server answered {error.response.status_code}.") from error
        self._connection = self.enter_context(opened)

    def say(self, command: str, **fields: object) -> None:
        """Send one command, as soon as the pace allows it."""
        self.watch.looked[f"commands {command}"] += 1
        self._send({"type": command, **fields})

    def answer_to(self, command: str, *types: str, **fields: object) -> dict[str, Any] | None:
        """Send one command, and return its refusal or its event of one of these types; None if it was carried out without either.

        The product answers in order, so the refusal of a command that does not exist, sent behind it, says that none will come.
        """
        self.say(command, **fields)
        behind = str(uuid4())
        self._send({"type": "canary", "client_id": behind})
        answer = self.until("chatui:refused", *types)
        if answer.get("client_id") == behind:
            return None
        while self.until("chatui:refused").get("client_id") != behind:
            pass
        return answer

    def until(self, *types: str, turn: str | None = None, seconds: float = _SECONDS) -> dict[str, Any]:
        """The first event of one of these types (of ``turn``, if given)."""
        while True:
            event = self._next(self._browser.clock.left(seconds))
            if event.get("type") in types and (turn is None or event.get("turn") == turn):
                return event

    def _send(self, message: Mapping[str, object]) -> None:
        self._wait_for_turn()
        try:
            self._connection.send(json.dumps(message))
        except ConnectionClosed as error:
            raise CanaryError("The socket was closed from the other side.") from error

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
                raise NoEventError(f"The socket of the {self._browser.viewer} was silent for {seconds:.0f} s.") from error
            except ConnectionClosed as error:
                self._look("close reason", str(error))
                raise CanaryError(f"The socket of the {self._browser.viewer} was closed from the other side.") from error
            self._take(frame)
        return self._events.pop(0)

    def _take(self, frame: str | bytes) -> None:
        text = frame if isinstance(frame, str) else frame.decode("utf-8", "replace")
        self.heard.append(text)
        try:
            events = json.loads(text)
        except ValueError:
            events = None
        if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
            self._look("event", text)
            raise CanaryError("The socket sent what is no list of events.")
        if not self.watch.awaits_withdrawal:
            self._look("event", text)
        for event in events:
            self._look_at_one(event)
            self.watch.looked["events on sockets"] += 1
            if str(event.get("type")).startswith(_OF_STAFF):
                self.watch.note("event of the debug view", self._browser.viewer, SOCKET, "event")
            if event.get("type") == "chatui:summary":
                self.watch.looked["lines of summaries"] += 1
            if event.get("type") == "chatui:ping":
                self.say("pong", number=event.get("number"))
        self._events += events

    def _look_at_one(self, event: dict[str, Any]) -> None:
        """Each event is checked: one frame may contain text, its withdrawal, and what follows."""
        if event.get("type") == "chatui:withdrawn":
            self.watch.withdrawn()
        if self.watch.awaits_withdrawal:
            self._look("event", json.dumps(event, ensure_ascii=False))
        if block := str(event.get("html", "")):
            self.heard.append(block)
            self._look("block", block)

    def _look(self, part: str, text: str) -> None:
        self.watch.look(self._browser.viewer, SOCKET, part, text)
