"""Logs at startup which wire format each ``auto`` back end has chosen. Never waits for a server."""

from __future__ import annotations

import asyncio
import logging
import threading

from chatui.backends.auto.backend import AutoBackend
from chatui.backends.auto.choosing import AUTO
from chatui.backends.base import BackendError
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec.definition import BackendSpec
from chatui.model_servers import connected

log = logging.getLogger(__name__)

_NOT_YET = "no wire format chosen yet for back end %s (%s); its server is asked again with the first question"


def announce(spec: BackendSpec) -> threading.Thread | None:
    """Query this server in the background, and log one line. Returns the thread; None if the wire format is configured."""
    if spec.kind != AUTO:
        return None
    thread = threading.Thread(target=_query, args=(spec,), name=f"wire format of {spec.name}", daemon=True)
    thread.start()
    return thread


def _query(spec: BackendSpec) -> None:
    try:
        failed = asyncio.run(_choose(spec))
    except KeyUnusableError:
        log.warning(_NOT_YET, spec.name, "its key cannot be used")
        return
    for number, error in failed.items():
        which = f"address {number} of {1 + len(spec.more_urls)}, " if spec.more_urls else ""
        log.warning(_NOT_YET, spec.name, f"{which}{error.code.value}")


async def _choose(spec: BackendSpec) -> dict[int, BackendError]:
    """Query each address, even if an earlier one does not respond. Returns the errors, by the number of the address from 1."""
    key = connected.key_of(spec)
    failed: dict[int, BackendError] = {}
    for number, url in enumerate((spec.url, *spec.more_urls), 1):
        backend = connected.build(spec.model_copy(update={"url": url, "more_urls": ()}), key)
        try:
            if isinstance(backend, AutoBackend):
                await backend.choice()  # this logs it
        except BackendError as error:
            failed[number] = error
        finally:
            await backend.aclose()
    return failed
