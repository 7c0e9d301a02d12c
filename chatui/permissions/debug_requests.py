"""Debug requests: with them, staff open the hidden channels of a conversation, for a reason and a limited time.

Each step is recorded. If the operator requires a second person, somebody other than the requester must approve.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext, pgettext

from chatui.audit_log.record import Visitor, record
from chatui.codes import ProductCode
from chatui.database import connections
from chatui.env import environment
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.user import User
from chatui.permissions import access, debug_views, four_eyes
from chatui.permissions.access import NotFoundError

MINUTES = (15, 60, 240)
"""The choices for how long a debug view may be open; the operator sets the maximum."""
REASON_CHARS = range(10, 181)
"""The allowed length of a reason: one word is not a reason, and a longer text does not fit into a line of the audit log."""
REQUEST_LASTS = timedelta(days=1)

MAX_SHOWN = 100
"""How many requests are listed."""


class ReasonNeededError(Exception):
    """The debug view was requested without a proper reason, or for a duration that is not offered."""

    code = ProductCode.REASON


class NotIndependentError(Exception):
    """The approver and the requester may be one person, because one created or changed the other's account. The attempt was recorded."""

    code = ProductCode.FOUR_EYES


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """A request as a page shows it, without any text of the conversation."""

    id: str
    conversation_id: str
    person_name: str
    owner_name: str
    reason: str
    minutes: int
    asked_at: datetime
    is_own: bool
    """Whether it is the viewer's own request, which they cannot decide."""
    is_linked: bool
    """Whether the viewer cannot approve it because they created or changed the requester's account, or the other way round."""
    account_permissions: tuple[str, ...]
    """Sentences that say what the two may do with accounts."""


@dataclass(frozen=True, slots=True)
class OpenDebugView:
    """An open debug view."""

    reason: str
    expires_at: datetime
    seconds: int
    """The time until it closes."""
    approved_by: str
    """Empty if it needed no approval."""


def minutes_to_choose() -> tuple[int, ...]:
    """The durations that people can choose for a debug view, in minutes, the shortest first."""
    most = environment().debug_open_minutes
    return tuple(minutes for minutes in MINUTES if minutes <= most) or (most,)


def open_debug_view(visitor: Visitor, conversation_id: object, reason: str, minutes: int | None = None) -> Conversation:
    """Open the debug view, or request it if a second person must approve. Recorded. ``minutes`` None: the shortest duration.

    Raises:
        HiddenViewRefusedError, NotFoundError: as ``debuggable_conversation``.
        ReasonNeededError: the reason is too short or too long, or the duration is not offered.
    """
    waits = environment().debug_approval
    action = "ask for debug view" if waits else "open debug view"
    conversation = access.debuggable_conversation(visitor, conversation_id, action=action)
    minutes = minutes_to_choose()[0] if minutes is None else minutes
    if len(reason) not in REASON_CHARS or minutes not in minutes_to_choose():
        raise ReasonNeededError
    # A person has at most one request for a conversation; reopening a view restarts its time.
    earlier = access.debug_requests_of(visitor, conversation)
    with transaction.atomic():
        debug_views.close(earlier.filter(expires_at=None) if waits else earlier)
        line = record(action, visitor, conversation, detail=f"{minutes} min: {reason}")
        expires_at = None if waits else connections.after(timedelta(minutes=minutes))
        request = DebugRequest.objects.create(
            conversation=conversation, person=access.person_of(visitor), reason=reason, minutes=minutes, expires_at=expires_at
        )
        # Its field has the clock of this machine: with a fast one, a request would wait for longer than it may.
        DebugRequest.objects.filter(pk=request.pk).update(asked_at=connections.now())
        request.refresh_from_db(fields=["asked_at", "expires_at"])
        debug_views.begin(line, request)
    return conversation


def close_debug_view(visitor: Visitor, conversation_id: object) -> Conversation:
    """Close the debug view, or withdraw the request for it. Recorded if there was one, with the counts of what was shown."""
    conversation = access.debuggable_conversation(visitor, conversation_id, action="close debug view")
    open_or_waiting = access.debug_requests_of(visitor, conversation).filter(_open_or_waiting())
    with transaction.atomic():
        closed, has_sum = debug_views.close(open_or_waiting, visitor)
        if closed and not has_sum:
            record("close debug view", visitor, conversation)
    return conversation


def close_all_of(person: User) -> None:
    """Close a person's debug views and withdraw their requests, because their account is closed. The views' counts are recorded."""
    debug_views.close(DebugRequest.objects.filter(_open_or_waiting(), person=person, closed_at=None))


def close_unpermitted() -> None:
    """Close the debug views, and withdraw the requests, of everybody who may not see hidden channels now, and record the views' counts.

    A permission that returns opens nothing by itself: it needs a new reason. Call this in the transaction of every
    change that may take rights away.
    """
    rows = DebugRequest.objects.filter(_open_or_waiting(), closed_at=None).select_related("person", "conversation__owner")
    # The people are read anew: an account in memory remembers the permissions that it had.
    if lost := [row.pk for row in rows if not access.may_view_hidden(row.person, row.conversation)]:
        debug_views.close(DebugRequest.objects.filter(pk__in=lost, closed_at=None))


def _open_or_waiting() -> Q:
    return Q(expires_at__gt=connections.now()) | Q(expires_at=None, asked_at__gt=connections.before(REQUEST_LASTS))


