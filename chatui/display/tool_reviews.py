"""What tools of other servers say to a model, prepared for whoever confirms them: inert text in which every character is visible.

It is the review of the command ``tools``: the same states, reasons and differences.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from chatui.audit_log.record import Visitor
from chatui.env import environment
from chatui.models.tools import StoredToolServer
from chatui.tools import confirmations, rules, server_registry, stored_servers
from chatui.tools.mcp.server import McpServer
from chatui.tools.remote.offers import ServerError, ToolOffer
from chatui.tools.server_registry import Review, ReviewState
from chatui.tools.sign_in.tokens import SignIns
from renderer.characters import escape

_STATES: dict[ReviewState, Promise] = {
    ReviewState.CONFIRMED: _("Confirmed"),
    ReviewState.CHANGED: _("Changed since it was confirmed: nobody gets it"),
    ReviewState.NEW: _("Not confirmed yet: nobody gets it"),
    ReviewState.UNUSABLE: _("Cannot be offered"),
    ReviewState.GONE: _("Confirmed, but no longer chosen or at its server"),
}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a definition. ``kind``: "+", "-" or "" for one that has not changed."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownReview:
    """A tool of another server."""

    name: str
    state: str
    description: str
    reason: str
    """Why it cannot be offered, in English."""
    seen: str
    """Its name and the digest of what is shown, which a form sends back; empty if it cannot be confirmed now."""
    is_confirmed: bool
    is_changed: bool
    lines: list[DiffLine] = field(repr=False)
    """Its definition, or what has changed in it."""
    confirmed_by: str = ""


@dataclass(frozen=True, slots=True)
class Reviews:
    """All reviews, those that wait for a decision first, and a sentence for each server that cannot be read, in English."""

    tools: list[ShownReview]
    problems: list[str]

    @property
    def waiting(self) -> list[ShownReview]:
        return [each for each in self.tools if each.seen]


def read(visitor: Visitor) -> Reviews:
    """Ask all servers now, which takes at most ``server_registry.LIST_SECONDS``; where each person signs in, as the visitor."""
    found, problems = _reviewed(visitor)
    order = list(_STATES)
    found.sort(key=lambda each: (each.state is ReviewState.CONFIRMED, order.index(each.state), each.name))
    return Reviews([_shown(each) for each in found], [escape(problem) for problem in problems])


def _reviewed(visitor: Visitor) -> tuple[list[Review], list[str]]:
    rules.forget_rows()  # another process may just have changed them
    person_id, stored = visitor.user.pk if visitor.user else None, stored_servers.specs()
    return asyncio.run(server_registry.reviewed(environment().tools_file, confirmations.stored(), person_id, stored))


def _shown(review: Review) -> ShownReview:
    waits = review.state in (ReviewState.NEW, ReviewState.CHANGED) and review.offer is not None
    offer = review.offer or review.before
    return ShownReview(
        name=escape(review.name),
        state=str(_STATES[review.state]),
        description=escape(offer.description) if offer else "",
        reason=escape(review.problem),
        seen=_seen(review, review.offer) if waits and review.offer else "",
        is_confirmed=review.state in (ReviewState.CONFIRMED, ReviewState.GONE),
        is_changed=review.state is ReviewState.CHANGED,
        lines=_lines(review),
        confirmed_by=escape(review.confirmed_by),
    )


def _lines(review: Review) -> list[DiffLine]:
    if review.state is ReviewState.CHANGED:
        # Without the two lines that name what is compared.
        return [DiffLine(line[:1].strip().replace("@", ""), escape(line)) for line in review.diff()[2:]]
    offer = review.offer or review.before
    return [DiffLine("", escape(line)) for line in offer.lines()] if offer else []


def confirm(visitor: Visitor, seen: Collection[str]) -> tuple[list[str], bool]:
    """Confirm what was seen, recorded. Returns the names, and whether anything was no longer as it was seen, and so is not confirmed."""
    wanted = set(seen)
    found, _problems = _reviewed(visitor)
    current = {_seen(each, each.offer): (each.offer, each.place) for each in found if each.offer is not None}
    offers = [current[each] for each in sorted(wanted & current.keys())]
    for offer, place in offers:
        confirmations.confirm(offer, visitor, place)
    return [offer.name for offer, _place in offers], len(offers) < len(wanted)


def _seen(review: Review, offer: ToolOffer) -> str:
    return f"{review.name}:{offer.digest()}:{review.place}"


def withdraw(visitor: Visitor, name: str) -> bool:
    """Withdraw a confirmation, recorded. False if there is none."""
    return name in confirmations.stored() and confirmations.withdraw(name, visitor)


def described(visitor: Visitor, row: StoredToolServer) -> tuple[list[tuple[str, str, bool]], str]:
    """The tools that a server of Administration lists now, by its names, each with its description and whether it is chosen; and why it
    could not be asked, in English. Where each person signs in, as the visitor."""
    try:
        found = asyncio.run(_described(row, visitor.user.pk if visitor.user else None))
    except ServerError as error:
        return [(name, "", True) for name in row.selected], f"{row.name}: {error}"
    listed = [(name, escape(words), name in row.selected) for name, words in found]
    gone = [(name, "", True) for name in row.selected if name not in {each[0] for each in found}]
    return [*listed, *gone], ""


async def _described(row: StoredToolServer, person_id: UUID | None) -> list[tuple[str, str]]:
    spec = stored_servers.spec_of(rules.StoredServer.of(row))
    server = McpServer(spec)
    try:
        async with asyncio.timeout(server_registry.LIST_SECONDS):
            found: list[tuple[str, str]] = await SignIns(spec).with_token(person_id, server.described)
            return found
    except TimeoutError:
        raise ServerError(f"the server did not list its tools within {server_registry.LIST_SECONDS:g} seconds") from None
    finally:
        await server.close()
