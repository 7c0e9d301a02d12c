"""The status of the model servers for Administration: whether each responds, its load, and its recent failures."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.core.cache import cache
from django.db.models import Count, Max, Q
from django.utils import timezone
from django.utils.translation import gettext

from chatui.backends.base import BackendError
from chatui.backends.discovery import discover
from chatui.backends.keys import KeyUnusableError
from chatui.backends.separation import REMEDY, Known, Separation
from chatui.backends.spec import BackendSpec, find, is_model_name
from chatui.codes import Cause
from chatui.display.failures import day_begins, has_failed, is_answer, kind_of, sentence_of_kind
from chatui.env import environment
from chatui.limits import CACHE_ERRORS
from chatui.model_servers import configured, connected, stored
from chatui.model_servers.choice import MAX_MODELS
from chatui.models.keys import first_key_at
from chatui.models.model_servers import StoredBackend
from chatui.models.turn import Turn, TurnState

ASK_SECONDS = 2.0
"""How long a page waits for the model servers; all are asked at the same time."""
_SPARE_SECONDS = 0.5
KEEP_SECONDS = 10
"""How long a result is cached, so that reloading the page does not add to a server's load."""
_MAX_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ShownSeparation:
    """How the answers of a model are read in this process, in ``words``, with the ``remedy`` if it is not proved; else empty."""

    model: str
    known: Known
    words: str

    @property
    def remedy(self) -> str:
        return gettext(REMEDY) if self.known.separation is Separation.UNPROVEN else ""


_SEPARATIONS: dict[Separation, Callable[[], str]] = {
    Separation.STRUCTURED: lambda: gettext("Reasoning comes apart; answers are shown as they come."),
    Separation.PLAIN: lambda: gettext("The model does not reason; answers are shown as they come."),
    Separation.UNPROVEN: lambda: gettext("Not proved that reasoning comes apart; answers are shown once they were checked."),
}


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """Whether a model server responded, and after how long."""

    is_alive: bool
    """Still true if only some of its addresses did not respond."""
    problems: tuple[tuple[str, Cause | str], ...] = ()
    """The host, if there are several, and the cause, or what is wrong with a key; it is cached, so not translated."""
    milliseconds: int = 0
    models: tuple[str, ...] = ()
    """See ``backends.discovery``."""
    left_out: tuple[str, ...] = ()
    """See ``backends.discovery``."""

    @property
    def sentences(self) -> list[str]:
        """The problems in our words."""
        sentences = (
            (host, f"{gettext(problem.sentence)} {gettext(problem.advice)}" if isinstance(problem, Cause) else problem)
            for host, problem in self.problems
        )
        return [f"{host}: {sentence}" if host else sentence for host, sentence in sentences]


@dataclass(slots=True)
class ServerWork:
    """What a model server did."""

    running: int = 0
    """How many answers are being written now or wait for it."""
    answered: int = 0
    """How many answers (``failures.is_answer``) there were in the last day."""
    last_answer: datetime | None = None
    failed: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By the kind of the cause, how many failed in the last hour, and in the last day."""

    @property
    def errors(self) -> list[tuple[str, int, int]]:
        """The kinds with their numbers, the most frequent first."""
        return sorted(((kind, hour, day) for kind, (hour, day) in self.failed.items()), key=lambda error: (-error[2], error[0]))

    @property
    def causes(self) -> list[tuple[str, str, int, int]]:
        """As ``errors``, each with its sentence after the kind."""
        return [(kind, sentence_of_kind(kind), hour, day) for kind, hour, day in self.errors]


@dataclass(frozen=True, slots=True)
class ShownModelServer:
    """One model server."""

    name: str
    label: str
    kind: str
    hosts: str
    """Host and port of each of its addresses."""
    source: str
    is_demo: bool
    models: tuple[str, ...]
    """The first of those that people can choose."""
    status: ServerStatus
    work: ServerWork
    separations: tuple[ShownSeparation, ...]
    """By model, how its answers are read."""
    is_default: bool
    """Whether new conversations begin with it."""


@dataclass(frozen=True, slots=True)
class KeptServer:
    """A model server that staff keep on the pages."""

    name: str
    label: str
    host: str
    is_enabled: bool
    unconfirmed_by: str
    """Whose change nobody has confirmed yet."""
    problems: tuple[str, ...]
    """Sentences about faulty settings, in English, as the operator's file gets them."""
    tested_at: datetime | None
    """When a test of these very settings passed, if one did."""
    is_default: bool
    """Whether staff chose it as the default for new conversations."""

    @property
    def is_offered(self) -> bool:
        """Whether people can choose it, if they are in one of its groups."""
        return self.is_enabled and not self.unconfirmed_by and not self.problems


