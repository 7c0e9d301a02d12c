"""Runs the doctor for the administration pages: whole examinations in the background, and brief tests of settings before they are saved.

A report is stored, and shown on a page, with only known names and numbers, and no text of a server: whoever may enter an address must not
read other services through it. Each server has at most one examination at a time, and so has each process.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.core.signing import BadSignature, TimestampSigner
from django.db import DatabaseError, InterfaceError, connections, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from chatui.audit_log.record import Visitor, record
from chatui.backends.keys import KeyUnusableError
from chatui.backends.separation import OwnProofs, Separates
from chatui.backends.spec import BackendSpec, is_model_name
from chatui.codes import Cause, Fault
from chatui.database import connections as clock
from chatui.model_servers import connected, stored
from chatui.model_servers.proofs import StoredProofs
from chatui.models.keys import new_key
from chatui.models.model_servers import Examination
from chatui.operations.doctor.examination import SECONDS, ExaminedServer, examine
from chatui.operations.doctor.faults import DetectedFault, Level, ServerFault
from chatui.operations.doctor.identity import ServerIdentity
from chatui.operations.doctor.report import DoctorReport, FormatReport, unasked
from chatui.outbound.addresses import origin

log = logging.getLogger(__name__)

PRODUCTS = ("llama.cpp", "vLLM", "Ollama", "SGLang", "LiteLLM")
_SAFE_EVIDENCE = frozenset(
    {
        ServerFault.CONTEXT_SMALL,
        ServerFault.IDS_INCOMPLETE,
        ServerFault.IDS_MISSING,
        ServerFault.NO_STREAM,
        ServerFault.OUT_OF_TIME,
        ServerFault.SEPARATION_UNPROVEN,
        ServerFault.SLOW_FIRST,
    }
)
"""Faults whose evidence consists only of our words and numbers.

The evidence of other faults may contain names that a server gives itself or its models.
"""
_MAX_CONTEXT, _SEEN_CHARS = 1_000_000_000, 400
"""The largest context size and the longest evidence that are stored: a server can report numbers of any length."""


def to_stored(reports: Sequence[DoctorReport], of: str) -> dict[str, Any]:
    """The reports of a server's addresses as plain values for JSON. ``of``: a digest of the server's configuration at that time."""
    first, *others = [_stored_report(report) for report in reports]
    return first | {"others": others, "of": of}


def from_stored(stored: dict[str, Any]) -> tuple[DoctorReport, ...]:
    """The reports for a page, one for each address. Findings that only another release knows are omitted."""
    return tuple(_shown(each) for each in (stored, *stored.get("others", ())))


def _shown(stored: dict[str, Any]) -> DoctorReport:
    identity = ServerIdentity("", stored["product"] or None, context=stored["context"], is_gpt_oss=stored["gpt_oss"])
    formats = tuple(
        FormatReport(one["kind"], _findings(one["findings"]), "" if one["tried"] else "not tried", one["first_seconds"])
        for one in stored["formats"]
    )
    return DoctorReport("", stored["configured"], identity, _findings(stored["general"]), formats, stored["seconds"])


def _findings(stored: list[list[Any]]) -> tuple[DetectedFault, ...]:
    known: dict[str, Fault] = {fault.value: fault for fault in (*Cause, *ServerFault)}
    return tuple(DetectedFault(known[name], Level(number), seen) for name, number, seen in stored if name in known)


def _stored_report(report: DoctorReport) -> dict[str, Any]:
    identity = report.identity
    return {
        "product": identity.product if identity.product in PRODUCTS else "",
        "gpt_oss": identity.is_gpt_oss,
        "context": identity.context if 0 < (identity.context or 0) <= _MAX_CONTEXT else None,
        "configured": report.configured,
        "seconds": round(report.seconds, 1),
        "general": [_stored_finding(finding) for finding in report.general],
        "formats": [_stored_format(one) for one in report.formats],
    }


def _stored_finding(finding: DetectedFault) -> list[str | int]:
    is_cause = isinstance(finding.fault, Cause) and finding.fault not in (Cause.KIND_NOT_SPOKEN, Cause.MODEL_UNKNOWN)
    is_safe = finding.fault in _SAFE_EVIDENCE or is_cause
    return [finding.fault.value, finding.level.value, finding.seen[:_SEEN_CHARS] if is_safe else ""]


def _stored_format(one: FormatReport) -> dict[str, Any]:
    first = None if one.first_seconds is None else round(one.first_seconds, 2)
    findings = [_stored_finding(finding) for finding in one.findings]
    return {"kind": one.kind, "tried": not one.not_tried, "first_seconds": first, "findings": findings}


_MAX_QUESTIONS = 10
LEASE = timedelta(seconds=15)
"""How long a run counts as running after its process last stored its progress."""
PROGRESS_SECONDS = 1.0
TEST_SECONDS = 30.0
"""The time limit of a brief test, for which a page waits."""
_EXTRA_SECONDS = 5.0
_WORST_TO_PASS = Level.FAULT
"""People get answers without hidden text from a server with such faults."""
PROOF_SECONDS = 60 * 60
"""How long the proof of a passed test counts."""
_MAX_NAMES = 20
_examination_lock = threading.Lock()
"""Held while this process examines a server, because each examination takes a thread and connections."""


class BusyError(Exception):
    """An examination of this server, or another one in this process, is already running."""


@dataclass(frozen=True, slots=True)
class ExaminationStatus:
    """The last examination of a server."""

    begun_at: datetime
    is_running: bool
    has_failed: bool
    """Whether it ended without a report, because its process ended or it took too long."""
    asked: int
    """The number of questions asked."""
    kind: str
    reports: tuple[DoctorReport, ...]
    """One for each address."""
    is_outdated: bool
    """Whether the server's configuration has changed since."""

    @property
    def worst(self) -> DoctorReport | None:
        """The worst report of all addresses, which is the result for the server; None without reports."""
        return max(self.reports, key=lambda report: report.level, default=None)


