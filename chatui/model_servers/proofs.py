"""The proofs that model servers keep reasoning apart (``backends.separation``), for all processes and beyond a restart.

A process reads them with the rows of Administration, so one that was taken back elsewhere counts here for at most
``connected.ROWS_SECONDS`` more. What this process proved counts at once, and what it took back never counts again: not even if the rows
were read before that was committed. Of a server only digests are stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import UUID

from django.utils import timezone
from django.utils.crypto import salted_hmac

from chatui.backends.separation import MAX_UPSTREAMS, OwnProofs, Proofs
from chatui.backends.spec import BackendSpec
from chatui.database.connections import as_uuid
from chatui.database.statements import query
from chatui.database.writer import writer
from chatui.models.keys import new_key
from chatui.models.model_servers import SeparationProof

log = logging.getLogger(__name__)

PLACE_SETTINGS = {
    *("kind", "api_root", "query", "key_env", "key_file", "key_name", "key_header", "ca_file", "certificate_file", "certificate_key_file"),
    "proxy",
}
"""The settings that affect where and how questions are sent, beside the addresses."""
_READING_SETTINGS = PLACE_SETTINGS | {"ask_for_reasoning", "model_sampling", "sampling", "separates", "server_tools", "summaries"}
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class _Row:
    proof: UUID
    version: str


@dataclass(slots=True)
class _Read:
    """What this process knows, by digest."""

    rows: Mapping[str, _Row] = field(default_factory=dict)
    own: dict[str, _Row] = field(default_factory=dict)
    """What it has not stored yet."""
    ended: set[UUID] = field(default_factory=set)
    """The proofs that it took back."""


_read = _Read()
_storing: set[asyncio.Future[None]] = set()


def read() -> None:
    """Read the rows again, in one query. Raises DatabaseError if the database is down."""
    own = dict(_read.own)  # before the query: what is stored meanwhile is in the one or in the other
    rows = query("SELECT digest, proof, version FROM chatui_separationproof")
    found = {digest: _Row(as_uuid(proof), version) for digest, proof, version in rows}
    _read.rows = found | own


def places_of(spec: BackendSpec, key: str | None) -> set[str]:
    """What the proofs of this server's addresses are for. Like ``key``, never stored or shown."""
    return {_place_of(spec, url, key) for url in (spec.url, *spec.more_urls)}


def _place_of(spec: BackendSpec, url: str, key: str | None) -> str:
    return f"{spec.model_dump_json(include=_READING_SETTINGS)} {url} {key or ''}"


def remove_of(places: Collection[str], models: Iterable[str]) -> None:
    """Remove what these models proved there, and what was proved without a model's name."""
    servers = [_server_of(place, model) for place in places for model in {"", *models}]
    SeparationProof.objects.filter(server__in=servers).delete()


def _server_of(place: str, model: str) -> str:
    return _digest(f"{place} {model}")


@lru_cache(256)
def _digest(text: str) -> str:
    return salted_hmac("chatui.separation", text, algorithm="sha256").hexdigest()


class StoredProofs(Proofs):
    """The proofs of one address of a model server. They are changed on an event loop."""

    def __init__(self, spec: BackendSpec, url: str, key: str | None) -> None:
        """``spec``: the server's settings; with others, nothing that was proved counts. ``key``: the one that is sent, never stored."""
        self._place = _place_of(spec, url, key)

    def version_of(self, model: str, upstream: str) -> str | None:
        row = self._row(self._digests(model, upstream)[0])
        return row.version if row else None

    def keep(self, model: str, upstream: str, version: str) -> None:
        digest, server = self._digests(model, upstream)
        row = _read.own[digest] = _Row(new_key(), version)
        _post(digest, lambda: _store(digest, server, row)).add_done_callback(lambda _: _stored(digest, row))

    def end(self, model: str, upstream: str) -> None:
        digest, _ = self._digests(model, upstream)
        if row := self._row(digest):
            _read.ended.add(row.proof)
            _read.own.pop(digest, None)
        # In any case: another process may have proved it since the rows were read. And however long the database is away.
        _post(digest, lambda: _remove(digest), patience=None)

    def take(self, learned: OwnProofs) -> None:
        """Store at once what an examination learned. Not on an event loop."""
        for (model, upstream), version in learned.known.items():
            digest, server = self._digests(model, upstream)
            if version is None:
                _remove(digest)
            else:
                _store(digest, server, _Row(new_key(), version))
        read()

    def _row(self, digest: str) -> _Row | None:
        row = _read.own.get(digest) or _read.rows.get(digest)
        return None if row is None or row.proof in _read.ended else row

    def _digests(self, model: str, upstream: str) -> tuple[str, str]:
        """Of model and upstream, and of the model alone."""
        server = _server_of(self._place, model)
        return _digest(f"{server} {upstream}"), server


def _post(digest: str, write: Callable[[], None], patience: float | None = _PATIENCE) -> asyncio.Future[None]:
    stored = writer.post(write, order=("separation", digest), patience=patience)
    _storing.add(stored)
    stored.add_done_callback(_forget)
    return stored


def _forget(stored: asyncio.Future[None]) -> None:
    _storing.discard(stored)
    if not stored.cancelled() and (error := stored.exception()) is not None:
        log.warning("what proves that a model server keeps reasoning apart could not be stored (%s)", type(error).__name__)


def _stored(digest: str, row: _Row) -> None:
    """From now on the rows have it; if it could not be stored, the next answer with reasoning of its own proves it anew."""
    if _read.own.get(digest) is row:
        del _read.own[digest]
        _read.rows = {**_read.rows, digest: row}


def _store(digest: str, server: str, row: _Row) -> None:
    values = {"server": server, "proof": row.proof, "version": row.version, "proved_at": timezone.now()}
    SeparationProof.objects.update_or_create(digest=digest, defaults=values)
    newest = SeparationProof.objects.filter(server=server).order_by("-proved_at", "digest")[:MAX_UPSTREAMS]
    SeparationProof.objects.filter(server=server).exclude(pk__in=list(newest.values_list("pk", flat=True))).delete()


def _remove(digest: str) -> None:
    SeparationProof.objects.filter(digest=digest).delete()