def all_of_them() -> list[ShownModelServer]:
    """Every model server in use, in order. Queries those without a cached result, for about two seconds at most."""
    specs = connected.specs()
    statuses, work = _ask(specs), _work(specs)
    outside = {spec.name for spec in configured.operator_backends(environment())}
    return [_server(spec, statuses[spec.name], work.get(spec.name, ServerWork()), is_outside=spec.name in outside) for spec in specs]


@dataclass(frozen=True, slots=True)
class ServerErrors:
    """The answers of one model server in the last day. ``name``: empty for those that are not connected any more."""

    name: str
    label: str
    work: ServerWork

    @property
    def failed_hour(self) -> int:
        return sum(hour for _, hour, _ in self.work.errors)

    @property
    def failed_day(self) -> int:
        return sum(day for _, _, day in self.work.errors)

    @property
    def percent(self) -> int:
        """How many of a hundred answers failed; one at least if any did."""
        failed = self.failed_day
        return max(1, round(100 * failed / (failed + self.work.answered))) if failed else 0


def error_rates() -> list[ServerErrors]:
    """Every model server in use, the most failures first, without asking any. Two statements."""
    specs = connected.specs()
    work = _work(specs)
    rows = [ServerErrors(spec.name, spec.label, work.pop(spec.name, ServerWork())) for spec in specs]
    rows += [ServerErrors("", "", gone) for gone in work.values() if gone.failed]
    return sorted(rows, key=lambda row: (-row.failed_hour, -row.failed_day, row.name))


def kept_servers() -> list[KeptServer]:
    """The model servers that staff keep on the pages, offered or not, in order; not those that the operator's configuration replaces."""
    outside = {spec.name for spec in configured.operator_backends(environment())}
    rows = StoredBackend.objects.prefetch_related("groups")
    return [kept_server(row) for row in rows if row.name not in outside]


def kept_server(row: StoredBackend) -> KeptServer:
    problems, tested_at = stored.problems_of(row), stored.passed_at(row)
    return KeptServer(row.name, row.label, _host(row.url), row.is_enabled, row.unconfirmed_by, problems, tested_at, row.is_default)


@dataclass(frozen=True, slots=True)
class ShownModel:
    """A model of a model server."""

    name: str
    is_offered: bool
    """Whether people can choose it."""
    is_left_out: bool
    """Whether the server says that it writes no answers."""
    is_listed: bool
    """Whether the server names it now."""


def models_of(spec: BackendSpec) -> list[ShownModel]:
    """The models that the server lists, in its order, and then configured ones that it does not. Queries it as ``all_of_them`` does."""
    status = _ask([spec])[spec.name]
    names = dict.fromkeys((*status.models, *status.left_out, *spec.models))
    offered, left_out, listed = set(spec.models or status.models), set(status.left_out), {*status.models, *status.left_out}
    return [ShownModel(name, name in offered, name in left_out, name in listed) for name in names]


def unconfirmed() -> list[str]:
    """The names of the stored model servers that nobody can use until somebody confirms them."""
    return list(StoredBackend.objects.exclude(unconfirmed_by="").order_by("name").values_list("name", flat=True))


def _server(spec: BackendSpec, status: ServerStatus, work: ServerWork, *, is_outside: bool) -> ShownModelServer:
    hosts = ", ".join(_host(url) for url in (spec.url, *spec.more_urls) if url)
    source = "" if spec.is_demo else "file" if is_outside and environment().backends_file else "environment" if is_outside else "admin"
    separations = connected.separations(spec.name).items()
    read = tuple(ShownSeparation(model, known, _SEPARATIONS[known.separation]()) for model, known in separations)
    default = connected.default()
    return ShownModelServer(
        *(spec.name, spec.label, spec.kind, hosts, source, spec.is_demo, (spec.models or status.models)[:_MAX_SHOWN], status, work, read),
        is_default=default is not None and spec.name == default.name,
    )


