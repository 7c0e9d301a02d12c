"""Runs the doctor in the background: one examination at a time for each server and each process, always with a time limit."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connections, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from chatui.admin.examining import kept_report
from chatui.admin.examining.kept_report import ShownReport
from chatui.audit_log.record import Visitor, record
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec.definition import BackendSpec
from chatui.database import clock
from chatui.doctor.examination import SECONDS, Target, examine
from chatui.doctor.faults import Fault, Finding, Level
from chatui.doctor.identity import Identity
from chatui.doctor.report import Report
from chatui.env import environment
from chatui.model_servers import connected, vocabulary
from chatui.models import Examination
from chatui.models.keys import new_key
from chatui.second_reader.process import SecondReader

log = logging.getLogger(__name__)

_MOST_QUESTIONS = 10
_DECISIVE = {
    *("kind", "url", "more_urls", "models", "summaries", "api_root", "query", "key_env", "key_file", "key_name", "key_header"),
    *("ca_file", "certificate_file", "certificate_key_file", "proxy"),
}
"""What decides where the questions go, and how they are asked."""
LEASE = timedelta(seconds=15)
"""For so long a run is believed to go on after its process last said so."""
BEAT_SECONDS = 1.0
_SPARE_SECONDS = 5.0
_here = threading.Lock()
"""Held while this process examines a server: each examination takes a thread and connections."""


class BusyError(Exception):
    """An examination runs already, of this server or in this process."""


@dataclass(frozen=True, slots=True)
class ExaminationStatus:
    """The last examination of a server. ``is_lost``: it ended without a report, as its process did, or it took too long.

    ``reports``: one for each address. ``is_outdated``: what decides what is asked, and where, is not what it was then.
    """

    begun_at: datetime
    is_running: bool
    is_lost: bool
    asked: int
    kind: str
    reports: tuple[ShownReport, ...]
    is_outdated: bool

    @property
    def worst(self) -> ShownReport | None:
        """The report of the address that is worst off, which speaks for the server; None if there is none."""
        return max(self.reports, key=lambda report: report.level, default=None)


@dataclass(slots=True)
class _Examined:
    """What the examining thread has to say so far."""

    counts: dict[int, int] = field(default_factory=dict)
    kind: str = ""
    reports: tuple[Report, ...] = ()

    @property
    def asked(self) -> int:
        """How many questions, of all addresses together."""
        return sum(tuple(self.counts.values()))

    def note(self, address: int, kind: str, asked: int) -> None:
        self.counts[address] = asked
        self.kind = kind


def most_questions(spec: BackendSpec) -> int:
    """How many questions an examination of this server asks at most."""
    return _MOST_QUESTIONS * (1 + len(spec.more_urls))


def status_of(spec: BackendSpec) -> ExaminationStatus | None:
    """What the page of this server shows; None if it was never examined from here."""
    is_leased = Q(lease_until__gt=clock.now())
    row = Examination.objects.filter(server=spec.name).annotate(is_leased=is_leased).first()
    if row is None:
        return None
    is_running = row.finished_at is None and row.is_leased
    reports = kept_report.shown(row.report) if row.report else ()
    is_outdated = row.report is not None and row.report.get("of") != _mark(spec)
    return ExaminationStatus(row.begun_at, is_running, not is_running and not reports, row.asked, row.kind, reports, is_outdated)


def begin(visitor: Visitor, spec: BackendSpec) -> None:
    """Examine this server in the background. Recorded.

    Raises:
        BusyError: an examination runs already. Nothing is recorded then.
    """
    if not _here.acquire(blocking=False):
        raise BusyError
    try:
        run = _claim(visitor, spec.name)
        threading.Thread(target=_conduct, args=(spec, run), name=f"examination of {spec.name}", daemon=True).start()
    except BaseException:
        _here.release()
        raise


@transaction.atomic
def _claim(visitor: Visitor, server: str) -> UUID:
    """Take the server's row, of which one process has it at a time. The condition is in the statement that takes it."""
    now, run = timezone.now(), new_key()
    Examination.objects.get_or_create(server=server, defaults={"begun_at": now, "lease_until": now, "finished_at": now})
    free = Examination.objects.filter(Q(finished_at__isnull=False) | Q(lease_until__lte=clock.now()), server=server)
    if not free.update(run=run, begun_at=now, lease_until=clock.after(LEASE), finished_at=None, asked=0, kind="", report=None):
        raise BusyError
    record("back end examined", visitor, server)
    return run


def _conduct(spec: BackendSpec, run: UUID) -> None:
    """Say every second how far it is, and at the end what was found. Another thread examines, so that this one is never held up."""
    try:
        examined = _Examined()
        asking = threading.Thread(target=_examine, args=(spec, examined), name=f"questions to {spec.name}", daemon=True)
        asking.start()
        end = time.monotonic() + SECONDS + _SPARE_SECONDS
        while asking.is_alive() and time.monotonic() < end:
            asking.join(BEAT_SECONDS)
            _note(run, lease_until=clock.after(LEASE), asked=examined.asked, kind=examined.kind)
        report = kept_report.kept(examined.reports, _mark(spec)) if examined.reports else None
        _note(run, finished_at=timezone.now(), asked=examined.asked, report=report)
    except (DatabaseError, InterfaceError) as error:
        # Its lease ends soon, and the page says that it ended.
        log.warning("the examination of back end %s could not be stored (%s)", spec.name, type(error).__name__)
    finally:
        connections.close_all()
        _here.release()


def _note(run: UUID, **values: object) -> None:
    Examination.objects.filter(run=run, finished_at=None).update(**values)


def _examine(spec: BackendSpec, examined: _Examined) -> None:
    try:
        examined.reports = _reports(spec, examined)
    except Exception as error:  # noqa: BLE001 - whatever it is, it may quote the server, so only its kind is logged
        log.warning("back end %s could not be examined (%s)", spec.name, type(error).__name__)


def _reports(spec: BackendSpec, examined: _Examined) -> tuple[Report, ...]:
    """Of each address, in their order: asked at once, so that they take no longer than one."""
    try:
        key = connected.key_of(spec)
    except KeyUnusableError as error:
        finding = Finding(Fault.KEY_MISSING, Level.UNASKED, f"{error}.")
        return (Report(spec.name, spec.kind, Identity(spec.url), (finding,)),)
    model = next(iter(spec.models), None)
    second = SecondReader(lambda: vocabulary.find(environment().data_dir))
    target = Target(spec.name, spec.url, connected.gpt_oss_vocabulary, spec.kind, key, model, spec.summaries, second, spec.route)

    async def ask() -> list[Report]:
        targets = [replace(target, url=url) for url in (spec.url, *spec.more_urls)]
        return await asyncio.gather(*(examine(each, progress=partial(examined.note, at)) for at, each in enumerate(targets)))

    return tuple(asyncio.run(ask()))


def _mark(spec: BackendSpec) -> str:
    """Another one for each way to set a server up that an examination would tell apart. Nothing can be read out of it."""
    return salted_hmac("chatui.examination", spec.model_dump_json(include=_DECISIVE), algorithm="sha256").hexdigest()
