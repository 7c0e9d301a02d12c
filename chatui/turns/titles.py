"""Requests titles for conversations one after another, in background tasks that delay no answer, and stores them.

The prompt for a title is the first question, with as much of the answer as people see. A title is made of visible text alone, only for a
conversation that still needs one, and is stored, in the writer's transaction, only if nobody has renamed it meanwhile.

Titles have the lowest priority. A title is requested only while a slot is spare, and is abandoned when an answer needs the slot; the
conversation then keeps the start of its question as its title.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

from chatui import prompts, wire
from chatui.backends.base import BackendError, SampleRequest
from chatui.backends.spec import split_choice
from chatui.database.writer import writer
from chatui.display import conversation_list
from chatui.env import environment
from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.usage import UsageKind
from chatui.store import search_index, titles, transcripts
from chatui.store.titles import own_words
from chatui.turns import sampling, title_reading
from chatui.turns.running_turn import RunningTurn
from chatui.turns.slots import NoSpareSlotError, slots
from chatui.usage import limits, settling
from chatui.usage.counting import Attribution, Charge, Spent
from chatui.wire import bus as wire_bus
from chatui.wire.bus import bus
from renderer.frame_kinds import is_answer
from renderer.frames import Channel, Frame, Header, Role
from renderer.gate import Audience, VisibleText, show, visible

log = logging.getLogger(__name__)


def keep(row: Conversation, title: str) -> bool:
    """Store the title, unless the conversation was renamed or deleted since ``row`` was read. Returns whether it is stored.

    Takes two statements; the second makes the title searchable, like one that the owner wrote. Safe to run twice.
    """
    unchanged = Conversation.objects.filter(pk=row.pk, title__in=[row.title, title], title_is_custom=False, deleted_at=None)
    if not unchanged.update(title=title):
        return False
    search_index.put_first_title(row, own_words(title))
    return True


MAX_QUESTION_CHARS = 2_000
MAX_ANSWER_CHARS = 2_000
MAX_TOKENS = 400
"""A title has about ten tokens; the rest is for a model that thinks first. If it needs more, there is no title."""


@dataclass(frozen=True, slots=True)
class FirstExchange:
    """The first question of a conversation, with its answer. ``row``: the conversation as it was when the turn began."""

    row: Conversation
    question: VisibleText = field(repr=False)
    answer: VisibleText = field(repr=False)

    def request(self, model: str | None) -> SampleRequest:
        """The request for a title. It contains neither the operator's instructions nor any hidden text."""
        asked = f"## Question\n\n{self.question[:MAX_QUESTION_CHARS]}\n\n## Answer\n\n{self.answer[:MAX_ANSWER_CHARS]}"
        frames = (Frame(Header(Role.DEVELOPER), prompts.read("title")), Frame(Header(Role.USER), asked))
        return SampleRequest(frames, model=model, effort="low", max_tokens=MAX_TOKENS)


def untitled(started: RunningTurn, written: Iterable[Frame], *, has_made_way: bool = False) -> FirstExchange | None:
    """The exchange of an ended turn that wrote these frames, if its conversation needs a title: the turn answered the first question, or
    made way for a message, and the title is still the start of that question. Reads nothing from the database.

    Titles by a person, of an import, or already written by a model stay.
    """
    row = started.turn.conversation
    if started.after is not None or row.title_is_custom or row.imported_at is not None or row.temporary_until is not None:
        return None
    question = transcripts.frame_of(started.turn.question)
    answers = [frame for frame in visible(written, Audience.END_USER) if is_answer(frame.header) and frame.body.strip()]
    if not (answers or has_made_way) or row.title != titles.first_title(question.body):
        return None
    answer = answers[-1] if answers else Frame(Header(Role.ASSISTANT, Channel.FINAL), "")
    return FirstExchange(row, show(question, Audience.END_USER), show(answer, Audience.END_USER))


ASK_SECONDS = 30.0
SAVE_SECONDS = 30.0
"""How long a title waits for a locked or unreachable database."""
AT_ONCE = 1
MAX_WAITING = 20
"""How many conversations of a process may wait for a title. Any others keep their first title."""
MAX_REPLY_CHARS = 500

_tasks: set[asyncio.Task[None]] = set()
_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def begin(started: RunningTurn, written: Iterable[Frame], *, has_made_way: bool = False) -> None:
    """After a turn has ended, request a title for its conversation if it needs one. Does not wait, and reads nothing from the database.

    ``written``: the frames of the turn. ``has_made_way``: a message takes the place of its answer, and the title is that of the question.
    """
    env = environment()
    if not env.titles:
        return
    exchange = untitled(started, written, has_made_way=has_made_way)
    if exchange is None:
        return
    if len(_tasks) >= AT_ONCE + MAX_WAITING:
        _log_no_title(exchange, "too many others wait for theirs")
        return
    task = asyncio.create_task(_title(exchange, env.title_model or started.turn.choice), name=f"title of {exchange.row.pk}")
    # The event loop keeps only a weak reference to a task.
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def settle() -> None:
    while waiting := [*_tasks, *settling.waiting()]:
        await asyncio.wait(waiting)


async def _title(exchange: FirstExchange, choice: str) -> None:
    try:
        async with _semaphores.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE)):
            title = await _asked(exchange, choice)
        is_kept = bool(title) and await writer.run(keep, exchange.row, title, order=exchange.row.pk, patience=SAVE_SECONDS)
        if is_kept:
            exchange.row.title = title
            renamed = wire.TitleChanged(str(exchange.row.pk), title)
            bus().send(wire_bus.person(exchange.row.owner_id), conversation_list.message(renamed))
    except NoSpareSlotError:
        _log_no_title(exchange, "answers need all slots")
    except TimeoutError:
        _log_no_title(exchange, "the model took too long")
    except BackendError as error:
        _log_no_title(exchange, error.log_text)
    except Exception as error:  # noqa: BLE001 - the conversation has a title already, and its turn has ended well
        _log_no_title(exchange, type(error).__name__)


async def _asked(exchange: FirstExchange, choice: str) -> str:
    """The title from the model; empty if its reply contains none, and for the demo, which would give every conversation the same one."""
    backend = connected.backend(choice)
    if backend.is_demo:
        return ""
    async with slots().spare(), asyncio.timeout(ASK_SECONDS):
        request = exchange.request(split_choice(choice)[1])
        charged = partial(_charge, exchange, choice, backend.name)
        words = await sampling.text_of(backend, request, MAX_REPLY_CHARS, charged, "title")
    title = title_reading.read(words)
    if not title:
        _log_no_title(exchange, "the model gave none")
    return title


def _charge(exchange: FirstExchange, choice: str, backend: str, spent: Spent, model: str) -> None:
    """Record the usage, even if there is no title. Does not wait."""
    asked = Attribution(exchange.row.owner_id, limits.now().day)
    settling.post(asked, Charge(UsageKind.TITLE, spent, choice, backend, model), patience=SAVE_SECONDS)


def _log_no_title(exchange: FirstExchange, why: str) -> None:
    """Log one line, without any text of the conversation or of a reply."""
    log.info("conversation %s keeps its first title: %s", exchange.row.pk, why)
