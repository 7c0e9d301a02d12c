"""A simulated API client: sends requests to ``/v1`` with a key, over HTTP and WebSocket, and checks everything that it receives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import httpx
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import connect

from chatui.canary.visitors.browser import Answer, Deployment
from chatui.canary.watch import CanaryError

SOCKET = "v1/responses (socket)"
_SECONDS = 30.0
_MAX_BYTES = 16 << 20
_ENDS = ("response.completed", "response.incomplete", "response.failed", "error")


class Program:
    """A simulated API client: ``with Program("program", deployment, key) as program``. ``viewer``: the client's name in the report."""

    def __init__(self, viewer: str, deployment: Deployment, key: str) -> None:
        self.viewer = viewer
        self._origin = deployment.origin
        self._watch = deployment.watch
        self._clock = deployment.clock
        self._headers = {"Authorization": f"Bearer {key}"}
        self._client = httpx.Client(base_url=deployment.origin, headers=self._headers, trust_env=False)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.close()

    def ask(self, method: str, path: str, place: str, body: Mapping[str, Any] | None = None) -> Answer:
        """One request; ``place``: its name in the report."""
        try:
            response = self._client.request(method, path, json=body, timeout=self._clock.left(_SECONDS))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CanaryError(f"{place} could not be asked: {type(error).__name__}.") from error
        self._look(place, "body", response.content)
        for name, value in response.headers.multi_items():
            self._look(place, f"header {name}", f"{name}: {value}")
        return Answer(response.status_code, response.headers, response.content)

    def talk(self, body: Mapping[str, Any]) -> bool:
        """Request one response over the socket. Returns whether the connection was accepted."""
        try:
            address = self._origin.replace("http", "ws", 1) + "/v1/responses"
            opening = connect(address, additional_headers=self._headers, proxy=None, max_size=_MAX_BYTES, close_timeout=1)
            with opening as connection:
                connection.send(json.dumps({"type": "response.create", **body}))
                while True:
                    text = str(connection.recv(timeout=self._clock.left(_SECONDS)))
                    self._look(SOCKET, "event", text)
                    if json.loads(text).get("type") in _ENDS:
                        return True
        except InvalidStatus:
            return False
        except (OSError, ValueError, WebSocketException) as error:
            raise CanaryError(f"The socket of the {self.viewer} failed: {type(error).__name__}.") from error

    def _look(self, place: str, part: str, what: str | bytes) -> None:
        self._watch.looked[f"answers to the {self.viewer}"] += 1
        self._watch.look(self.viewer, place, part, what)
