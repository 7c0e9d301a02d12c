"""Runs the doctor in the background, with a time limit. Each server has at most one examination at a time, and so has each process."""

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

from chatui.admin.examining import stored_report
from chatui.admin.examining.stored_report import ShownReport
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

_MAX_QUESTIONS = 10
_RELEVANT_SETTINGS = {
    *("kind", "url", "more_urls", "models", "summaries", "api_root", "query", "key_env", "key_file", "key_name", "key_header"),
    *("ca_file", "certificate_file", "certificate_key_file", "proxy"),
}
"""The settings that affect where and how questions are sent."""
LEASE = timedelta(seconds=15)
"""How long a run counts as running after its process last stored its progress."""
PROGRESS_SECONDS = 1.0
_EXTRA_SECONDS = 5.0
_examination_lock = threading.Lock()
"""Held while this process examines a server, because each examination takes a thread and connections."""


class BusyError(Exception):
    """An examination of this server, or another one in this process, is already running."""


@dataclass(frozen=True, slots=True)
class ExaminationStatus:
    """The last examination of a server.

    ``has_failed``: it ended without a report, because its process ended or it took too long. ``asked``: the number of questions asked.
    ``reports``: one for each address. ``is_outdated``: the server's configuration has changed since.
    """

    begun_at: datetime
    is_running: bool
    has_failed: bool
    asked: int
    kind: str
    reports: tuple[ShownReport, ...]
    is_outdated: bool

    @property
    def worst(self) -> ShownReport | None:
        """The worst report of all addresses, which is the result for the server; None without reports."""
        return max(self.reports, key=lambda report: report.level, default=None)


@dataclass(slots=True)
class _Progress:
    """The progress and the result of the examining thread."""

    counts: dict[int, int] = field(default_factory=dict)
    kind: str = ""
    reports: tuple[Report, ...] = ()

    @property
    def asked(self) -> int:
        """The number of questions asked, for all addresses together."""
        return sum(tuple(self.counts.values()))

    def note(self, address: int, kind: str, asked: int) -> None:
        self.counts[address] = asked
        self.kind = kind


def max_questions(spec: BackendSpec) -> int:
    """The maximum number of questions that an examination of this server asks."""
    return _MAX_QUESTIONS * (1 + len(spec.more_urls))


def status_of(spec: BackendSpec) -> ExaminationStatus | None:
    """The status for the page of this server; None if it was never examined here."""
    is_leased = Q(lease_until__gt=clock.now())
    row = Examination.objects.filter(server=spec.name).annotate(is_leased=is_leased).first()
    if row is None:
        return None
    is_running = row.finished_at is None and row.is_leased
    reports = stored_report.from_stored(row.report) if row.report else ()
    is_outdated = row.report is not None and row.report.get("of") != _configuration_digest(spec)
    return ExaminationStatus(row.begun_at, is_running, not is_running and not reports, row.asked, row.kind, reports, is_outdated)


def begin(visitor: Visitor, spec: BackendSpec) -> None:
    """Examine this server in the background. Recorded.

    Raises:
        BusyError: an examination is already running; nothing is recorded.
    """
    if not _examination_lock.acquire(blocking=False):
        raise BusyError
    try:
        run = _claim(visitor, spec.name)
        threading.Thread(target=_run, args=(spec, run), name=f"examination of {spec.name}", daemon=True).start()
    except BaseException:
        _examination_lock.release()
        raise


@transaction.atomic
def _claim(visitor: Visitor, server: str) -> UUID:
    """Claim the server for this process, and return the key of the run. The condition is in the statement, so only one process succeeds."""
    now, run = timezone.now(), new_key()
    Examination.objects.get_or_create(server=server, defaults={"begun_at": now, "lease_until": now, "finished_at": now})
    free = Examination.objects.filter(Q(finished_at__isnull=False) | Q(lease_until__lte=clock.now()), server=server)
    if not free.update(run=run, begun_at=now, lease_until=clock.after(LEASE), finished_at=None, asked=0, kind="", report=None):
        raise BusyError
    record("back end examined", visitor, server)
    return run


def _run(spec: BackendSpec, run: UUID) -> None:
    """Store the progress every second, and the result at the end. Another thread asks the questions, so that nothing blocks this one."""
    try:
        progress = _Progress()
        asking = threading.Thread(target=_examine, args=(spec, progress), name=f"questions to {spec.name}", daemon=True)
        asking.start()
        end = time.monotonic() + SECONDS + _EXTRA_SECONDS
        while asking.is_alive() and time.monotonic() < end:
            asking.join(PROGRESS_SECONDS)
            _store(run, lease_until=clock.after(LEASE), asked=progress.asked, kind=progress.kind)
        report = stored_report.to_stored(progress.reports, _configuration_digest(spec)) if progress.reports else None
        _store(run, finished_at=timezone.now(), asked=progress.asked, report=report)
    except (DatabaseError, InterfaceError) as error:
        # The lease expires soon, and then the page shows that the examination was lost.
        log.warning("the examination of back end %s could not be stored (%s)", spec.name, type(error).__name__)
    finally:
        connections.close_all()
        _examination_lock.release()


def _store(run: UUID, **values: object) -> None:
    Examination.objects.filter(run=run, finished_at=None).update(**values)


def _examine(spec: BackendSpec, progress: _Progress) -> None:
    try:
        progress.reports = _reports(spec, progress)
    except Exception as error:  # noqa: BLE001 - only the type is logged, because the message may quote the server
        log.warning("back end %s could not be examined (%s)", spec.name, type(error).__name__)


def _reports(spec: BackendSpec, progress: _Progress) -> tuple[Report, ...]:
    """The reports of all addresses, in order. The addresses are examined in parallel, so that several take no longer than one."""
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
        return await asyncio.gather(*(examine(each, progress=partial(progress.note, at)) for at, each in enumerate(targets)))

    return tuple(asyncio.run(ask()))


def _configuration_digest(spec: BackendSpec) -> str:
    """A digest of the settings that affect an examination, without revealing them."""
    return salted_hmac("chatui.examination", spec.model_dump_json(include=_RELEVANT_SETTINGS), algorithm="sha256").hexdigest()
