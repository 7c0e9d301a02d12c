"""The canary's own model server: one address for each wire format; each answer is a Script that continues on command."""

from __future__ import annotations

import json
import secrets
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from chatui import prompts
from chatui.model_servers import connected
from chatui.operations.canary.scripts import ENDS_OF_A_CALL, PAUSE, Script
from chatui.operations.canary.watch import CanaryError
from renderer.harmony.vocabulary import VocabularyError

_MAX_BODY_BYTES = 16 << 20
_MAX_WAIT_SECONDS = 600.0
_PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/completions")


@dataclass(eq=False)
class Playing:
    """One Script while it is played: it starts, and continues after a pause, on command, so that a listener can connect first.

    ``may_begin`` is for this request, and for every retry by the product after a failed answer.
    """

    script: Script
    asked: threading.Event = field(default_factory=threading.Event)
    may_begin: threading.Event = field(default_factory=threading.Event)
    at_a_pause: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    may_continue: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))


class CanaryServer(ThreadingHTTPServer):
    """The canary's model server. ``with CanaryServer(("127.0.0.1", 0), scripts) as peer``. ``scripts`` by kind. Requests without the secret
    path are not answered."""

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, place: tuple[str, int], scripts: Mapping[str, Sequence[Script]]) -> None:
        """``place``: host and port to listen on; port 0 takes a free one. Raises CanaryError if that fails."""
        self._secret = secrets.token_hex(16)
        self._plays = {(kind, script.name): Playing(script) for kind, of_kind in scripts.items() for script in of_kind}
        for playing in self._plays.values():
            if playing.script.is_aside:
                playing.may_begin.set()
        self.address_family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        try:
            super().__init__(place, _Handler)
        except OSError as error:
            raise CanaryError(f"The canary's model server cannot listen there: {error.strerror or error}.") from error

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores errors: the canary makes the product close connections in the middle of an answer."""

    def url(self, kind: str) -> str:
        host, port = self.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else host
        return f"http://{shown!s}:{port}/{self._secret}/{kind}"

    def playing(self, kind: str, name: str) -> Playing:
        return self._plays[kind, name]

    def release(self) -> None:
        """Let every running answer continue to its end."""
        for playing in self._plays.values():
            playing.may_begin.set()
            playing.may_continue.release(1 + len(playing.script.steps))

    def models(self, path: str) -> dict[str, Playing] | None:
        """What the server of a path plays, by the names of models; None for a request that does not come from the product."""
        _, secret, kind, *_ = [*path.split("/", 3), "", ""]
        if not secrets.compare_digest(secret.encode(), self._secret.encode()):
            return None
        return {name: playing for (of, name), playing in self._plays.items() if of == kind}


class _Handler(BaseHTTPRequestHandler):
    server: CanaryServer
    timeout = 30
    server_version = "canary"
    sys_version = ""
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        models = self.server.models(self.path)
        if models is None or not self.path.endswith("/v1/models"):
            self._respond(404, {"error": "not found"})
        else:
            self._respond(200, {"data": [{"id": name, "object": "model"} for name in models]})

    def do_POST(self) -> None:
        models = self.server.models(self.path) if self.path.endswith(_PATHS) else None
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size) if 0 < size <= _MAX_BODY_BYTES else b"{}"
        playing = (models or {}).get(str(json.loads(body).get("model")))
        if playing is None:
            self._respond(404, {"error": "not found"})
        elif _asks_for_title(body) or (playing.asked.is_set() and set(ENDS_OF_A_CALL) <= set(playing.script.ends)):
            self._play(playing.script)  # without pauses: also if the product asks again because the script called a tool
        else:
            playing.asked.set()
            playing.may_begin.wait(_MAX_WAIT_SECONDS)
            self._play(playing.script, playing)

    def _play(self, script: Script, playing: Playing | None = None) -> None:
        self.send_response_only(script.status)
        self.send_header("Content-Type", script.content_type)
        for name, value in script.headers:
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        for step in script.steps:
            if step is not PAUSE:
                self.wfile.write(step)
            elif playing is not None:
                playing.at_a_pause.release()
                playing.may_continue.acquire(timeout=_MAX_WAIT_SECONDS)
        self.close_connection = True

    def _respond(self, status: int, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Logs nothing: requests contain the conversation."""


def _asks_for_title(body: bytes) -> bool:
    """Whether a request is for the title of the conversation.

    The reply is the whole script again, at once: text that is hidden in an answer must not become a title.
    """
    prompt, beginning = json.loads(body).get("prompt"), prompts.read("title").partition("\n")[0].encode()
    if not isinstance(prompt, list):
        return beginning in body
    try:
        words = connected.gpt_oss_vocabulary()
    except VocabularyError:
        return False  # without one, the product sends no token ids
    return beginning in words.decode([number for number in prompt if number < len(words.bytes_of)])
