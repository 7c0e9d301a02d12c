"""The connected backends of this process: one for each configured server and event loop.

At startup it is logged which wire format each ``auto`` backend has chosen. This never waits for a server.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from dataclasses import dataclass, field, replace
from functools import cache
from weakref import WeakKeyDictionary

from django.db import DatabaseError, InterfaceError

from chatui import sealing
from chatui.backends import http1, keys, registry
from chatui.backends import spec as backend_spec
from chatui.backends.address_pool import PooledBackend
from chatui.backends.auto import AUTO, AutoBackend
from chatui.backends.base import Backend, BackendError, Endpoint
from chatui.backends.keys import KeyUnusableError
from chatui.backends.separation import Known
from chatui.backends.spec import BackendSpec
from chatui.codes import Cause, ProductCode
from chatui.env import environment
from chatui.model_servers import configured, proofs, vocabulary
from chatui.outbound.addresses import origin
from renderer.harmony.vocabulary import Vocabulary

log = logging.getLogger(__name__)

ROWS_SECONDS = 2.0
"""How many seconds old the cached rows of Administration may be before they are read again."""


@dataclass(slots=True)
class _Read:
    """The rows of Administration that this process read last, and when (``time.monotonic``)."""

    rows: configured.Rows = field(default_factory=configured.Rows)
    at: float = float("-inf")
    has_succeeded: bool = False


@dataclass(frozen=True, slots=True)
class _Connected:
    spec: BackendSpec
    key: str | None = field(repr=False)
    backend: Backend


_read = _Read()
_connected: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Connected]] = WeakKeyDictionary()
_closing: set[asyncio.Task[None]] = set()


def specs() -> tuple[BackendSpec, ...]:
    """All backends in use, in the order of lists.

    The rows of Administration are read again if they are older than ROWS_SECONDS, but never on an event loop, which must not wait for a
    database: there, the rows are those that a thread of this process read last.
    """
    return configured.combined(environment(), _rows())


def default() -> BackendSpec | None:
    """The default for new conversations (``configured.default``), whoever may use it; None if there is none."""
    return configured.default(environment(), _rows())


def spec_of(choice: str = "") -> BackendSpec:
    """The spec of a choice: ``name`` or ``name/model``; for the empty choice, as a command of the operator may have, the default for new
    conversations. ``choice.validated`` checks whether a person may choose it, and whether the model exists.

    Raises:
        BackendError: there is no such model server, or it was removed.
    """
    found = backend_spec.find(specs(), choice) if choice else default()
    if found is None:
        unnamed = "No model server is the default for new conversations: name one." if specs() else "There is no model server at all."
        raise BackendError(ProductCode.NO_SUCH_MODEL, f"There is no model server {choice[:260]!r}." if choice else unnamed)
    return found


def backend(choice: str = "") -> Backend:
    """The backend of a choice for the running event loop: an HTTP client belongs to the loop that it was first used on.

    It is created once, and again when its spec or key changes. The old one is closed when no request uses it any more.

    Raises:
        BackendError: there is no such model server, or its key is missing or is for another address.
    """
    wanted, offered = spec_of(choice), specs()
    connected = _connected.setdefault(asyncio.get_running_loop(), {})
    for name in [name for name, known in connected.items() if known.spec not in offered]:
        _close(connected.pop(name).backend)
    try:
        key = key_of(wanted)
    except KeyUnusableError as error:
        raise BackendError(ProductCode.BACKEND_SETUP, f"Model server {wanted.name}: {error}.").with_cause(Cause.KEY_MISSING) from None
    known = connected.get(wanted.name)
    if known is None or known.key != key:
        if known is not None:
            _close(known.backend)
        known = connected[wanted.name] = _Connected(wanted, key, build(wanted, key))
    return known.backend


def known_context(choice: str = "") -> int | None:
    """The chosen model's context window in tokens, if the operator has set it or this process knows it. Never queries a server."""
    try:
        wanted = spec_of(choice)
    except BackendError:
        return None
    if wanted.context_tokens:
        return wanted.context_tokens
    model = backend_spec.split_choice(choice)[1]
    return next(filter(None, (known.known_context(model) for known in _backends_of(wanted.name))), None)


def separations(name: str) -> dict[str, Known]:
    """How the answers of this model server are read in this process, by model. Never queries a server."""
    found: dict[str, Known] = {}
    for known in _backends_of(name):
        found |= known.known_separations()
    return found


def _backends_of(name: str) -> list[Backend]:
    """The backends of a model server, one for each event loop."""
    # In other threads: the event loop may remove one meanwhile.
    return [known.backend for each in list(_connected.values()) if (known := each.get(name)) is not None]


def build(wanted: BackendSpec, key: str | None, **limits: float) -> Backend:
    """Create a backend. ``limits`` override those of the spec. Raises ValueError if it cannot be created."""
    endpoint = Endpoint(
        wanted.url,
        key,
        next(iter(wanted.models), None),
        wanted.limits(**limits),
        wanted.context_tokens or None,
        wanted.route,
        wanted.ask_for_reasoning,
        wanted.separates,
        wanted.summaries == "server",
    )
    speed, endpoints = (
        environment().demo_tokens_per_second,
        [replace(endpoint, url=url, proofs=proofs.StoredProofs(wanted, url, key)) for url in (wanted.url, *wanted.more_urls)],
    )
    built = [registry.build(each, kind=wanted.kind, tokens_per_second=speed, vocabulary=gpt_oss_vocabulary) for each in endpoints]
    return PooledBackend(built) if len(built) > 1 else built[0]