def _work(specs: Sequence[BackendSpec]) -> dict[str, ServerWork]:
    """The work of each in the last day, by name. Two statements: one for answers that have ended, one for running ones."""
    now = timezone.now()
    day, hour = day_begins(now), now - timedelta(hours=1)
    work_by_server: dict[str, ServerWork] = {}
    running = Turn.objects.filter(state=TurnState.RUNNING, lease_until__gte=now).values_list("choice").annotate(Count("pk")).order_by()
    for choice, count in running:
        _work_of(work_by_server, specs, choice).running += count
    ended = Turn.objects.filter(pk__gte=first_key_at(day), started_at__gte=day).exclude(state=TurnState.RUNNING)
    sums = ended.values("choice", "state", "error_code", "error_cause").annotate(
        day=Count("pk"), hour=Count("pk", filter=Q(started_at__gte=hour)), last=Max("finished_at")
    )
    for row in sums.order_by():
        code, last = row["error_code"], row["last"]
        work, end = _work_of(work_by_server, specs, row["choice"]), (row["state"], code, row["error_cause"])
        if has_failed(*end):
            kind = kind_of(code, row["error_cause"])
            hour_before, day_before = work.failed.get(kind, (0, 0))
            work.failed[kind] = (hour_before + row["hour"], day_before + row["day"])
        elif is_answer(*end):
            work.answered += row["day"]
            work.last_answer = max((each for each in (work.last_answer, last) if each), default=None)
    return work_by_server


def _work_of(found: dict[str, ServerWork], specs: Sequence[BackendSpec], choice: str) -> ServerWork:
    spec = find(specs, choice)
    return found.setdefault(spec.name if spec else "", ServerWork())


def _ask(specs: Sequence[BackendSpec]) -> dict[str, ServerStatus]:
    statuses = _cached(specs) | {spec.name: ServerStatus(is_alive=True, models=spec.models) for spec in specs if spec.is_demo}
    unknown = [spec for spec in specs if spec.name not in statuses]
    if not unknown:
        return statuses
    found: dict[str, ServerStatus] = {}
    # In a thread that the page does not have to wait for: a DNS lookup that hangs would block the closing of the event loop.
    asking = threading.Thread(target=lambda: asyncio.run(_ask_all(unknown, found)), name="model servers of a page", daemon=True)
    asking.start()
    asking.join(ASK_SECONDS + _SPARE_SECONDS)
    results = {spec.name: found.get(spec.name, ServerStatus(is_alive=False, problems=(("", Cause.SILENT),))) for spec in unknown}
    with contextlib.suppress(*CACHE_ERRORS):  # then the next page queries them again
        cache.set_many({_cache_key(spec): results[spec.name] for spec in unknown}, KEEP_SECONDS)
    return statuses | results


def _cached(specs: Sequence[BackendSpec]) -> dict[str, ServerStatus]:
    try:
        cached = cache.get_many([_cache_key(spec) for spec in specs])
    except CACHE_ERRORS:
        return {}
    return {spec.name: cached[_cache_key(spec)] for spec in specs if _cache_key(spec) in cached}


async def _ask_all(specs: Sequence[BackendSpec], found: dict[str, ServerStatus]) -> None:
    async def ask(spec: BackendSpec) -> None:
        found[spec.name] = await _ask_one(spec)

    await asyncio.gather(*(ask(spec) for spec in specs))


async def _ask_one(spec: BackendSpec) -> ServerStatus:
    """A server is alive if one of its addresses responds; those that do not are named in ``problems``."""
    try:
        key = connected.key_of(spec)
    except KeyUnusableError as error:
        return ServerStatus(is_alive=False, problems=(("", str(error)),))
    urls = (spec.url, *spec.more_urls)
    answers = await asyncio.gather(*(_ask_address(spec, url, key) for url in urls))
    if len(urls) == 1:
        return answers[0]
    problems = tuple((_host(url), problem) for url, each in zip(urls, answers, strict=True) for _, problem in each.problems)
    alive = next((each for each in answers if each.is_alive), answers[0])
    return replace(alive, problems=problems)


async def _ask_address(spec: BackendSpec, url: str, key: str | None) -> ServerStatus:
    started = time.monotonic()
    limits = spec.limits(discover=ASK_SECONDS, connect=ASK_SECONDS)
    try:
        async with asyncio.timeout(ASK_SECONDS):
            found = await discover(url, key, limits, spec.route)
    except BackendError as error:
        return ServerStatus(is_alive=False, problems=(("", error.cause),))
    except TimeoutError:
        return ServerStatus(is_alive=False, problems=(("", Cause.SILENT),))
    except (OSError, ValueError):  # an unreadable certificate, or an invalid address
        return ServerStatus(is_alive=False, problems=(("", Cause.SETUP),))
    models, left_out = (tuple(filter(is_model_name, names))[:MAX_MODELS] for names in (found.models, found.left_out))
    return ServerStatus(is_alive=True, milliseconds=round((time.monotonic() - started) * 1000), models=models, left_out=left_out)


def _host(url: str) -> str:
    """Host and port. The rest of an address is left out, because it may contain a name, a password or a private path."""
    parts = urlsplit(url)
    return f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"


def _cache_key(spec: BackendSpec) -> str:
    return "server-status:" + hashlib.sha256(spec.model_dump_json().encode()).hexdigest()
