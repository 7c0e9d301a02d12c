"""Compares what tool servers offer now with what the operator confirmed, for the operator's review."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path

from chatui.json_schemas import UnusableError
from chatui.tools import server_registry
from chatui.tools.remote import definition
from chatui.tools.remote.definition import McpSpec, OpenApiSpec
from chatui.tools.remote.offers import Listing, ServerError, ToolOffer
from chatui.tools.server_registry import Confirmations, ServerConnection


class ReviewState(Enum):
    """The review states of a tool."""

    CONFIRMED = 1
    CHANGED = 2
    NEW = 3
    UNUSABLE = 4
    GONE = 5


@dataclass(frozen=True, slots=True)
class Review:
    """The review of one tool. ``offer``: the current offer; None if it cannot be confirmed. ``before``: the confirmed offer."""

    name: str
    state: ReviewState
    offer: ToolOffer | None = None
    before: ToolOffer | None = None
    problem: str = ""
    confirmed_at: datetime | None = None

    def diff(self) -> list[str]:
        """The changes, as the lines of a unified diff; the whole offer if nothing was confirmed."""
        before = self.before.lines() if self.before else []
        after = self.offer.lines() if self.offer else []
        return list(difflib.unified_diff(before, after, "confirmed", "now", lineterm="", n=2))


@dataclass(frozen=True, slots=True)
class Reviewed:
    """All reviews, and a message for each problem with the file or a server."""

    tools: tuple[Review, ...]
    problems: tuple[str, ...]


async def reviewed(path: Path, confirmations: Confirmations) -> Reviewed:
    """The reviews of all tools. Queries every server of the file, in parallel."""
    file = definition.read_file(path)
    listings = await asyncio.gather(*map(_listed, file.servers))
    tools: list[Review] = []
    problems, silent = list(file.problems), set[str]()
    for spec, listing in zip(file.servers, listings, strict=True):
        if isinstance(listing, str):
            problems.append(f"{spec.name}: {listing}")
            silent.add(spec.name)
        else:
            tools += _of_server(spec, listing, confirmations)
    seen = {each.name for each in tools}
    removed = [each.offer for name, each in confirmations.tools.items() if name not in seen and each.offer.server not in silent]
    tools += [Review(offer.name, ReviewState.GONE, before=offer) for offer in removed]
    return Reviewed(tuple(tools), tuple(problems))


async def _listed(spec: OpenApiSpec | McpSpec) -> Listing | str:
    server = server_registry.server_of(spec)
    try:
        return await server_registry.listed(server)
    except ServerError as error:
        return str(error)
    finally:
        await server.close()


def _of_server(spec: OpenApiSpec | McpSpec, listing: Listing, confirmations: Confirmations) -> Iterator[Review]:
    for remote, problem in listing.problems.items():
        yield Review(f"{spec.name}/{remote}", ReviewState.UNUSABLE, problem=problem)
    for offer in listing.offers.values():
        found = confirmations.of(offer)
        before = found.offer if found else None
        try:
            server_registry.tool_of(offer, ServerConnection(spec, server_registry.server_of(spec)))
        except UnusableError as error:
            yield Review(offer.name, ReviewState.UNUSABLE, before=before, problem=str(error))
            continue
        state = ReviewState.NEW if found is None else ReviewState.CONFIRMED if confirmations.is_confirmed(offer) else ReviewState.CHANGED
        yield Review(offer.name, state, offer, before, confirmed_at=found.confirmed_at if found else None)
