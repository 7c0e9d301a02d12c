"""The WebSocket for programs: one response at a time, streamed as it is written.

The sockets that are open in this process are counted per person, and all of their keys are rechecked together.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from contextvars import Context
from typing import Any
from uuid import UUID, uuid4

from django.http import QueryDict
from django.utils import timezone

from chatui.accounts import key_admission
from chatui.accounts.key_admission import KeyRefusedError, LiveKey
from chatui.accounts.sessions import client_address
from chatui.api import asking, guarded, reasoning_access
from chatui.api.answering import Answering
from chatui.api.bodies import checked, read_json
from chatui.api.errors import TOO_MANY, ApiError, invalid, of_code, unsupported
from chatui.api.request_parts import ENCRYPTED
from chatui.api.response_events import ResponseEvents
from chatui.api.response_object import ResponseHead
from chatui.api.response_request import ResponsesRequest, items_of, no_previous
from chatui.api.socket_chain import Chain
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.env import environment
from chatui.guesses import MustWaitError
from chatui.limits import ThrottledError
from chatui.observability import measures, request_ids
from chatui.observability.error_reports import log_without_content
from chatui.turns.streams.program import Ended
from chatui.wire import relay
from chatui.wire.bus import Message, bus

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
"""The interval. Each request is also checked when it arrives, and while it is answered."""
MAX_OF_PERSON = 1000
MAX_WAITING_CHARS = 16 * 1024 * 1024
"""The most characters in one person's queued requests, on all connections together."""

_open: dict[UUID, set[Connection]] = defaultdict(set)
"""The connections of each person."""
_checking: asyncio.Task[None] | None = None


async def _check_often() -> None:
    while _open:
        await asyncio.sleep(CHECK_SECONDS)
        try:
            await _check()
        except DatabaseBusyError:
            log.info("the keys of open connections could not be checked in time")
        except Exception as error:  # noqa: BLE001 - after any error, the next check may succeed
            log_without_content(log, None, error)


async def _check() -> None:
    asked = [(connection, connection.key.id) for connections in _open.values() for connection in connections]
    if asked:
        good = await pools.commands.run(key_admission.valid_among, {key_id for _, key_id in asked})
        for connection, key_id in asked:
            if key_id not in good:
                connection.close(of_code(ProductCode.SIGNED_OUT), CLOSE_POLICY)


LIFE_SECONDS = 60 * 60.0
MAX_WAITING = 8
"""The most queued requests. They are answered in order."""
MAX_REQUEST_CHARS = 1024 * 1024
CLOSE_DONE, CLOSE_POLICY, CLOSE_TOO_BIG, CLOSE_RESTART, CLOSE_NO_KEY = 1000, 1008, 1009, 1012, 4401
ALWAYS = {"stream": True, "background": False}
"""What a connection always does: another value is refused."""

IGNORED = "chatui:ignored"
"""In the first events of a response: the names of the request's fields that changed nothing."""

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


async def serve(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """The ASGI application at ``/v1/responses``. A connection needs a valid key."""
    begun, address = time.perf_counter(), client_address(dict(scope))
    key = await _key(scope, address)
    if key is None or not key.for_responses or len(_open.get(key.owner.pk, ())) >= MAX_OF_PERSON:
        # Before it is accepted, a connection is refused with a status of HTTP, which ``live.server`` makes of the code.
        await send({"type": "websocket.close", "code": CLOSE_NO_KEY if key is None else CLOSE_POLICY})
        measures.count_request("socket", 401 if key is None else 403, begun)
        return
    await reasoning_access.record_if_asked(address, key, reasoning_access.fields_of_query(QueryDict(scope.get("query_string", b""))))
    await send({"type": "websocket.accept"})
    measures.count_request("socket", 101, begun)
    await Connection(key, address, send).run(receive)


async def _key(scope: dict[str, Any], address: str) -> LiveKey | None:
    headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope.get("headers", [])]
    names = [name for name, _ in headers if name in ("authorization", *guarded.KEY_HEADERS)]
    text = guarded.key_in(dict(headers)) if len(names) == len(set(names)) else ""
    if not text or not environment().api:
        return None
    try:
        return await pools.commands.run(key_admission.admit, text, address)
    except (KeyRefusedError, MustWaitError, ThrottledError, DatabaseBusyError):
        return None


