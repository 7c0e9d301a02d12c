"""A proxy on loopback that forwards requests to the product and records what each client sent."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

MAX_CHARS = 160
"""Length to which each recorded text is cut: only the shape of a request matters."""
_IDS = re.compile(r"(?:resp|call)_[0-9a-f]{32}")


class Recorder:
    """``url`` is the base address for clients; ``take`` returns the exchanges since its last call."""

    def __init__(self, target: str) -> None:
        self.exchanges: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._pass(None)

            def do_POST(self) -> None:
                self._pass(self.rfile.read(int(self.headers["Content-Length"])))

            def log_message(self, format: str, *values: object) -> None:
                pass

            def _pass(self, body: bytes | None) -> None:
                passed = ("Authorization", "x-api-key", "anthropic-version", "anthropic-beta")
                headers = {name: value for name in passed if (value := self.headers[name])} | {"Content-Type": "application/json"}
                try:
                    reply = urlopen(Request(target + self.path, body, headers), timeout=60)
                except HTTPError as error:
                    reply = error
                found = reply.read()
                if body is not None:
                    outer.exchanges.append(
                        {"path": self.path, "body": json.loads(body), "status": reply.status, "ids": ids_of(found.decode())}
                    )
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.headers["Content-Type"])
                self.send_header("Content-Length", str(len(found)))
                self.end_headers()
                self.wfile.write(found)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def take(self) -> list[dict[str, Any]]:
        """The exchanges since the last call."""
        found, self.exchanges = self.exchanges, []
        return found

    def close(self) -> None:
        """Stop forwarding."""
        self._server.shutdown()
        self._server.server_close()


def ids_of(text: str) -> list[str]:
    """The distinct ids of responses and calls in a reply, in order: the next request refers to them."""
    return list(dict.fromkeys(_IDS.findall(text)))


def shortened(value: Any, home: str) -> Any:
    """A recorded value without long texts and without paths of the recording machine."""
    if isinstance(value, str):
        text = value.replace(home, "~")
        return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]} …"
    if isinstance(value, list):
        return [shortened(each, home) for each in value]
    if isinstance(value, dict):
        return {name: shortened(each, home) for name, each in value.items()}
    return value