@dataclass(frozen=True, slots=True)
class ServerTest:
    """The result of a brief test."""

    reports: tuple[DoctorReport, ...]
    """One for each address."""
    product: str
    models: tuple[str, ...]
    """Those that the server lists, the first 20; none unless it answered like a model server."""
    has_passed: bool
    """Whether people may use it."""
    separates: Separates
    """The operator's word."""
    proof: str = field(repr=False)
    """Says later that it passed, see ``proved_at``; empty if it did not."""

    @property
    def worst(self) -> DoctorReport:
        return max(self.reports, key=lambda report: report.level)

    @property
    def is_key_refused(self) -> bool:
        """Whether the server wants a key, or another one."""
        parts = (part for report in self.reports for part in (report.general, *(one.findings for one in report.formats)))
        return any(finding.fault is Cause.KEY_REFUSED for part in parts for finding in part)

    @property
    def separation(self) -> str:
        """How answers will be read: "ids", "apart", "always" or "never reasons" if the operator says so, "unproven", or "mixed" if
        reasoning came in the answer; empty if there was no answer to tell by."""
        faults = {finding.fault for report in self.reports for one in report.formats for finding in one.findings}
        if any(fault.startswith("leak-") for fault in faults):
            return "mixed"
        if not self.has_passed:
            return ""
        if ServerFault.SEPARATION_UNPROVEN in faults:
            return "unproven"
        if all(one.kind.startswith("harmony") for report in self.reports for one in report.formats):
            return "ids"
        return "apart" if self.separates == "proved" else self.separates


@dataclass(slots=True)
class _Progress:
    """The progress and the result of the examining thread."""

    counts: dict[int, int] = field(default_factory=dict)
    kind: str = ""
    reports: tuple[DoctorReport, ...] = ()
    proofs: dict[str, OwnProofs] = field(default_factory=dict)
    """By address."""

    @property
    def asked(self) -> int:
        """The number of questions asked, for all addresses together."""
        return sum(tuple(self.counts.values()))

    def note(self, address: int, kind: str, asked: int) -> None:
        self.counts[address] = asked
        self.kind = kind


def max_questions(spec: BackendSpec) -> int:
    return _MAX_QUESTIONS * (1 + len(spec.more_urls))


def status_of(spec: BackendSpec) -> ExaminationStatus | None:
    """The status for the page of this server; None if it was never examined here."""
    is_leased = Q(lease_until__gt=clock.now())
    row = Examination.objects.filter(server=spec.name).annotate(is_leased=is_leased).first()
    if row is None:
        return None
    is_running = row.finished_at is None and row.is_leased
    reports = from_stored(row.report) if row.report else ()
    is_outdated = row.report is not None and row.report.get("of") != stored.settings_digest(spec)
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