def _pending() -> QuerySet[DebugRequest]:
    """All requests that are waiting for a second person."""
    return DebugRequest.objects.filter(
        expires_at=None, decided_at=None, closed_at=None, asked_at__gt=connections.before(REQUEST_LASTS), conversation__deleted_at=None
    ).select_related("conversation__owner", "person")


def pending_requests(visitor: Visitor) -> list[ShownRequest]:
    """The pending requests for conversations that this person may view, and their own requests; the oldest first. Raises NotFoundError if
    they may not see hidden channels."""
    user = access.required(visitor.user, access.can_see_hidden)
    return [_shown(asked, user) for asked in _listed(user).order_by("asked_at")[:MAX_SHOWN]]


def count_to_decide(user: User | None) -> int | None:
    """How many requests this person can decide; None if they may not decide any."""
    if user is None or not environment().debug_approval or not access.can_see_hidden(user):
        return None
    return _listed(user).exclude(person=user).count()


def own_request(visitor: Visitor, conversation: Conversation) -> ShownRequest | None:
    """The visitor's pending request for this conversation."""
    asked = _pending().filter(conversation=conversation, person=visitor.user).first()
    return _shown(asked, asked.person) if asked else None


def open_view(visitor: Visitor, conversation: Conversation) -> OpenDebugView | None:
    """The visitor's open debug view of a conversation; None if there is none."""
    found = access.open_request(visitor, conversation)
    if found is None or found.expires_at is None:
        return None
    seconds = (found.expires_at - timezone.now()).total_seconds()
    return OpenDebugView(found.reason, found.expires_at, max(0, int(seconds)), found.decided_by.get_username() if found.decided_by else "")


def decide(visitor: Visitor, conversation_id: object, request_id: UUID, *, approves: bool) -> None:
    """Approve a request, so that its time starts now, or decline it. A request can be decided once. Recorded.

    Raises:
        HiddenViewRefusedError: the visitor lacks the permission for this conversation, or it is their own request; recorded as
            ``E-PERM-VISIBILITY``.
        NotFoundError: no such request is pending in this conversation, or the requester has lost the permission.
        NotIndependentError: the approver created or changed the requester's account, or the other way round. Recorded.
    """
    action = "approve debug view" if approves else "decline debug view"
    conversation = access.debuggable_conversation(visitor, conversation_id, action=action)
    found = _pending().filter(conversation=conversation, pk=request_id)
    if found.filter(person=visitor.user).exists():
        access.refuse(visitor, conversation.pk, action)
    with transaction.atomic():
        # Locked, so that only the first of two simultaneous decisions counts.
        asked = found.select_for_update(of=("self",)).first()
        if asked is None or (approves and not access.may_view_hidden(asked.person, conversation)):
            raise NotFoundError
        is_linked = approves and four_eyes.are_linked(asked.person, access.person_of(visitor))
        if not is_linked:
            _decide(asked, visitor, approves=approves)
            record(action, visitor, conversation, detail=_decision_detail(asked, visitor, approves=approves))
    if is_linked:
        record(action, visitor, conversation, code=ProductCode.FOUR_EYES, detail=f"for {asked.person.get_username()}")
        raise NotIndependentError


def _listed(user: User) -> QuerySet[DebugRequest]:
    asked = _pending()
    return asked if access.can_view_any(user) else asked.filter(Q(conversation__owner=user) | Q(person=user))


def _decide(asked: DebugRequest, visitor: Visitor, *, approves: bool) -> None:
    now = timezone.now()
    asked.decided_by, asked.decided_at = visitor.user, now
    if approves:
        asked.expires_at = connections.after(timedelta(minutes=min(asked.minutes, minutes_to_choose()[-1])))
    else:
        asked.closed_at = now
    asked.save(update_fields=["decided_by", "decided_at", "expires_at", "closed_at"])


def _decision_detail(asked: DebugRequest, visitor: Visitor, *, approves: bool) -> str:
    """The detail of the audit line: whose request it is, for an approval which of the two may create or change accounts, and the reason.

    The reason comes last because it may be long.
    """
    people = (("who asked", asked.person), ("who approves", access.person_of(visitor)))
    able = [words for words, person in people if approves and four_eyes.account_permissions(person)]
    account_permissions = f" ({' and '.join(able)} may change accounts)" if able else ""
    return f"for {asked.person.get_username()}{account_permissions}: {asked.reason}"


def _shown(asked: DebugRequest, user: User) -> ShownRequest:
    people, comma = dict.fromkeys([asked.person, user]), pgettext("between the things of a list", ", ")
    account_permissions = [(person.get_username(), four_eyes.account_permissions(person)) for person in people]
    return ShownRequest(
        id=str(asked.pk),
        conversation_id=str(asked.conversation_id),
        person_name=asked.person.get_username(),
        owner_name=asked.conversation.owner.get_username(),
        reason=asked.reason,
        minutes=asked.minutes,
        asked_at=asked.asked_at,
        is_own=asked.person == user,
        is_linked=four_eyes.are_linked(asked.person, user),
        # What the two may do with accounts, in the page's language.
        account_permissions=tuple(
            gettext("%(name)s may %(what)s") % {"name": name, "what": comma.join(map(gettext, words))}
            for name, words in account_permissions
            if words
        ),
    )
