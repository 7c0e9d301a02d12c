"""The API sockets that are open in this process: counts them per person, and rechecks all of their keys together."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from uuid import UUID, uuid4

from chatui.accounts.api_keys import checking
from chatui.accounts.api_keys.checking import LiveKey
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.error_reports import log_without_content

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
"""The interval. Each request is also checked when it arrives, and while it is answered."""
MAX_OF_PERSON = 1000
MAX_WAITING_CHARS = 16 * 1024 * 1024
"""The most characters in one person's queued requests, on all connections together."""

End = Callable[[], None]

_open: dict[End, LiveKey] = {}
_of_person: Counter[UUID] = Counter()
_waiting_chars: Counter[UUID] = Counter()
_checking: asyncio.Task[None] | None = None


def has_room(key: LiveKey) -> bool:
    """Whether the person may open one more connection."""
    return _of_person[key.owner.pk] < MAX_OF_PERSON


def add(key: LiveKey, end: End) -> None:
    """A connection was opened. ``end`` is called if its key stops working."""
    global _checking
    _open[end] = key
    _of_person[key.owner.pk] += 1
    if _checking is None or _checking.done():
        _checking = asyncio.create_task(_check_often(), name="keys of open connections")


def reserve(key: LiveKey, chars: int) -> bool:
    """Reserve room for a queued request. False if there is not enough."""
    if _waiting_chars[key.owner.pk] + chars > MAX_WAITING_CHARS:
        return False
    _waiting_chars[key.owner.pk] += chars
    return True


def release(key: LiveKey, chars: int) -> None:
    """Release the room of a request."""
    _waiting_chars[key.owner.pk] -= chars
    if _waiting_chars[key.owner.pk] <= 0:
        del _waiting_chars[key.owner.pk]


def remove(end: End) -> None:
    """The connection was closed."""
    key = _open.pop(end)
    _of_person[key.owner.pk] -= 1
    if not _of_person[key.owner.pk]:
        del _of_person[key.owner.pk]


async def _check_often() -> None:
    while _open:
        await asyncio.sleep(CHECK_SECONDS)
        try:
            await _check()
        except DatabaseBusyError:
            log.info("the keys of open connections could not be checked in time")
        except Exception as error:  # noqa: BLE001 - after any error, the next check may succeed
            log_without_content(log, uuid4(), error)


async def _check() -> None:
    asked = dict(_open)
    if asked:
        good = await pools.commands.run(checking.valid_among, {key.id for key in asked.values()})
        for end, key in asked.items():
            if key.id not in good and end in _open:
                end()