def test(visitor: Visitor, spec: BackendSpec, name: str) -> ServerTest:
    """Identify this server and ask it one question, waiting for the result at most TEST_SECONDS. Recorded. If these are the settings of a
    stored server, the result is noted there; otherwise nothing is stored. ``name``: what the log calls it.

    Raises:
        BusyError: this process is examining a server; nothing is recorded.
    """
    if not _examination_lock.acquire(blocking=False):
        raise BusyError
    try:
        for url in (spec.url, *spec.more_urls):
            record("model server tested", visitor, name, detail=origin(url))
        progress = _Progress()
        # In a thread that the page does not have to wait for: a DNS lookup that hangs would block the closing of the event loop.
        asking = threading.Thread(target=_examine, args=(spec, progress), kwargs={"is_brief": True}, name="test of a server", daemon=True)
        asking.start()
        asking.join(TEST_SECONDS + _EXTRA_SECONDS)
    finally:
        _examination_lock.release()
    reports = progress.reports or (unasked(spec, Cause.SILENT),)
    passed = _have_passed(reports)
    stored.note_test(spec, has_passed=passed)
    _take_proofs(spec, progress)
    shown = tuple(_shown(_stored_report(report)) for report in reports)
    models = tuple(name for name in reports[0].identity.models if is_model_name(name))[:_MAX_NAMES] if passed else ()
    proof = _signer().sign(f"{timezone.now().isoformat()} {stored.settings_digest(spec)}") if passed else ""
    return ServerTest(shown, shown[0].identity.product or "", models, passed, spec.separates, proof)


def proved_at(spec: BackendSpec, proof: str) -> datetime | None:
    """When the test of ``proof`` passed, in the last hour, with exactly these settings and this key; None if it says nothing about them."""
    try:
        at, _, tested = _signer().unsign(proof, max_age=PROOF_SECONDS).partition(" ")
    except BadSignature:
        return None
    return datetime.fromisoformat(at) if constant_time_compare(tested, stored.settings_digest(spec)) else None


def _take_proofs(spec: BackendSpec, progress: _Progress) -> None:
    """Whoever asks next need not wait for a whole answer, if these settings are in use or will be."""
    if progress.reports and spec.ask_for_reasoning and spec.separates == "proved":
        for url, learned in progress.proofs.items():
            if learned.known:
                StoredProofs(spec, url, connected.key_of(spec)).take(learned)


def _have_passed(reports: Sequence[DoctorReport]) -> bool:
    return all(report.level <= _WORST_TO_PASS for report in reports)


def _signer() -> TimestampSigner:
    return TimestampSigner(salt="chatui.server-test")


@transaction.atomic
def _claim(visitor: Visitor, server: str) -> UUID:
    """Claim the server for this process, and return the key of the run. The condition is in the statement, so only one process succeeds."""
    now, run = timezone.now(), new_key()
    Examination.objects.get_or_create(server=server, defaults={"begun_at": now, "lease_until": now, "finished_at": now})
    free = Examination.objects.filter(Q(finished_at__isnull=False) | Q(lease_until__lte=clock.now()), server=server)
    if not free.update(run=run, begun_at=now, lease_until=clock.after(LEASE), finished_at=None, asked=0, kind="", report=None):
        raise BusyError
    record("model server examined", visitor, server)
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
        report = to_stored(progress.reports, stored.settings_digest(spec)) if progress.reports else None
        if progress.reports:
            stored.note_test(spec, has_passed=_have_passed(progress.reports))
            _take_proofs(spec, progress)
        _store(run, finished_at=timezone.now(), asked=progress.asked, report=report)
    except (DatabaseError, InterfaceError) as error:
        # The lease expires soon, and then the page shows that the examination was lost.
        log.warning("the examination of model server %s could not be stored (%s)", spec.name, type(error).__name__)
    finally:
        connections.close_all()
        _examination_lock.release()


def _store(run: UUID, **values: object) -> None:
    Examination.objects.filter(run=run, finished_at=None).update(**values)


def _examine(spec: BackendSpec, progress: _Progress, *, is_brief: bool = False) -> None:
    try:
        progress.reports = _reports(spec, progress, is_brief=is_brief)
    except Exception as error:  # noqa: BLE001 - only the type is logged, because the message may quote the server
        log.warning("model server %s could not be examined (%s)", spec.name, type(error).__name__)


def _reports(spec: BackendSpec, progress: _Progress, *, is_brief: bool = False) -> tuple[DoctorReport, ...]:
    """The reports of all addresses, in order. The addresses are examined in parallel, so that several take no longer than one."""
    try:
        key = connected.key_of(spec)
    except KeyUnusableError as error:
        return (unasked(spec, Cause.KEY_MISSING, f"{error}."),)
    model = next(iter(spec.models), None)
    target = ExaminedServer(
        *(spec.name, spec.url, connected.gpt_oss_vocabulary, spec.kind, key, model, spec.summaries, spec.route, is_brief),
        asks_for_reasoning=spec.ask_for_reasoning,
        separates=spec.separates,
    )
    seconds = TEST_SECONDS if is_brief else SECONDS

    async def ask() -> list[DoctorReport]:
        targets = [replace(target, url=url, proofs=OwnProofs()) for url in (spec.url, *spec.more_urls)]
        progress.proofs = {each.url: each.proofs for each in targets}
        found = (examine(each, seconds=seconds, progress=partial(progress.note, at)) for at, each in enumerate(targets))
        return await asyncio.gather(*found)

    return tuple(asyncio.run(ask()))
