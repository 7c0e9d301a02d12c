"""Records debug views of hidden channels.

A debug view has an audit line when it is opened, and a line with the counts of pages and streams when it ends. Downloaded files also get
separate lines.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chatui.audit_log import aggregation
from chatui.audit_log.record import Visitor, record
from chatui.models.audit import AuditEvent
from chatui.models.debug_requests import DebugRequest

DOWNLOADS = ("whole download", "prompt download", "file download")
LISTED_DOWNLOADS = 20
"""How many downloads of one kind get separate lines in one debug view; the last line counts all of them."""


def begin(line: AuditEvent, request: DebugRequest) -> None:
    """Start counting accesses. ``line``: the audit line of the opened debug view."""
    if request.expires_at:
        aggregation.open_counter(line, _key(request), request.person, request.expires_at)


def record_access(visitor: Visitor, request: DebugRequest, action: str) -> None:
    """Record one access in an open debug view. Raises a database error if that fails."""
    if not request.expires_at:
        raise ValueError("the debug view is not open")
    aggregation.close_expired()
    is_download = action in DOWNLOADS

    def first() -> AuditEvent:
        # Another person's approval opened this view, so no line says yet who views it, and from where.
        approved_by = f", approved by {request.decided_by.get_username()}" if request.decided_by else ""
        return record(action, visitor, request.conversation, detail=f"{request.minutes} min{approved_by}: {request.reason}")

    with transaction.atomic():
        again = aggregation.count(_key(request), action, visitor, request.expires_at, first)
        if again and (again.is_new_network or (is_download and again.number <= LISTED_DOWNLOADS)):
            record(action, visitor, request.conversation, detail="" if is_download else "from another network")


def close(requests: QuerySet[DebugRequest], visitor: Visitor | None = None) -> tuple[int, bool]:
    """Close these views, and withdraw these requests. Returns how many, and whether a line with the counts of a view was written."""
    with transaction.atomic():
        taken = list(requests.select_for_update(of=("self",)))
        DebugRequest.objects.filter(pk__in=[request.pk for request in taken]).update(closed_at=timezone.now())
        return len(taken), _end(taken, visitor)


def _end(requests: Iterable[DebugRequest], visitor: Visitor | None) -> bool:
    """Write the counts of debug views that are closed, by a visitor or (None) by the product. Returns whether any line was written."""
    lines = [aggregation.close_counter(_key(request), visitor) for request in requests]
    return any(lines)


def _key(request: DebugRequest) -> str:
    return f"look:{request.pk}"
