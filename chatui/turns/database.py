"""Database access for a running turn: in a thread, with retries while the database is locked or restarting."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async
from django.db import InterfaceError, OperationalError

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

PAUSES = (0.2, 1.0, 3.0)
"""Seconds between attempts. Their sum is well below the length of the lease."""


async def with_retries(step: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What ``step`` returns. Only for steps that may run twice: after an error nobody knows whether the first attempt took effect.

    Raises:
        OperationalError, InterfaceError: the last attempt's. Any other error of the step is raised at once.
    """
    for pause in PAUSES:
        try:
            return await database_sync_to_async(step)(*arguments, **named)
        except (OperationalError, InterfaceError) as error:
            log.warning("%s: the database failed (%s), trying again", getattr(step, "__name__", "a step"), type(error).__name__)
            await asyncio.sleep(pause)
    return await database_sync_to_async(step)(*arguments, **named)
