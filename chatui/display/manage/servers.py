"""The status of the model servers for the admin pages: whether each responds, its load, and its recent failures."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.core.cache import cache
from django.db.models import Count, Max, Q
from django.utils import timezone

from chatui.backends.base import BackendError
from chatui.backends.discovery import discover
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec.choices import find
from chatui.backends.spec.definition import BackendSpec
from chatui.codes import ProductCode
from chatui.env import environment
from chatui.model_servers import configured, connected
from chatui.models import Turn
from chatui.models.keys import first_key_at
from chatui.models.turn import TurnState
from chatui.throttle import CACHE_ERRORS

ASK_SECONDS = 2.0
"""How long a page waits for model servers; all are asked at once."""
_SPARE_SECONDS = 0.5
KEEP_SECONDS = 10
"""For so long an answer is shown again, so that reloading the page does not add to a server's load."""


@dataclass(frozen=True, slots=True)
class Errors:
    """How often a code came in the last hour, and in the last day."""

    code: str
    hour: int
    day: int


@dataclass(frozen=True, slots=True)
class Server:
    """One model server. ``place``: host and port of each of its addresses. ``problem``: a code's name or words of ours where it did not
    answer, or where some of several addresses did not, with ``is_alive``; ``milliseconds``: how long its answer took. ``running``
    answers are being written now or wait for it."""

    name: str
    label: str
    kind: str
    place: str
    source: str
    is_demo: bool
    is_alive: bool
    problem: str
    milliseconds: int
    models: tuple[str, ...]
    running: int
    answered: int
    last_answer: datetime | None
    errors: tuple[Errors, ...]


@dataclass(frozen=True, slots=True)
class _Heard:
    is_alive: bool
    problem: str = ""
    milliseconds: int = 0
    models: tuple[str, ...] = ()


@dataclass(slots=True)
class _Work:
    running: int = 0
    answered: int = 0
    last_answer: datetime | None = None
    errors: dict[str, list[int]] | None = None


def all_of_them() -> list[Server]:
    """Every back end in use, the default first. Asks those that were not asked just now, for two seconds at most."""
    specs = connected.specs()
    heard, work = _ask(specs), _work(specs)
    outside = {spec.name for spec in configured.base(environment())}
    return [_server(spec, heard[spec.name], work.get(spec.name, _Work()), is_outside=spec.name in outside) for spec in specs]


def _server(spec: BackendSpec, heard: _Heard, work: _Work, *, is_outside: bool) -> Server:
    errors = tuple(Errors(code, hour, day) for code, (hour, day) in sorted((work.errors or {}).items(), key=lambda item: -item[1][1]))
    place = ", ".join(_place(url) for url in (spec.url, *spec.more_urls) if url)
    source = "" if spec.is_demo else "file" if is_outside and environment().backends_file else "environment" if is_outside else "admin"
    return Server(
        spec.name,
        spec.label,
        spec.kind,
        place,
        source,
        spec.is_demo,
        heard.is_alive,
        heard.problem,
        heard.milliseconds,
        heard.models or spec.models,
        work.running,
        work.answered,
        work.last_answer,
        errors,
    )


def _work(specs: Sequence[BackendSpec]) -> dict[str, _Work]:
    """What each did in the last day, by name. Two statements: one for answers that have ended, one for those that run."""
    now = timezone.now()
    day, hour = now - timedelta(days=1), now - timedelta(hours=1)
    found: dict[str, _Work] = {}
    running = Turn.objects.filter(state=TurnState.RUNNING, lease_until__gte=now).values_list("choice").annotate(Count("pk")).order_by()
    for choice, count in running:
        _of(found, specs, choice).running += count
    ended = Turn.objects.filter(pk__gte=first_key_at(day), started_at__gte=day).exclude(state=TurnState.RUNNING)
    sums = ended.values("choice", "error_code").annotate(
        day=Count("pk"), hour=Count("pk", filter=Q(started_at__gte=hour)), last=Max("finished_at")
    )
    for row in sums.order_by():
        code, last = row["error_code"], row["last"]
        work = _of(found, specs, row["choice"])
        if code:
            work.errors = work.errors or {}
            before = work.errors.setdefault(code, [0, 0])
            work.errors[code] = [before[0] + row["hour"], before[1] + row["day"]]
        else:
            work.answered += row["day"]
            work.last_answer = max((each for each in (work.last_answer, last) if each), default=None)
    return found


