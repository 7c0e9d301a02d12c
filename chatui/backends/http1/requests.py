"""Writes requests as bytes. h11 validates their heads, so that no header can end early or begin another request."""

from __future__ import annotations

import h11
import httpx

TARGET = "chatui.target"
"""The name of the httpx extension that holds what to write instead of the path of a request: for a proxy, the whole address."""
FOR_PROXY = "chatui.for_proxy"
"""The name of the httpx extension that holds headers for a proxy. They are not part of the request's headers, which recordings contain."""

_Header = tuple[bytes, bytes]


class RequestWriter:
    """Remembers the last head: most requests to a server differ only in their length, and validating a head costs more than sending it."""

    def __init__(self) -> None:
        self._last: tuple[str, bytes, list[_Header]] | None = None
        self._last_head = b""

    def written(self, request: httpx.Request, body: bytes) -> bytes:
        """The request with its ``body``.

        Raises:
            httpx.LocalProtocolError: it is invalid.
        """
        target = request.extensions.get(TARGET, request.url.raw_path)
        headers = [*request.headers.raw, *request.extensions.get(FOR_PROXY, ())]
        length = (b"Content-Length", b"%d" % len(body))
        end = b"%b: %b\r\n\r\n" % length
        asked = (request.method, target, headers[:-1])
        if headers[-1:] == [length] and asked == self._last:
            return b"".join((self._last_head, end, body))
        head, rest = _written(request.method, target, headers, body)
        if headers[-1:] == [length] and head.endswith(end):
            self._last, self._last_head = asked, head.removesuffix(end)
        return head + rest


def _written(method: str, target: bytes, headers: list[_Header], body: bytes) -> tuple[bytes, bytes]:
    """The head and the body, written by h11."""
    connection = h11.Connection(h11.CLIENT)
    try:
        head = connection.send(h11.Request(method=method, target=target, headers=headers))
        written = connection.send(h11.Data(body)) if body else b""
        end = connection.send(h11.EndOfMessage())
    except h11.LocalProtocolError as error:
        raise httpx.LocalProtocolError(str(error)) from error
    return head or b"", (written or b"") + (end or b"")
