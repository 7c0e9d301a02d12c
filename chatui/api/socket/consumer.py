"""The WebSocket consumer for programs: one response at a time, streamed as it is written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

from chatui.accounts.api_keys import checking
from chatui.accounts.api_keys.checking import KeyRefusedError, LiveKey
from chatui.accounts.sessions import client_address
from chatui.api import asking, guarded
from chatui.api.bodies import checked, read_json
from chatui.api.errors import TOO_MANY, ApiError, invalid, of_code
from chatui.api.requests.responses import ResponsesRequest, no_previous
from chatui.api.socket import open_sockets
from chatui.api.socket.chain import Chain
from chatui.api.writing.response_events import ResponseEvents
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.delivery import groups
from chatui.delivery.bus import Message, bus
from chatui.env import environment
from chatui.guess_limits import MustWaitError
from chatui.throttle import ThrottledError

LIFE_SECONDS = 60 * 60.0
MAX_WAITING = 8
"""The most queued requests. They are answered in order."""
MAX_REQUEST_CHARS = 1024 * 1024
CLOSE_DONE, CLOSE_POLICY, CLOSE_RESTART = 1000, 1008, 1012
NOT_HERE = ("stream", "stream_options", "background")
"""Fields that have no meaning over a connection that always streams."""

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


async def serve(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """The ASGI application at ``/v1/responses``. A connection needs a valid key."""
    address = client_address(dict(scope))
    key = await _key(scope, address)
    if key is None or not key.for_responses or not open_sockets.has_room(key):
        await send({"type": "websocket.close"})
        return
    await send({"type": "websocket.accept"})
    await Connection(key, address, send).run(receive)


async def _key(scope: dict[str, Any], address: str) -> LiveKey | None:
    values = [value for name, value in scope.get("headers", []) if name == b"authorization"]
    kind, _, text = (values[0].decode("latin-1") if len(values) == 1 else "").partition(" ")
    if kind.lower() != "bearer" or not text or not environment().api:
        return None
    try:
        return await pools.commands.run(checking.admit, text.strip(), address)
    except (KeyRefusedError, MustWaitError, ThrottledError, DatabaseBusyError):
        return None


class Connection:
    """One connection from accept to close. ``run`` is its task; requests are answered in another task, one at a time."""

    def __init__(self, key: LiveKey, address: str, send: Send) -> None:
        self._key = key
        self._address = address
        self._send = send
        self._chain = Chain()
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue()
        self._ended = asyncio.Event()
        self._last_words: tuple[ApiError | None, int] = (None, CLOSE_DONE)
        self._is_busy = False

    async def run(self, receive: Receive) -> None:
        """Run until the program disconnects, or the connection has to end."""
        open_sockets.add(self._key, self._revoked)
        bus().join(groups.OWN_PROCESS, self._process_ends, elsewhere=False)
        timer = asyncio.get_running_loop().call_later(LIFE_SECONDS, self._too_old)
        tasks = [asyncio.create_task(work) for work in (self._read(receive), self._answer(), self._end())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            while not self._waiting.empty():
                open_sockets.release(self._key, len(self._waiting.get_nowait() or ""))
            self._chain.forget()
            bus().leave(groups.OWN_PROCESS, self._process_ends)
            open_sockets.remove(self._revoked)

    async def _read(self, receive: Receive) -> None:
        while (message := await receive())["type"] != "websocket.disconnect":
            if message["type"] != "websocket.receive":
                continue
            text = message.get("text")
            if self._waiting.qsize() >= MAX_WAITING or not open_sockets.reserve(self._key, len(text or "")):
                self._close(ApiError(429, TOO_MANY, "too_many_requests", "Too many requests wait on this connection."), CLOSE_POLICY)
            else:
                self._waiting.put_nowait(text)

    async def _answer(self) -> None:
        while True:
            text = await self._waiting.get()
            open_sockets.release(self._key, len(text or ""))
            self._is_busy = True
            try:
                await self._respond(text)
            except ApiError as error:
                self._chain.forget()
                await self._tell(_error(error))
            except Exception as error:  # noqa: BLE001 - the program gets an error object for any exception, without its text
                self._chain.forget()
                await self._tell(_error(guarded.failed(error)))
            finally:
                self._is_busy = False

    async def _respond(self, text: str | None) -> None:
        with guarded.errors():
            self._key = await pools.commands.run(checking.admit_again, self._key, self._address)
            wanted = self._wanted(_object(text))
            whole_input = wanted.input
            if wanted.previous_response_id and self._chain.knows(wanted.previous_response_id):
                whole_input = self._chain.input_of(wanted.input)
                wanted = wanted.model_copy(update={"input": whole_input, "previous_response_id": None})
            elif wanted.previous_response_id and wanted.store is False:
                raise no_previous()
            answer = await asking.begin(self._address, self._key, wanted)
            events = ResponseEvents(asking.head_of(answer), wants_summary=wanted.wants_summary)
            for body in events.begin():
                await self._tell(body)
            async with aclosing(answer.events()) as following:
                async for event in following:
                    for body in events.feed(event) if event is not None else ():
                        await self._tell(body)
        if events.ended is not None and events.ended.state == "completed" and wanted.store is False:
            self._chain.remember(answer.asked.id, whole_input, events.output)
        else:
            self._chain.forget()

    def _wanted(self, body: dict[str, Any]) -> ResponsesRequest:
        if body.pop("type", None) != "response.create":
            raise invalid("Only response.create is known here.", param="type")
        for name in NOT_HERE:
            if name in body:
                raise invalid("This field has no place in a connection, which always streams.", param=name, code="unsupported_value")
        wanted = checked(ResponsesRequest, body)
        wanted.refuse_what_is_not_served()
        return wanted

    async def _tell(self, body: dict[str, Any]) -> None:
        await self._send({"type": "websocket.send", "text": json.dumps(body, ensure_ascii=False, separators=(",", ":"))})

    async def _end(self) -> None:
        await self._ended.wait()
        error, code = self._last_words
        if error is not None:
            await self._tell(_error(error))
        await self._send({"type": "websocket.close", "code": code})

    def _close(self, error: ApiError | None, code: int) -> None:
        if not self._ended.is_set():
            self._last_words = (error, code)
            self._ended.set()

    def _revoked(self) -> None:
        self._close(of_code(ProductCode.SIGNED_OUT), CLOSE_POLICY)

    def _too_old(self) -> None:
        sentence = "A connection lasts an hour. Open another one."
        self._close(invalid(sentence, code="websocket_connection_limit_reached"), CLOSE_DONE)

    def _process_ends(self, group: str, message: Message) -> None:
        if not self._is_busy:
            self._close(None, CLOSE_RESTART)


def _object(text: str | None) -> dict[str, Any]:
    if text is None:
        raise invalid("A message has to be JSON as text.", code="invalid_json")
    if len(text) > MAX_REQUEST_CHARS:
        raise invalid("A message may have 1 MiB.", code="body_too_large", status=413)
    return read_json(text.encode("utf-8", "surrogatepass"))


def _error(error: ApiError) -> dict[str, Any]:
    return {"type": "error", "status": error.status, "error": error.body()}
