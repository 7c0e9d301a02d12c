"""The canary's own model server: one address for each wire format; each answer is a Script that continues on command."""

from __future__ import annotations

import json
import secrets
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from chatui import prompts
from chatui.model_servers import connected
from chatui.operations.canary.scripts import ENDS_OF_A_CALL, Pause, Script
from renderer.harmony.vocabulary import VocabularyError

_MAX_BODY_BYTES = 16 << 20
_MAX_WAIT_SECONDS = 600.0
_PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/completions")


@dataclass(eq=False)
class Playing:
    """One Script while it is played: it starts, and continues after a pause, on command, so that a listener can connect first."""

    script: Script
    asked: threading.Event = field(default_factory=threading.Event)
    at_a_pause: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _may_begin: threading.Event = field(default_factory=threading.Event)
    _may_continue: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def is_called_again(self) -> bool:
        """Whether the product repeats the request because the script called a tool: then the script plays without its pauses."""
        return self.asked.is_set() and set(ENDS_OF_A_CALL) <= set(self.script.ends)

    def rewind(self) -> None:
        """Prepare the script for a request, possibly for a second time."""
        self.asked.clear()
        self._may_begin.clear()

    def begin(self) -> None:
        """Answer this request, and every retry by the product after a failed answer."""
        self._may_begin.set()

    def resume(self) -> None:
        """Continue after this pause, or skip the next one."""
        self._may_continue.release()

    def was_asked(self) -> None:
        """Server side: a request arrived; wait for ``begin``."""
        self.asked.set()
        self._may_begin.wait(_MAX_WAIT_SECONDS)

    def pause(self) -> None:
        """Server side: a pause in the script."""
        self.at_a_pause.release()
        self._may_continue.acquire(timeout=_MAX_WAIT_SECONDS)


class CanaryServer:
    """The canary's model server. ``with Peer(("127.0.0.1", 0), scripts) as peer``. ``scripts`` by wire format. Requests without the
    secret path are not answered."""

    def __init__(self, place: tuple[str, int], scripts: Mapping[str, Sequence[Script]]) -> None:
        """``place``: host and port to listen on; port 0 takes a free one. Raises OSError if that fails."""
        self._secret = secrets.token_hex(16)
        self._plays = {(kind, script.name): Playing(script) for kind, of_kind in scripts.items() for script in of_kind}
        for playing in self._plays.values():
            if playing.script.is_aside:
                playing.begin()
        self._server = _Server(place, self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> CanaryServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()

    def url(self, kind: str) -> str:
        """The address of the model server of one wire format."""
        host, port = self._server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else host
        return f"http://{shown!s}:{port}/{self._secret}/{kind}"

    def playing(self, kind: str, name: str) -> Playing:
        """The state of one script."""
        return self._plays[kind, name]

    def release(self) -> None:
        """Let every running answer continue to its end."""
        for playing in self._plays.values():
            playing.begin()
            for _ in playing.script.steps:
                playing.resume()

    def kind_of(self, path: str) -> tuple[str, str] | None:
        """The wire format and the rest of the path; None for a request that does not come from the product."""
        _, secret, kind, rest = [*path.split("/", 3), "", "", ""][:4]
        return (kind, f"/{rest}") if secrets.compare_digest(secret.encode(), self._secret.encode()) else None

    def models(self, kind: str) -> list[str]:
        """The names that one model server offers."""
        return [name for of, name in self._plays if of == kind]

    def find(self, kind: str, name: object) -> Playing | None:
        """The script for a request for the model ``name``."""
        return self._plays.get((kind, str(name)))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, place: tuple[str, int], peer: CanaryServer) -> None:
        self.peer = peer
        self.address_family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        super().__init__(place, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores errors: the canary makes the product close connections in the middle of an answer."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 30
    server_version = "canary"
    sys_version = ""
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        asked = self.server.peer.kind_of(self.path)
        if asked and asked[1] == "/v1/models":
            names = self.server.peer.models(asked[0])
            self._respond(200, "application/json", {"data": [{"id": name, "object": "model"} for name in names]})
        else:
            self._respond(404, "application/json", {"error": "not found"})

    def do_POST(self) -> None:
        asked = self.server.peer.kind_of(self.path)
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size) if 0 < size <= _MAX_BODY_BYTES else b"{}"
        playing = self.server.peer.find(asked[0], json.loads(body).get("model")) if asked and asked[1] in _PATHS else None
        if playing is None:
            self._respond(404, "application/json", {"error": "not found"})
            return
        if _asks_for_title(body) or playing.is_called_again:
            self._play(playing.script)
            return
        playing.was_asked()
        self._play(playing.script, playing)

    def _play(self, script: Script, playing: Playing | None = None) -> None:
        self.send_response_only(script.status)
        self.send_header("Content-Type", script.content_type)
        for name, value in script.headers:
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        for step in script.steps:
            if step is not Pause.HERE:
                self.wfile.write(step)
            elif playing is not None:
                playing.pause()
        self.close_connection = True

    def _respond(self, status: int, content_type: str, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", content_type)
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
