"""Rechecks a key while a response is streamed. If the database is busy, the stream continues, but only for a while."""

from __future__ import annotations

import asyncio
import logging

from chatui.accounts.api_keys import checking
from chatui.accounts.api_keys.checking import LiveKey
from chatui.codes import ProductCode
from chatui.database import pools
from chatui.database.faults import FAULTS, DatabaseBusyError, is_transient

log = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
"""The interval of checks during an answer, and the longest time without sending anything."""
GRACE_SECONDS = 20.0
"""How long a key that cannot be checked counts as valid. Then nothing more is sent: it may have been revoked meanwhile."""


class KeyWatch:
    """Watches the key of one streamed response. ``wait`` returns how long until the next check."""

    def __init__(self, key: LiveKey) -> None:
        self._key = key
        self._loop = asyncio.get_running_loop()
        self._checked_at = self._loop.time()
        self._next = self._checked_at + CHECK_SECONDS

    @property
    def wait(self) -> float:
        """Seconds until the next check; 0 if it is due."""
        return max(self._next - self._loop.time(), 0.0)

    async def why_over(self) -> ProductCode | None:
        """Check the key if it is due: None if it still works, else the reason for ending the stream."""
        if self.wait:
            return None
        self._next = self._loop.time() + CHECK_SECONDS
        try:
            is_good = await pools.commands.run(checking.is_still_valid, self._key)
        except (DatabaseBusyError, *FAULTS) as error:
            if not isinstance(error, DatabaseBusyError) and not is_transient(error):
                raise
            log.info("a key could not be checked in time")
            return ProductCode.SERVER_BUSY if self._loop.time() - self._checked_at > GRACE_SECONDS else None
        self._checked_at = self._loop.time()
        return None if is_good else ProductCode.SIGNED_OUT
