"""Requests titles one after another, in background tasks that delay no answer.

Titles have the lowest priority. A title is requested only while a slot is spare, and is abandoned when an answer needs the slot; the
conversation then keeps the start of its question as its title.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import partial
from weakref import WeakKeyDictionary

from chatui.backends.base import BackendError
from chatui.backends.spec.choices import split_choice
from chatui.database.writer import writer
from chatui.delivery import groups
from chatui.delivery.bus import bus
from chatui.display import list_events
from chatui.env import environment
from chatui.model_servers import connected
from chatui.models.usage.entry import UsageKind
from chatui.turns import own_requests
from chatui.turns.slots import NoSpareSlotError, slots
from chatui.turns.start import Started
from chatui.turns.titles import keeping, title_prompt, title_reply
from chatui.turns.titles.title_prompt import FirstExchange
from chatui.usage import periods, posting
from chatui.usage.counting import Attribution, Charge, Spent
from renderer.frames import Frame

log = logging.getLogger(__name__)

ASK_SECONDS = 30.0
SAVE_SECONDS = 30.0
"""How long a title waits for a locked or unreachable database."""
AT_ONCE = 1
MAX_WAITING = 20
"""How many conversations of a process may wait for a title. Any others keep their first title."""
MAX_REPLY_CHARS = 500

_tasks: set[asyncio.Task[None]] = set()
_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def begin(started: Started, written: Iterable[Frame]) -> None:
    """After a turn has ended, request a title for its conversation if it needs one. Does not wait, and reads nothing from the database.

    ``written``: the frames of the turn.
    """
    env = environment()
    if not env.titles:
        return
    exchange = title_prompt.untitled(started, written)
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
    """Wait until no conversation of this process waits for a title."""
    while waiting := [*_tasks, *posting.waiting()]:
        await asyncio.wait(waiting)


async def _title(exchange: FirstExchange, choice: str) -> None:
    try:
        async with _semaphore():
            title = await _asked(exchange, choice)
        is_kept = bool(title) and await writer.run(keeping.keep, exchange.row, title, order=exchange.row.pk, patience=SAVE_SECONDS)
        if is_kept:
            exchange.row.title = title
            bus().send(groups.person(exchange.row.owner_id), list_events.retitled(exchange.row))
    except NoSpareSlotError:
        _log_no_title(exchange, "answers need all slots")
    except TimeoutError:
        _log_no_title(exchange, "the model took too long")
    except BackendError as error:
        _log_no_title(exchange, error.cause or error.code)
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
        words = await own_requests.text_of(backend, request, MAX_REPLY_CHARS, charged, "title")
    title = title_reply.read(words)
    if not title:
        _log_no_title(exchange, "the model gave none")
    return title


def _charge(exchange: FirstExchange, choice: str, backend: str, spent: Spent, model: str) -> None:
    """Record the usage, even if there is no title. Does not wait."""
    asked = Attribution(exchange.row.owner_id, periods.now().day)
    posting.post(asked, Charge(UsageKind.TITLE, spent, choice, backend, model), patience=SAVE_SECONDS)


def _log_no_title(exchange: FirstExchange, why: str) -> None:
    """Log one line, without any text of the conversation or of a reply."""
    log.info("conversation %s keeps its first title: %s", exchange.row.pk, why)


def _semaphore() -> asyncio.Semaphore:
    return _semaphores.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE))
