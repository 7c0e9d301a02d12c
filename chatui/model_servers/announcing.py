"""Says at start which wire format was chosen for each back end that leaves it to its server. Never waits for a server."""

from __future__ import annotations

import asyncio
import logging
import threading

from chatui.backends.base import BackendError
from chatui.backends.chosen.backend import ChosenBackend
from chatui.backends.chosen.choosing import AUTO
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec.definition import BackendSpec
from chatui.model_servers import connected

log = logging.getLogger(__name__)


def announce(spec: BackendSpec) -> threading.Thread | None:
    """Ask this server in the background; the log gets one line. None if there is nothing to ask."""
    if spec.kind != AUTO:
        return None
    thread = threading.Thread(target=_say, args=(spec,), name=f"wire format of {spec.name}", daemon=True)
    thread.start()
    return thread


def _say(spec: BackendSpec) -> None:
    try:
        asyncio.run(_choose(spec))
    except (BackendError, KeyUnusableError) as error:
        why = error.code.value if isinstance(error, BackendError) else "its key cannot be used"
        log.warning("no wire format chosen yet for back end %s (%s); its server is asked again with the first question", spec.name, why)


async def _choose(spec: BackendSpec) -> None:
    key = connected.key_of(spec)
    for url in (spec.url, *spec.more_urls):
        backend = connected.build(spec.model_copy(update={"url": url, "more_urls": ()}), key)
        try:
            if isinstance(backend, ChosenBackend):
                await backend.choice()  # which it logs
        finally:
            await backend.aclose()