def _of(found: dict[str, _Work], specs: Sequence[BackendSpec], choice: str) -> _Work:
    spec = find(specs, choice)
    return found.setdefault(spec.name if spec else "", _Work())


def _ask(specs: Sequence[BackendSpec]) -> dict[str, _Heard]:
    heard = _kept(specs) | {spec.name: _Heard(is_alive=True, models=spec.models) for spec in specs if spec.is_demo}
    unheard = [spec for spec in specs if spec.name not in heard]
    if not unheard:
        return heard
    found: dict[str, _Heard] = {}
    # In a thread that the page does not wait for at the end: a name service that hangs holds up whoever closes the loop.
    asking = threading.Thread(target=lambda: asyncio.run(_ask_all(unheard, found)), name="model servers of a page", daemon=True)
    asking.start()
    asking.join(ASK_SECONDS + _SPARE_SECONDS)
    said = {spec.name: found.get(spec.name, _Heard(is_alive=False, problem=ProductCode.TIMEOUT.value)) for spec in unheard}
    with contextlib.suppress(*CACHE_ERRORS):  # they are asked again at the next page
        cache.set_many({_cache_key(spec): said[spec.name] for spec in unheard}, KEEP_SECONDS)
    return heard | said


def _kept(specs: Sequence[BackendSpec]) -> dict[str, _Heard]:
    try:
        kept = cache.get_many([_cache_key(spec) for spec in specs])
    except CACHE_ERRORS:
        return {}
    return {spec.name: kept[_cache_key(spec)] for spec in specs if _cache_key(spec) in kept}


async def _ask_all(specs: Sequence[BackendSpec], found: dict[str, _Heard]) -> None:
    async def ask(spec: BackendSpec) -> None:
        found[spec.name] = await _ask_one(spec)

    await asyncio.gather(*(ask(spec) for spec in specs))


async def _ask_one(spec: BackendSpec) -> _Heard:
    """It answers where one of its addresses does; those that do not are named."""
    try:
        key = connected.key_of(spec)
    except KeyUnusableError as error:
        return _Heard(is_alive=False, problem=str(error))
    urls = (spec.url, *spec.more_urls)
    answers = await asyncio.gather(*(_ask_address(spec, url, key) for url in urls))
    if len(urls) == 1:
        return answers[0]
    problems = "; ".join(f"{_place(url)}: {each.problem}" for url, each in zip(urls, answers, strict=True) if not each.is_alive)
    alive = next((each for each in answers if each.is_alive), answers[0])
    return replace(alive, problem=problems)


async def _ask_address(spec: BackendSpec, url: str, key: str | None) -> _Heard:
    begun = time.monotonic()
    limits = spec.limits(discover=ASK_SECONDS, connect=ASK_SECONDS)
    try:
        async with asyncio.timeout(ASK_SECONDS):
            found = await discover(url, key, limits, spec.route)
    except BackendError as error:
        return _Heard(is_alive=False, problem=error.code.value)
    except TimeoutError:
        return _Heard(is_alive=False, problem=ProductCode.TIMEOUT.value)
    except (OSError, ValueError):  # certificates that cannot be read, and no address
        return _Heard(is_alive=False, problem=ProductCode.BACKEND_SETUP.value)
    return _Heard(is_alive=True, milliseconds=round((time.monotonic() - begun) * 1000), models=found.models[:20])


def _place(url: str) -> str:
    """Host and port. Neither a name and password in an address nor its path are anybody's business."""
    parts = urlsplit(url)
    return f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"


def _cache_key(spec: BackendSpec) -> str:
    return "alive:" + hashlib.sha256(spec.model_dump_json().encode()).hexdigest()
