"""The pages with a message that is added to a running turn: it makes way, and ends before its next sampling."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from uuid import UUID

from chatui.wire.bus import PROCESS, bus

ANSWER_SECONDS = 1.0
"""How long a turn waits for pages of other processes to say that they are there. Each answers at once."""


class MakingWay:
    """The wishes for one turn: ``take`` each, and ask ``is_wanted`` before a sampling."""

    def __init__(self, turn_id: UUID) -> None:
        self._turn_id = turn_id
        self._pages: dict[str, str] = {}
        """The process of each page, by the group of its socket."""
        self._taken = asyncio.Event()

    def take(self, page: str, process: str, *, is_wanted: bool) -> None:
        """Note what a page wants now."""
        if is_wanted:
            self._pages[page] = process
            self._taken.set()
        else:
            self._pages.pop(page, None)

    async def is_wanted(self) -> bool:
        """Whether a page that is there now has such a message. Those of this process have said so when they went; those of another are
        asked, because it may have been killed. One that does not answer in time says it again when it does."""
        if PROCESS in self._pages.values():
            return True
        asked, self._pages = self._pages, {}
        self._taken.clear()
        for page, process in asked.items():
            bus().send_to(process, page, {"type": "turn.makes_way", "turn": str(self._turn_id)})
        if asked:
            with suppress(TimeoutError):
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._taken.wait()
        return bool(self._pages)
