"""Runs code in the operator's own service, such as containers with gVisor, over a small protocol that ``docs/tools.md`` describes."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from chatui.outbound.requests import JsonRequestError, request_json
from chatui.tools.file_access import CreatedFile
from chatui.tools.python.answers import CodeOutcome, CodeRequest, files_of
from chatui.tools.python.data_files import MAX_LEFT_OUT, CopiedFiles
from chatui.tools.tool import ToolError

CONNECT_SECONDS = 10.0
MORE_SECONDS = 3.0
"""How much longer than the code's time limit to wait for the service."""
MAX_NOTIFICATIONS = 16
"""The maximum number of simultaneous notifications about ended sessions."""
_SUCCESS = range(200, 300)
MAX_BYTES = 1_000_000
VERSION = 1
"""The version of the file protocol."""
_MAX_USED = 10_000
_ENDED_CHARS = 200
_NAME_BYTES = 2000
_MAX_PACKAGES = 50
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.-]{0,60} [\w.+!-]{1,40}", re.ASCII)
"""A name and a version: they become words of the prompt."""


class Service:
    """As ``Sessions``, at the service, which is sent only the code and an id for the conversation."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url.rstrip("/")
        self._used: dict[UUID, None] = {}
        self._notifications = asyncio.Semaphore(MAX_NOTIFICATIONS)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    async def run(self, asked: CodeRequest) -> CodeOutcome:
        """If cancelled, the connection is closed, which notifies the service."""
        self._used.pop(asked.conversation_id, None)
        self._used[asked.conversation_id] = None
        if len(self._used) > _MAX_USED:
            del self._used[next(iter(self._used))]
        body = {"session": str(asked.conversation_id), "code": asked.code, "seconds": asked.seconds, "max_chars": asked.max_chars}
        seconds, max_bytes = CONNECT_SECONDS + asked.seconds + MORE_SECONDS, MAX_BYTES
        if asked.files is not None:
            body |= {"max_files": asked.max_files, "max_file_bytes": asked.max_file_bytes}
            max_bytes += asked.max_files * (asked.max_file_bytes * 4 // 3 + _NAME_BYTES)  # base64 encodes three bytes in four characters
        try:
            status, reply = await self._request("POST", "/run", seconds=seconds, max_bytes=max_bytes, json=body)
        except JsonRequestError:
            status, reply = 0, None
        if status != 200 or reply is None or not isinstance(reply.get("output"), str):
            raise ToolError("Python cannot be used at the moment.")
        # In a thread: with its files, a reply can take a while, and all tools share this event loop.
        return await asyncio.to_thread(_outcome, reply, asked)

    async def forget(self, conversation_id: UUID) -> None:
        """If the service cannot be reached, it ends the idle session by itself."""
        self._used.pop(conversation_id, None)
        await self._notify("DELETE", f"/sessions/{conversation_id}")

    async def packages(self) -> tuple[str, ...]:
        """The packages that code can import there, with their versions; empty if the service does not say. Never raises."""
        try:
            status, reply = await self._request("GET", "/packages", seconds=CONNECT_SECONDS, max_bytes=MAX_BYTES)
        except JsonRequestError:
            return ()
        listed = reply.get("packages") if reply and status in _SUCCESS else None
        texts = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
        return tuple(each for each in texts if _PACKAGE.fullmatch(each))[:_MAX_PACKAGES]

    async def delete_files(self, conversation_id: UUID, names: Sequence[str]) -> None:
        """If the service does not support this, or fails, the session is ended instead.

        Services report unknown paths differently, so only success counts.
        """
        body = {"version": VERSION, "files": list(names)}
        if not await self._notify("POST", f"/sessions/{conversation_id}/taken-away", body):
            await self.forget(conversation_id)

    def has(self, conversation_id: UUID) -> bool:
        """Knows only the last conversations whose code this process ran."""
        return conversation_id in self._used

    async def _notify(self, method: str, path: str, body: dict[str, Any] | None = None) -> bool:
        """Send a notification. Returns whether the service confirms it."""
        try:
            # The time limit counts inside the semaphore, or further notifications would not get their turn in time.
            async with self._notifications:
                status, _ = await self._request(method, path, seconds=MORE_SECONDS, max_bytes=MAX_BYTES, json=body)
        except JsonRequestError:
            return False
        return status in _SUCCESS

    async def _request(self, method: str, path: str, **options: Any) -> tuple[int, dict[str, Any] | None]:
        return await request_json(method, f"{self._url}{path}", headers=self._headers, **options)


def _outcome(reply: dict[str, Any], asked: CodeRequest) -> CodeOutcome:
    text, ended = reply["output"], reply.get("ended")
    if len(text) > asked.max_chars:
        text = f"{text[: asked.max_chars]}\n[… {len(text) - asked.max_chars} characters omitted here …]"
    return CodeOutcome(
        text,
        reply.get("failed") is True,
        files_of(reply.get("files")),
        is_new=reply.get("new") is True,
        ended=ended[:_ENDED_CHARS] if isinstance(ended, str) else "",
        copied_out=_copied(reply.get("contents"), asked) if asked.files is not None else CopiedFiles(),
    )


def _copied(contents: object, asked: CodeRequest) -> CopiedFiles:
    """The valid files in a reply."""
    made: list[CreatedFile] = []
    left_out: list[tuple[str, str]] = []
    for entry in contents[: asked.max_files] if isinstance(contents, list) else ():
        match entry:
            case [str(name), str(text)]:
                try:
                    data = base64.b64decode(text, validate=True)
                except ValueError:
                    continue
                # JSON can contain lone surrogates.
                if len(name.encode(errors="surrogatepass")) > _NAME_BYTES:
                    left_out.append((name[:_NAME_BYTES], "its name is too long"))
                elif len(data) > asked.max_file_bytes:
                    left_out.append((name, "too large"))
                else:
                    made.append(CreatedFile(name, data))
    return CopiedFiles(tuple(made), tuple(left_out[:MAX_LEFT_OUT]))