def key_of(wanted: BackendSpec) -> str | None:
    """The key that may be sent to this server; None if it needs none.

    Raises:
        KeyUnusableError: the key does not exist, or is for another server. No request may be sent.
    """
    env = environment()
    # The one server of the settings, if no file names servers: its key is a setting, too.
    if not wanted.is_demo and env.backends_file is None and wanted in configured.operator_backends(env):
        return environment_key()
    if wanted.sealed_key:
        return unsealed(wanted.sealed_key, wanted.url)
    return keys.key_of(wanted, env.data_dir)


def sealed(key: str, url: str, holder: str = "") -> str:
    """The key as it is stored, for the origin of ``url`` only. ``holder``: who alone may hand it back, if it is not for the table.

    Raises:
        KeyUnusableError: it contains characters that cannot be sent.
    """
    return sealing.seal(keys.checked(key, "the field").encode(), _purpose(url, holder))


def unsealed(token: str, url: str, holder: str = "") -> str:
    """The key that was sealed for the origin of ``url`` and this holder.

    Raises:
        KeyUnusableError: it was sealed for another origin or holder, or with a secret key that the product no longer has.
    """
    key = sealing.unseal(token, _purpose(url, holder))
    if key is None:
        raise KeyUnusableError("the stored key cannot be opened: CHATUI_SECRET_KEY or the address has changed since. Enter the key again")
    return key.decode()


def _purpose(url: str, holder: str) -> bytes:
    return f"key of a model server, {origin(url)}, {holder}".encode()


def environment_key() -> str | None:
    """The key of the ``CHATUI_BACKEND_…`` variables. Raises KeyUnusableError if its file contains none."""
    env = environment()
    try:
        key = env.key()
    except (OSError, UnicodeDecodeError):
        raise KeyUnusableError("CHATUI_BACKEND_KEY_FILE cannot be read") from None
    if not key and env.backend_key_file is None:
        return None
    return keys.checked(key, "CHATUI_BACKEND_KEY" if env.backend_key else "CHATUI_BACKEND_KEY_FILE")


def forget_rows() -> None:
    """Read the rows of Administration again at the next use. Other processes do so within ROWS_SECONDS."""
    _read.at = float("-inf")


@cache
def gpt_oss_vocabulary() -> Vocabulary:
    """The vocabulary, loaded when it is first needed, which takes half a second and 80 MB.

    Raises VocabularyError if it is not installed.
    """
    return vocabulary.load(environment().data_dir)


def is_demo() -> bool:
    known = specs()
    return bool(known) and all(each.is_demo for each in known)


def _rows() -> configured.Rows:
    now = time.monotonic()
    if now - _read.at >= ROWS_SECONDS and not _is_on_event_loop():
        try:
            _read.rows = configured.rows()
            proofs.read()
            _read.has_succeeded = True
        except (DatabaseError, InterfaceError) as error:
            # While the database is down, the rows that were read before are used. Before the first migration, this is normal, and not
            # worth a warning.
            level = logging.WARNING if _read.has_succeeded else logging.DEBUG
            log.log(level, "the model servers of Administration could not be read (%s)", type(error).__name__)
        _read.at = now
    return _read.rows


def _is_on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _close(unwanted: Backend) -> None:
    task = asyncio.get_running_loop().create_task(unwanted.aclose())
    _closing.add(task)
    task.add_done_callback(_closing.discard)


async def close_all() -> None:
    """Close the connections to all model servers, because the running event loop is about to end."""
    await http1.close_all()


_NOT_YET = "no wire format chosen yet for model server %s (%s); its server is asked again with the first question"


def announce(spec: BackendSpec) -> threading.Thread | None:
    """Query this server in the background, and log one line. Returns the thread; None if the wire format is configured."""
    if spec.kind != AUTO:
        return None
    thread = threading.Thread(target=_query, args=(spec,), name=f"wire format of {spec.name}", daemon=True)
    thread.start()
    return thread


def _query(spec: BackendSpec) -> None:
    try:
        failed = asyncio.run(_detect_formats(spec))
    except KeyUnusableError:
        log.warning(_NOT_YET, spec.name, "its key cannot be used")
        return
    for number, error in failed.items():
        which = f"address {number} of {1 + len(spec.more_urls)}, " if spec.more_urls else ""
        log.warning(_NOT_YET, spec.name, f"{which}{error.code.value}")


async def _detect_formats(spec: BackendSpec) -> dict[int, BackendError]:
    """Have the wire format of each address detected and logged, even if an earlier one does not respond. Returns the errors of those for
    which it could not be, by the number of the address from 1."""
    key = key_of(spec)
    failed: dict[int, BackendError] = {}
    for number, url in enumerate((spec.url, *spec.more_urls), 1):
        backend = build(spec.model_copy(update={"url": url, "more_urls": ()}), key)
        try:
            if isinstance(backend, AutoBackend):
                await backend.choice()  # which logs it
        except BackendError as error:
            failed[number] = error
        finally:
            await backend.aclose()
    return failed
