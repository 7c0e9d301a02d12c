"""Serves an application that fails before, in or after its reply: ``python -m tests.chatui.live.raising_server serve --port PORT``."""

from __future__ import annotations

import sys
from typing import Any

import django
from twisted.internet import reactor as twisted_reactor

SECONDS = 60
"""Nobody needs it for longer."""


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """``/early`` fails at once, ``/cut`` in the middle of a page, ``/ended`` after it; others are answered."""
    path = scope["path"]
    if path == "/early":
        raise RuntimeError(path)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    if path == "/cut":
        await send({"type": "http.response.body", "body": b"half a page", "more_body": True})
        raise RuntimeError(path)
    if path == "/ended":
        await send({"type": "http.response.body", "body": b"a page"})
        raise RuntimeError(path)
    await send({"type": "http.response.body", "body": b"a page"})


def main() -> None:
    """Serve."""
    django.setup()
    from chatui.live.server import Server  # needs Django's applications

    reactor: Any = twisted_reactor  # whose types do not know what is installed
    reactor.callLater(SECONDS, reactor.stop)
    Server(application, endpoints=[f"tcp:{sys.argv[-1]}:interface=127.0.0.1"], verbosity=0).run()


if __name__ == "__main__":
    main()
