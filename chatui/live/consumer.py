"""The WebSocket consumer: one instance for each open page. It holds no transcript, and leaves every decision to ``commands``.

A turn never runs in here: Channels awaits each handler before it reads the next frame, so a handler that streamed an answer could not
receive "stop".
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from chatui import wire
from chatui.accounts.sessions import client_address, signed_in_user
from chatui.audit_log.record import Visitor
from chatui.codes import ProductCode
from chatui.live import commands
from chatui.live.commands import Following, SignedOutError
from chatui.permissions import access
from chatui.turns import groups, running
from chatui.turns.start import AskRefusedError
from renderer.errors import ErrorCode
from renderer.gate import Audience

log = logging.getLogger(__name__)

CHECK_SECONDS = 30.0
SNAPSHOT_SECONDS = 1.5
MAX_FRAME_CHARS = 512 * 1024
COMMANDS_PER_SECOND = 10.0
COMMANDS_BURST = 30.0
MAX_SOCKETS = 50
"""Open pages of one person in one process; each costs memory and a task."""

CLOSE_SIGNED_OUT = 4401
CLOSE_FORBIDDEN = 4403
CLOSE_TOO_MANY = 4408
CLOSE_TOO_FAST = 4429

_open_sockets: Counter[UUID] = Counter()

_REFUSALS = (AskRefusedError, access.NotFoundError, access.RefusedError, access.OptInNeededError, SignedOutError)


class ChatConsumer(AsyncWebsocketConsumer):
    """Follows at most one conversation for each audience: END_USER, and DEBUG while the debug view is open."""

    _counted: UUID | None = None

    async def connect(self) -> None:
        """Accept signed-in people only."""
        self._followed: dict[Audience, Following] = {}
        self._awaiting: set[Audience] = set()
        self._retrying: set[Audience] = set()
        self._allowance = COMMANDS_BURST
        self._last_command = asyncio.get_running_loop().time()
        self._background_tasks: set[asyncio.Task[None]] = set()
        visitor = await self._visitor()
        await self.accept()
        if visitor.user is None:
            await self._close_with(ProductCode.SIGNED_OUT, CLOSE_SIGNED_OUT)
            return
        if _open_sockets[visitor.user.pk] >= MAX_SOCKETS:
            await self._close_with(ProductCode.TOO_MANY_PAGES, CLOSE_TOO_MANY)
            return
        self._counted = visitor.user.pk
        _open_sockets[self._counted] += 1
        self._person_group = groups.person(visitor.user.pk)
        await self.channel_layer.group_add(self._person_group, self.channel_name)
        self._start_background(self._check_often())

    async def disconnect(self, code: int) -> None:
        """Leave all groups. Running turns continue: they do not need the socket."""
        if (person := self._counted) is not None:
            self._counted = None
            _open_sockets[person] -= 1
            if not _open_sockets[person]:
                del _open_sockets[person]
        for task in getattr(self, "_background_tasks", ()):
            task.cancel()
        for audience in list(getattr(self, "_followed", {})):
            await self._unfollow(audience)
        if hasattr(self, "_person_group"):
            await self.channel_layer.group_discard(self._person_group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Carry out one command."""
        if not self._is_within_rate():
            await self._close_with(ProductCode.RATE, CLOSE_TOO_FAST)
            return
        try:
            command = wire.read_command(text_data if text_data is None or len(text_data) <= MAX_FRAME_CHARS else None)
        except wire.UnreadableCommandError as error:
            await self._refuse(error.client_id, ProductCode.COMMAND)
            return
        client_id = command.client_id if isinstance(command, wire.Ask) else None
        try:
            await self._dispatch(command)
        except _REFUSALS as error:
            await self._refuse(client_id, error.code)
        except Exception as error:  # noqa: BLE001 - the person gets a sentence and the log a place; neither gets content
            log.error("command %r failed: %s", command.type, type(error).__name__)
            await self._refuse(client_id, ProductCode.INTERNAL)

    async def turn_events(self, message: dict[str, Any]) -> None:
        """Forward a turn's events. Its runner encodes them once for everybody in this audience."""
        await self.send(text_data=message["json"])

    async def turn_snapshot(self, message: dict[str, Any]) -> None:
        """Forward the snapshot that this socket asked a runner for."""
        audience = Audience(message["audience"])
        self._awaiting.discard(audience)
        # It may have been on its way when the debug view was closed or the permission was revoked.
        if audience in self._followed:
            await self.send(text_data=message["json"])

    async def person_events(self, message: dict[str, Any]) -> None:
        """Forward events that are meant for all open pages of this person, whichever conversation they show."""
        await self.send(text_data=message["json"])

    async def turn_begun(self, message: dict[str, Any]) -> None:
        """A turn began in the conversation that this socket watches: check the permission again, then watch the new turn too."""
        if Audience.DEBUG in self._followed:
            self._start_background(self._follow_again(Audience.DEBUG))

    async def session_check(self, message: dict[str, Any]) -> None:
        """Something about this person changed (sign-out, password, permissions): check the session at once."""
        await self._check()

    async def _dispatch(self, command: wire.Command) -> None:
        visitor = await self._visitor()
        match command:
            case wire.Ask():
                started, accepted = await database_sync_to_async(commands.ask)(visitor, command)
                if started.is_new:
                    await running.launch(started)
                await self._send(accepted)
            case wire.Subscribe():
                await self._follow(Audience.END_USER, await database_sync_to_async(commands.subscribe)(visitor, command))
            case wire.Watch():
                await self._follow(Audience.DEBUG, await database_sync_to_async(commands.watch)(visitor, command))
            case wire.Stop():
                await running.stop(await database_sync_to_async(commands.stoppable)(visitor, command))
            case _:
                raise AskRefusedError(ProductCode.COMMAND)

    async def _follow(self, audience: Audience, following: Following) -> None:
        before = self._followed.get(audience)
        if before is not None and before.conversation_id != following.conversation_id:
            await self._unfollow(audience)
        self._followed[audience] = following
        # Join the group first, then ask for the snapshot: what happens in between may arrive twice, but is never missed.
        await self.channel_layer.group_add(groups.audience(following.conversation_id, audience), self.channel_name)
        if audience is Audience.DEBUG:
            await self.channel_layer.group_add(groups.turns_of(following.conversation_id), self.channel_name)
        if following.is_running and following.turn_id is not None:
            await self._ask_snapshot(following.turn_id, audience)
        else:
            self._awaiting.discard(audience)
            await self._send_idle(following)

    async def _unfollow(self, audience: Audience) -> None:
        following = self._followed.pop(audience)
        await self.channel_layer.group_discard(groups.audience(following.conversation_id, audience), self.channel_name)
        if audience is Audience.DEBUG:
            await self.channel_layer.group_discard(groups.turns_of(following.conversation_id), self.channel_name)

    async def _ask_snapshot(self, turn_id: UUID, audience: Audience) -> None:
        self._awaiting.add(audience)
        await running.ask_snapshot(turn_id, audience, self.channel_name)
        if audience not in self._retrying:
            self._retrying.add(audience)
            self._start_background(self._retry_snapshot(audience))

    async def _retry_snapshot(self, audience: Audience) -> None:
        """Read the turn's state again until a snapshot arrives: the runner may have ended or died after we last read it."""
        try:
            await asyncio.sleep(SNAPSHOT_SECONDS)
            while audience in self._awaiting and audience in self._followed:
                await self._follow_again(audience)
                await asyncio.sleep(SNAPSHOT_SECONDS)
        finally:
            self._retrying.discard(audience)

    async def _follow_again(self, audience: Audience) -> None:
        conversation = wire.Reference(str(self._followed[audience].conversation_id))
        try:
            visitor = await self._visitor()
            if audience is Audience.DEBUG:
                following = await database_sync_to_async(commands.watch)(visitor, wire.Watch(conversation))
            else:
                following = await database_sync_to_async(commands.subscribe)(visitor, wire.Subscribe(conversation))
            await self._follow(audience, following)
        except _REFUSALS as error:
            await self._end_following(audience, error.code)
        except Exception as error:  # noqa: BLE001 - fail closed: access that could not be granted, or not be recorded, is refused
            log.error("following again failed: %s", type(error).__name__)
            await self._end_following(audience, ProductCode.INTERNAL)

    async def _end_following(self, audience: Audience, code: ErrorCode) -> None:
        if audience not in self._followed:
            return  # two checks ran at the same time, and the other one has closed the socket
        await self._unfollow(audience)
        await self._close_with(code, CLOSE_FORBIDDEN)

    async def _send_idle(self, following: Following) -> None:
        turn = str(following.turn_id) if following.turn_id else None
        await self._send(wire.Idle(str(following.conversation_id), turn, following.state))

    async def _check_often(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            await self._check()

    async def _check(self) -> None:
        try:
            await self._recheck_access()
        except _REFUSALS as error:
            await self._end_following(Audience.DEBUG, error.code)
        except Exception as error:  # noqa: BLE001 - fail closed: an error must not end the checks and leave the hidden stream open
            log.error("checking again failed: %s", type(error).__name__)
            if Audience.DEBUG in self._followed:
                await self._end_following(Audience.DEBUG, ProductCode.INTERNAL)

    async def _recheck_access(self) -> None:
        visitor = await self._visitor()
        if visitor.user is None:
            await self._close_with(ProductCode.SIGNED_OUT, CLOSE_SIGNED_OUT)
            return
        debug = self._followed.get(Audience.DEBUG)
        if debug is None:
            return
        await database_sync_to_async(access.recheck_hidden)(visitor, debug.conversation_id)
        if debug.turn_id is not None:
            await running.keep_watching(debug.turn_id)

    async def _visitor(self) -> Visitor:
        user = await database_sync_to_async(signed_in_user)(self.scope["cookies"])
        return Visitor(user, client_address(dict(self.scope)), "socket")

    def _is_within_rate(self) -> bool:
        now = asyncio.get_running_loop().time()
        self._allowance = min(COMMANDS_BURST, self._allowance + (now - self._last_command) * COMMANDS_PER_SECOND)
        self._last_command = now
        self._allowance -= 1
        return self._allowance >= 0

    async def _send(self, event: wire.Event) -> None:
        await self.send(text_data=wire.encode([event]))

    async def _refuse(self, client_id: str | None, code: ErrorCode) -> None:
        await self._send(wire.Refused(client_id, code, code.sentence))

    async def _close_with(self, code: ErrorCode, close_code: int) -> None:
        await self._send(wire.Closing(code, code.sentence))
        await self.close(code=close_code)

    def _start_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background_tasks.add(task)
        task.add_done_callback(self._background_tasks.discard)
