"""Serves an application that fails before, in or after its reply, or responds slowly: ``python -m tests.chatui.live.raising_server serve
--port PORT``. With ``MOVING_SECONDS`` in the environment, slow transfers are detected after that many seconds."""

import asyncio
import os
import sys
from typing import Any

import django
from twisted.internet import reactor as twisted_reactor

SECONDS = 60
"""The server ends by itself after this time."""
TICKS = 12
"""Units of half a second: ``/ticks`` is written for that long."""


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """``/early`` fails at once, ``/cut`` in the middle of a page, ``/ended`` after it; ``/ticks`` is written slowly, ``/counted`` returns
    the length of the body; other paths succeed."""
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
    if path == "/ticks":
        for _ in range(TICKS):
            await send({"type": "http.response.body", "body": b".", "more_body": True})
            await asyncio.sleep(0.5)
    if path == "/counted":
        print("counted", flush=True)
        await send({"type": "http.response.body", "body": str(await _length(receive)).encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b"" if path in ("/ticks", "/counted") else b"a page"})


async def _length(receive: Any) -> int:
    length, has_more = 0, True
    while has_more:
        message = await receive()
        length, has_more = length + len(message.get("body", b"")), message.get("more_body", False)
    return length


def main() -> None:
    """Run the server."""
    django.setup()
    from chatui.live import http_channel
    from chatui.live.server import Server  # needs Django's applications

    if seconds := int(os.environ.get("MOVING_SECONDS", "0")):
        http_channel.MIN_BYTES = http_channel.MIN_BYTES * seconds // http_channel.HEAD_SECONDS
        http_channel.HEAD_SECONDS = seconds

    reactor: Any = twisted_reactor  # its types do not know which reactor is installed
    reactor.callLater(SECONDS, reactor.stop)
    Server(lambda: None, None, application=application, endpoints=[f"tcp:{sys.argv[-1]}:interface=127.0.0.1"], verbosity=0).run()


if __name__ == "__main__":
    main()
