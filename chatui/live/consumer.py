"""The WebSocket consumer: one instance per open page. It stores no transcript, and leaves every decision to ``commands``.

Turns never run in here: Channels awaits each handler before it reads the next frame, so a handler that streamed an answer could not
receive a stop command.

Messages of other parts of the product arrive over the bus, which needs no task or thread per socket, and not over a channel layer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import parse_qs
from uuid import UUID, uuid4

from channels.consumer import get_handler_name
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer

from chatui import wire
from chatui.accounts import header_sign_in
from chatui.accounts.sessions import client_address
from chatui.audit_log.record import Visitor
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.display import conversation_list
from chatui.env import environment
from chatui.live import commands
from chatui.live.commands import Caller, Following
from chatui.live.page_socket import TOO_FAST, InboundQueue, Outbox
from chatui.live.snapshots import Snapshots
from chatui.observability import measures
from chatui.permissions import access
from chatui.turns import running
from chatui.turns.running import TurnPlace
from chatui.turns.start import AskRefusedError
from chatui.wire import bus as wire_bus
from chatui.wire import relay
from chatui.wire.bus import PROCESS, Message, bus
from renderer.errors import ErrorCode
from renderer.gate import Audience

log = logging.getLogger(__name__)

C = TypeVar("C")
T = TypeVar("T")

CHECK_SECONDS = 30.0
SEE_PATIENCE = 10.0
"""How long, in seconds, a ``see`` command waits for a busy database."""
MAX_FRAME_CHARS = 512 * 1024
MAX_SIGNAL_CHARS = 100
"""No probe or pong is longer, so longer messages need not be parsed twice."""
MAX_SOCKETS = 50
"""The most open pages of one person in one process; each takes memory and tasks."""

CLOSE_RESTART = 1012
CLOSE_SIGNED_OUT = 4401
CLOSE_FORBIDDEN = 4403
CLOSE_TOO_MANY = 4408
CLOSE_TOO_SLOW = 4413
CLOSE_OTHER_RELEASE = 4426
CLOSE_TOO_FAST = 4429

_open_sockets: Counter[UUID] = Counter()

_REFUSALS = (AskRefusedError, access.NotFoundError, access.HiddenViewRefusedError, access.OptInNeededError, DatabaseBusyError)


class ChatConsumer(AsyncWebsocketConsumer):
    """Follows at most one conversation per audience: END_USER, and DEBUG while the debug view is open."""

    def __init__(self) -> None:
        super().__init__()
        self.is_closing = False
        self.outbox = Outbox(self._transmit, self._caught_up, self._give_up)
        self._counted: UUID | None = None
        """The person, once they are known to be signed in, and until the socket is released."""
        self._followed: dict[Audience, Following] = {}
        self._audience_of: dict[str, Audience] = {}
        self._reported_at: dict[UUID, float] = {}
        self._own_group = f"socket-{uuid4()}"
        self._snapshots = Snapshots(self, self._own_group)
        self._makes_way: TurnPlace | None = None
        """The turn that makes way for a message which this page will send: no longer, once the page is gone."""
        self._background_tasks: set[asyncio.Task[Any]] = set()
        self._context = copy_context()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """See Channels, which would start a task for each message, to wait for a channel layer at the same time. However the socket ends,
        even by an error or a timeout of the server, its resources are released."""
        self.scope, self.base_send = scope, send
        queue = InboundQueue(receive, self._take_at_once)
        try:
            with contextlib.suppress(StopConsumer):
                while True:
                    await self.dispatch(await queue.next())
        finally:
            queue.stop()
            self._release()

    def _take_at_once(self, text: str) -> bool:
        """Answer a probe and note a pong as they arrive, even while a question before them waits for the database: the page would take the
        connection for lost. Returns whether the text was a probe or a pong."""
        if len(text) > MAX_SIGNAL_CHARS or self._counted is None or self.is_closing:
            return False
        try:
            return self._take_signal(wire.read_command(text))
        except wire.UnreadableCommandError:
            return False

    def _take_signal(self, command: wire.Command) -> bool:
        """Handle a command that is only about the connection. Returns whether it was one."""
        match command:
            case wire.Pong():
                self.outbox.confirmed(command.number)
            case wire.Probe():
                self.send_event(wire.Alive())
            case _:
                return False
        return True

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler of an ASGI message. Channels would first check for old database connections, in one thread for all sockets."""
        await getattr(self, get_handler_name(message))(message)

    async def connect(self) -> None:
        """Accept signed-in people only."""
        begun = time.perf_counter()
        try:
            session = await pools.commands.run_or_busy(header_sign_in.session_of, dict(self.scope))
        except DatabaseBusyError:
            await self.close()  # the page tries again
            measures.count_request("socket", 503, begun)
            return
        query = parse_qs(self.scope["query_string"].decode("ascii", "replace"))
        self._caller = Caller(session, client_address(dict(self.scope)), ",".join(query.get("language", [])))
        await self.accept()
        measures.count_request("socket", 401 if session is None else 101, begun)
        if session is None:
            await self.close_with(ProductCode.SIGNED_OUT, CLOSE_SIGNED_OUT)
            return
        # Clients that are not pages need not send the version of their protocol.
        if ",".join(query.get("protocol", [])) not in ("", str(wire.PROTOCOL)):
            await self.close_with(ProductCode.OTHER_RELEASE, CLOSE_OTHER_RELEASE)
            return
        if _open_sockets[session.person.pk] >= MAX_SOCKETS:
            await self.close_with(ProductCode.TOO_MANY_PAGES, CLOSE_TOO_MANY)
            return
        self._counted = session.person.pk
        _open_sockets[self._counted] += 1
        measures.SOCKETS.inc()
        bus().join(wire_bus.person(session.person.pk), self._received)
        for group in (self._own_group, relay.OWN_PROCESS):
            bus().join(group, self._received, elsewhere=False)
        self.start_background(self._check_often())

    async def disconnect(self, code: int) -> None:
        """Release the socket. Running turns continue without it."""
        self._release()

    def _release(self) -> None:
        self.is_closing = True
        if self._makes_way is not None:
            running.make_way(self._makes_way, self._own_group, is_wanted=False)
            self._makes_way = None
        for task in self._background_tasks:
            task.cancel()
        if (person := self._counted) is not None:
            self._counted = None
            _open_sockets[person] -= 1
            measures.SOCKETS.dec()
            if not _open_sockets[person]:
                del _open_sockets[person]
            for group in (wire_bus.person(person), self._own_group, relay.OWN_PROCESS):
                bus().leave(group, self._received)
        for audience in list(self._followed):
            self._unfollow(audience)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.is_closing:
            return
        if text_data == TOO_FAST:
            await self.close_with(ProductCode.RATE, CLOSE_TOO_FAST)
            return
        try:
            command = wire.read_command(text_data if text_data is None or len(text_data) <= MAX_FRAME_CHARS else None)
        except wire.UnreadableCommandError as error:
            self.refuse(error.client_id, ProductCode.COMMAND)
            return
        client_id = command.client_id if isinstance(command, wire.AskCommand) else None
        try:
            await self._dispatch(command)
        except _REFUSALS as error:
            self.refuse(client_id, error.code, error.until if isinstance(error, AskRefusedError) else None)
        except Exception as error:  # noqa: BLE001 - the person gets a sentence, and the log the kind of error; neither gets content
            log.error("command %r failed: %s", command.type, type(error).__name__)
            self.refuse(client_id, ProductCode.INTERNAL)

    def _received(self, group: str, message: Message) -> None:
        """Handle a message from the bus. Called on the event loop, so it must not block."""
        match message["type"]:
            case "turn.events":
                self._forward_events(group, message)
            case "turn.snapshot":
                self._forward_snapshot(message)
            case "person.events":
                self.outbox.put(str(message["json"]))
            case "turn.makes_way":
                if self._makes_way is not None and str(self._makes_way.turn_id) == message["turn"]:
                    running.make_way(self._makes_way, self._own_group, is_wanted=True)
            case signal:
                self._signalled(signal)

    def _signalled(self, signal: object) -> None:
        """Handle a message that says only that something has happened."""
        match signal:
            case "turn.begun":
                # A turn began in the conversation that this socket watches: check the permission again, then watch the new turn too.
                if Audience.DEBUG in self._followed:
                    self.start_background(self.follow_again(Audience.DEBUG))
            case "relay.late":
                self._snapshots.note_late()
            case "process.ends":
                self.start_background(self._leave(CLOSE_RESTART))
            case "session.check":
                # Something about this person changed (sign-out, password, permissions): check the session at once.
                self.start_background(self._check())

    def _forward_events(self, group: str, message: Message) -> None:
        """Forward a turn's events. Its runner encodes them once for everybody in this audience."""
        audience = self._audience_of.get(group)
        if audience is None:
            return
        if audience is Audience.DEBUG and message["turn"] != str(self._followed[audience].turn_id):
            return  # access to this turn is not recorded yet: the handler of ``turn.begun`` does that first
        self.outbox.put_events(str(message["json"]))
        if audience is Audience.END_USER and message["process"] != PROCESS:
            self._snapshots.note_events()
            self._report_following(TurnPlace(UUID(str(message["turn"])), str(message["process"])))

    def _forward_snapshot(self, message: Message) -> None:
        """Forward the snapshot that this socket asked a runner for."""
        audience = Audience(str(message["audience"]))
        self._snapshots.drop(audience)
        if audience is Audience.END_USER:
            self._snapshots.note_events()
        # Meanwhile the debug view may have been closed, or the permission revoked.
        if audience in self._followed:
            self.outbox.put_events(str(message["json"]))

    def _report_following(self, place: TurnPlace) -> None:
        """Tell the process that runs a turn, at most once per CHECK_SECONDS, that its events are followed here."""
        now = asyncio.get_running_loop().time()
        if now - self._reported_at.get(place.turn_id, float("-inf")) > CHECK_SECONDS:
            self._reported_at = {place.turn_id: now}  # a page follows one turn at a time, so earlier ones are forgotten
            running.keep_following(place, Audience.END_USER)

    def _caught_up(self) -> None:
        """The page was too slow for some events, and has caught up: send it the current state of the turns."""
        for audience in list(self._followed):
            self.start_background(self.follow_again(audience))

    async def _dispatch(self, command: wire.Command) -> None:
        if self._take_signal(command):
            return
        match command:
            case wire.AskCommand():
                begun_before = await commands.ask(self._caller, command, self._accept)
                if begun_before is not None:
                    await self._follow(Audience.END_USER, begun_before)
            case wire.Subscribe():
                if not self._snapshots.ask_again(command.conversation):
                    await self._follow(Audience.END_USER, await self._run_command(commands.subscribe, command.conversation))
            case wire.Watch():
                self._join(Audience.DEBUG, await self._run_command(commands.watch, command))
                await bus().settled()
                # A turn that began while access was checked announced itself before this joined, so read again which one is the latest.
                await self.follow_again(Audience.DEBUG)
            case wire.Stop() | wire.AnswerNow() | wire.MakeWay() | wire.See():
                await self._act(command)
            case _:
                raise AskRefusedError(ProductCode.COMMAND)

    async def _act(self, command: wire.Stop | wire.AnswerNow | wire.MakeWay | wire.See) -> None:
        if isinstance(command, wire.Stop):
            await running.stop(await self._place_of(command))
        elif isinstance(command, wire.AnswerNow):
            running.answer_now(await self._run_command(commands.own_turn, command))
        elif isinstance(command, wire.MakeWay):
            place = await self._run_command(commands.own_turn, command)
            running.make_way(place, self._own_group, is_wanted=command.is_wanted)
            self._makes_way = place if command.is_wanted and not self.is_closing else None
        elif await writer.run(commands.run_command, self._caller, commands.see, command, patience=SEE_PATIENCE) and self._counted:
            bus().send(wire_bus.person(self._counted), conversation_list.message(wire.AnswerSeen(str(UUID(command.conversation)))))

    async def _place_of(self, command: wire.Stop) -> TurnPlace:
        try:
            return await self._run_command(commands.own_turn, command)
        except DatabaseBusyError:
            if (place := commands.followed_here(self.following(Audience.END_USER), command)) is None:
                raise
            return place

    def _accept(self, accepted: wire.Accepted, following: Following) -> None:
        """A question is stored, but its turn is not launched yet: this socket follows it from the start, and needs no snapshot."""
        if not self.is_closing:
            self._join(Audience.END_USER, following)
            self.send_event(accepted)

    async def _follow(self, audience: Audience, following: Following) -> None:
        # Join the group first, and then ask for the snapshot: events in between may arrive twice, but none is missed.
        self._join(audience, following)
        await bus().settled()
        if following.running is not None:
            self._ask_snapshot(audience)
        else:
            self._snapshots.drop(audience)
            turn = str(following.turn_id) if following.turn_id else None
            self.send_event(wire.Idle(str(following.conversation_id), turn, following.state))

    def _join(self, audience: Audience, following: Following) -> None:
        before = self._followed.get(audience)
        if before is not None and before.conversation_id != following.conversation_id:
            self._unfollow(audience)
        self._followed[audience] = following
        group = wire_bus.audience(following.conversation_id, audience)
        self._audience_of[group] = audience
        # People's events come from other processes over their own group.
        bus().join(group, self._received, elsewhere=audience is Audience.DEBUG)
        if audience is Audience.DEBUG:
            bus().join(wire_bus.turns_of(following.conversation_id), self._received)

    def _unfollow(self, audience: Audience) -> None:
        following = self._followed.pop(audience)
        self._snapshots.drop(audience)
        group = wire_bus.audience(following.conversation_id, audience)
        self._audience_of.pop(group, None)
        bus().leave(group, self._received)
        if audience is Audience.DEBUG:
            bus().leave(wire_bus.turns_of(following.conversation_id), self._received)

    def _ask_snapshot(self, audience: Audience) -> None:
        if self.outbox.has_room:
            self._snapshots.ask(audience)
        else:
            self.outbox.wait_for_page()  # once the page has caught up, ``_caught_up`` asks again

    def following(self, audience: Audience) -> Following | None:
        return self._followed.get(audience)

    async def follow_again(self, audience: Audience) -> bool:
        """Check access again, read the state of what this socket follows, and ask for its snapshot. Returns whether access was checked, and
        is allowed."""
        before = self._followed.get(audience)
        if before is None:
            return False  # unfollowed meanwhile
        try:
            if audience is Audience.DEBUG:
                following = await self._run_command(commands.continue_watching, before)
            else:
                following = await self._run_command(commands.subscribe, before.conversation_id)
            if is_current := self._still_follows(audience, before):
                await self._follow(audience, following)
            return is_current
        except Exception as error:  # noqa: BLE001 - fail closed: access that cannot be checked or recorded is refused
            if not isinstance(error, _REFUSALS):
                log.error("following again failed: %s", type(error).__name__)
            if not self._still_follows(audience, before):
                pass
            elif isinstance(error, DatabaseBusyError) and audience is Audience.END_USER:
                self._snapshots.wait(audience)  # the page shows what it has until the database is back
            else:
                await self._end_following(audience, error.code if isinstance(error, _REFUSALS) else ProductCode.INTERNAL)
            return False

    def _still_follows(self, audience: Audience, before: Following) -> bool:
        """Whether the page has not opened another conversation meanwhile: this runs beside its commands."""
        now = self._followed.get(audience)
        return now is not None and now.conversation_id == before.conversation_id

    async def _end_following(self, audience: Audience, code: ErrorCode) -> None:
        if audience not in self._followed:
            return  # two checks ran at the same time, and the other one has ended it
        self._unfollow(audience)
        if code is ProductCode.NOT_FOUND and not self._followed:
            # As a command would be. Closed for good, a page whose conversation comes back out of the bin would stay deaf.
            self.refuse(None, code)
        else:
            await self.close_with(code, CLOSE_FORBIDDEN)

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
        visitor = await pools.commands.run_or_busy(commands.visitor_of, self._caller)
        if visitor.user is None:
            await self.close_with(ProductCode.SIGNED_OUT, CLOSE_SIGNED_OUT)
            return
        debug = self._followed.get(Audience.DEBUG)
        if debug is None:
            return
        await pools.commands.run_or_busy(access.recheck_hidden, visitor, debug.conversation_id)
        if debug.running is not None:
            running.keep_following(debug.running, Audience.DEBUG)

    async def _run_command(self, command: Callable[[Visitor, C], T], argument: C) -> T:
        return await pools.commands.run_or_busy(commands.run_command, self._caller, command, argument)

    def send_event(self, event: wire.Event) -> None:
        self.outbox.put(wire.encode([event]))

    def refuse(self, client_id: str | None, code: ErrorCode, until: datetime | None = None) -> None:
        """Refuse a command with ``code``; the page has the sentence for it. ``until``: when a usage limit ends."""
        contact = environment().usage_contact or None
        self.send_event(wire.Refused(client_id, code, until.isoformat(), contact) if until else wire.Refused(client_id, code))

    async def close_with(self, code: ErrorCode, close_code: int) -> None:
        if not self.is_closing:
            self.send_event(wire.Closing(code))
            await self._leave(close_code)

    async def _leave(self, close_code: int) -> None:
        """Send the waiting frames, and close. Further calls do nothing."""
        if not self.is_closing:
            self.is_closing = True
            self.outbox.flush()
            with contextlib.suppress(Exception):  # the page may be gone already
                await self.close(code=close_code)

    def _give_up(self) -> None:
        if not self.is_closing:
            self.start_background(self._leave(CLOSE_TOO_SLOW))

    def _transmit(self, frame: str) -> None:
        """Send in this step: the server's ``send`` never waits, so a task that ran it would only take time."""
        message: Any = {"type": "websocket.send", "text": frame}
        sending: Any = self.base_send(message)
        try:
            sending.send(None)
        except Exception:  # noqa: BLE001 - StopIteration: it is sent. Anything else: the page is gone, and the server reports that separately
            return
        raise RuntimeError("the server's send waits")

    def start_background(self, work: Coroutine[Any, Any, object]) -> None:
        """Run a task in the background, until the socket ends."""
        # In the socket's own context, not in that of the task that sent the message.
        task = asyncio.create_task(work, context=self._context.copy())
        self._background_tasks.add(task)
        task.add_done_callback(self._background_tasks.discard)