class Connection:
    """One connection from accept to close. ``run`` is its task; requests are answered in another task, one at a time."""

    def __init__(self, key: LiveKey, address: str, send: Send) -> None:
        self.key = key
        self.waiting_chars = 0
        """How many characters the requests in the queue have."""
        self._address = address
        self._send = send
        self._chain = Chain()
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue()
        self._close_reason: asyncio.Future[tuple[ApiError | None, int]] = asyncio.get_running_loop().create_future()
        self._is_busy = False

    async def run(self, receive: Receive) -> None:
        """Run until the program disconnects, or the connection has to end."""
        global _checking
        _open[self.key.owner.pk].add(self)
        if _checking is None or _checking.done():
            _checking = asyncio.create_task(_check_often(), name="keys of open connections", context=Context())
        bus().join(relay.OWN_PROCESS, self._process_ends, elsewhere=False)
        timer = asyncio.get_running_loop().call_later(LIFE_SECONDS, self._too_old)
        tasks = [asyncio.create_task(work) for work in (self._read(receive), self._answer(), self._end())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._chain.forget()
            bus().leave(relay.OWN_PROCESS, self._process_ends)
            mine = _open[self.key.owner.pk]
            mine.remove(self)
            if not mine:
                del _open[self.key.owner.pk]

    async def _read(self, receive: Receive) -> None:
        while (message := await receive())["type"] != "websocket.disconnect":
            if message["type"] != "websocket.receive":
                continue
            text = message.get("text")
            chars = sum(each.waiting_chars for each in _open[self.key.owner.pk]) + len(text or "")
            if len(text or "") > MAX_REQUEST_CHARS:
                self.close(invalid("A message may have 1 MiB.", code="body_too_large", status=413), CLOSE_TOO_BIG)
            elif self._waiting.qsize() >= MAX_WAITING or chars > MAX_WAITING_CHARS:
                self.close(ApiError(429, TOO_MANY, "too_many_requests", "Too many requests wait on this connection."), CLOSE_POLICY)
            else:
                self.waiting_chars += len(text or "")
                self._waiting.put_nowait(text)

    async def _answer(self) -> None:
        while True:
            text = await self._waiting.get()
            self.waiting_chars -= len(text or "")
            self._is_busy = True
            request_ids.begin()  # for each request: a connection lasts an hour
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
        """Answer one request. What is not stored (``store: false``) is remembered here, until the next request, which may go on from it."""
        with guarded.errors():
            self.key = await pools.commands.run(key_admission.admit_again, self.key, self._address)
            body = _object(text)
            await reasoning_access.record_if_asked(self._address, self.key, body)
            wanted = self._wanted(body)
            whole_input = items_of(wanted.input)
            if wanted.previous_response_id and self._chain.knows(wanted.previous_response_id):
                whole_input = self._chain.input_of(whole_input)
                wanted = wanted.model_copy(update={"input": whole_input, "previous_response_id": None})
            elif wanted.previous_response_id and wanted.store is False:
                raise no_previous()
            shows_sealed, is_kept_here = wanted.wants_sealed, wanted.store is False
            if is_kept_here:  # the next request may go on from here, with the reasoning of a tool loop
                wanted = wanted.model_copy(update={"include": [*(wanted.include or ()), ENCRYPTED]})
            if wanted.generate is False:
                await self._warm_up(wanted, whole_input)
                return
            answer = await asking.begin(self._address, self.key, wanted)
            events = asking.events_of(answer, wanted, ResponseEvents)
            await self._tell_all(answer, events, wanted.without_effect, shows_sealed=shows_sealed)
        if events.ended is not None and events.ended.state == "completed" and is_kept_here:
            self._chain.remember(answer.asked.client_id, whole_input, events.output)
        else:
            self._chain.forget()

    async def _tell_all(self, answer: Answering, events: ResponseEvents, ignored: Sequence[str], *, shows_sealed: bool) -> None:
        for body in events.begin():
            await self._tell(body | ({IGNORED: list(ignored)} if ignored else {}))
        async with aclosing(answer.events()) as following:
            async for event in following:
                for body in events.feed(event) if event is not None else ():
                    await self._tell(body if shows_sealed else _without_sealed(body))

    async def _warm_up(self, wanted: ResponsesRequest, whole_input: list[Any]) -> None:
        """Complete a response without asking a model: its input is remembered, and the next request continues from it."""
        for param in ("conversation", "previous_response_id"):  # one that this connection remembers is in the input by now
            if getattr(wanted, param):
                raise unsupported(param, "A response that is not generated continues nothing that is stored.")
        wanted.read()
        head = ResponseHead(uuid4(), wanted.model or "", timezone.now(), wanted.echoed_settings(wanted.effort or "medium"))
        events = ResponseEvents(head, wants_summary=False)
        for body in (*events.begin(), *events.feed(Ended("completed", None, 0, 0))):
            await self._tell(body)
        self._chain.remember(head.id, whole_input, [])

    def _wanted(self, body: dict[str, Any]) -> ResponsesRequest:
        if body.pop("type", None) != "response.create":
            raise invalid("Only response.create is known here.", param="type")
        for name, value in ALWAYS.items():
            if body.pop(name, None) not in (None, value):
                raise invalid("A connection always streams, and in the foreground.", param=name, code="unsupported_value")
        wanted = checked(ResponsesRequest, body)
        wanted.refuse_what_is_not_served()
        return wanted

    async def _tell(self, body: dict[str, Any]) -> None:
        await self._send({"type": "websocket.send", "text": json.dumps(body, ensure_ascii=False, separators=(",", ":"))})

    async def _end(self) -> None:
        error, code = await self._close_reason
        if error is not None:
            await self._tell(_error(error))
        await self._send({"type": "websocket.close", "code": code})

    def close(self, error: ApiError | None, code: int) -> None:
        """End the connection, with an error for the program if there is one."""
        if not self._close_reason.done():
            self._close_reason.set_result((error, code))

    def _too_old(self) -> None:
        sentence = "A connection lasts an hour. Open another one."
        self.close(invalid(sentence, code="websocket_connection_limit_reached"), CLOSE_DONE)

    def _process_ends(self, group: str, message: Message) -> None:
        if not self._is_busy:
            self.close(None, CLOSE_RESTART)


def _without_sealed(body: dict[str, Any]) -> dict[str, Any]:
    if "item" in body:
        return {**body, "item": _bare(body["item"])}
    if "response" in body:
        return {**body, "response": {**body["response"], "output": [_bare(item) for item in body["response"]["output"]]}}
    return body


def _bare(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "encrypted_content"}


def _object(text: str | None) -> dict[str, Any]:
    if text is None:
        raise invalid("A message has to be JSON as text.", code="invalid_json")
    return read_json(text.encode("utf-8", "surrogatepass"))


def _error(error: ApiError) -> dict[str, Any]:
    return {"type": "error", "status": error.status, "error": error.body()}
