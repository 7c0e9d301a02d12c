"""Records debug views of hidden channels: one audit line at once, then a count of pages and streams, and one line with the total.

One summary covers the time that a debug view is open. Each downloaded file gets a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from chatui.audit_log import aggregation
from chatui.audit_log.record import Visitor, record
from chatui.models import AuditEvent, DebugRequest

DOWNLOADS = ("whole download", "prompt download", "file download")
LISTED_DOWNLOADS = 20
"""How many files of one kind get a line in one debug view; the summary counts all of them."""


def begin(line: AuditEvent, request: DebugRequest) -> None:
    """Begin counting, with the line that opened the debug view."""
    if request.expires_at:
        aggregation.begin(line, _key(request), request.person, request.expires_at)


def record_access(visitor: Visitor, request: DebugRequest, action: str) -> None:
    """Record one access in an open debug view. Raises a database error if that fails."""
    if not request.expires_at:
        raise ValueError("a debug view that is not open was looked at")
    aggregation.end_overdue()
    is_download = action in DOWNLOADS

    def first() -> AuditEvent:
        # The view was opened by another person's approval, so no line yet says who views it, and from where.
        approved_by = f", approved by {request.decided_by.get_username()}" if request.decided_by else ""
        return record(action, visitor, request.conversation, detail=f"{request.minutes} min{approved_by}: {request.reason}")

    with transaction.atomic():
        again = aggregation.count(_key(request), action, visitor, request.expires_at, first)
        if again and (again.is_new_network or (is_download and again.number <= LISTED_DOWNLOADS)):
            record(action, visitor, request.conversation, detail="" if is_download else "from another network")


def end(requests: Iterable[DebugRequest], visitor: Visitor | None = None) -> bool:
    """Sum up the views of debug requests that are closed, by a visitor or (None) by the product. Returns whether there was one."""
    lines = [aggregation.end(_key(request), visitor) for request in requests]
    return any(lines)


def _key(request: DebugRequest) -> str:
    return f"look:{request.pk}"
