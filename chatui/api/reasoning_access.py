"""Raw reasoning in API responses: who may receive it, and the audit record that is written first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest, QueryDict

from chatui.accounts.key_admission import WAY, LiveKey
from chatui.api import answering, request_parts
from chatui.api.answering import Answering
from chatui.api.chat_request import ChatRequest
from chatui.api.messages_request import MessagesRequest
from chatui.api.response_request import ResponsesRequest
from chatui.audit_log.record import Visitor
from chatui.database import pools
from chatui.permissions import programs
from chatui.turns.asks import FunctionOffer
from chatui.turns.streams.program import ProgramStream
from renderer.gate import Audience


def stream_for(key: LiveKey, wanted: ResponsesRequest | ChatRequest | MessagesRequest, offer: FunctionOffer) -> ProgramStream:
    """The stream of a program's answer. It has raw reasoning only if the request asks for it and the key may read it."""
    match wanted:
        case ResponsesRequest():
            seals, asks = wanted.wants_sealed, wanted.asks_for_reasoning
        case ChatRequest():
            seals, asks = False, wanted.wants_reasoning
        case _:  # of Messages, whose blocks about thinking hold no reasoning, for any key
            seals, asks = wanted.wants_thinking, False
    audience = Audience.TRUSTED_PROGRAM if key.views_hidden and asks else Audience.PROGRAM
    return ProgramStream(audience, key.owner.pk if seals else None, own=offer.recipients, must_call=offer.must_call, hosted=offer.hosted)


async def recorded(address: str, answer: Answering) -> Answering:
    """The answer, after recording in the audit log that raw reasoning is sent. If that fails, the turn is stopped."""
    try:
        await record_reading(address, answer.key, answer.started.turn.conversation_id)
    except BaseException:
        await answering.stop(answer.started)
        raise
    return answer


async def record_reading(address: str, key: LiveKey, conversation_id: UUID) -> None:
    await pools.commands.run(programs.record_reading, _visitor(address, key), conversation_id, key.prefix)


async def record_if_asked(address: str, key: LiveKey, fields: Mapping[str, Any]) -> None:
    """Record that a program asks for raw reasoning in these fields of a body or query, if it may not read it. The response omits it.

    Called before anything else is checked: a request that is refused for another reason is an attempt all the same.
    """
    if not key.views_hidden and request_parts.asks_for_reasoning(fields):
        await record_attempt(address, key)


async def record_attempt(address: str, key: LiveKey) -> None:
    """Record that a program asked for raw reasoning without permission. The response omits it."""
    await pools.commands.run(programs.record_attempt, _visitor(address, key))


def audience_of(request: HttpRequest, key: LiveKey) -> Audience:
    """The audience for a key that reads something stored, depending on the query."""
    return Audience.TRUSTED_PROGRAM if key.views_hidden and asks_for_reasoning(request) else Audience.PROGRAM


def asks_for_reasoning(request: HttpRequest) -> bool:
    """Whether the query asks for raw reasoning. An attempt is recorded before any handler runs (``guarded``)."""
    return request_parts.asks_for_reasoning(fields_of_query(request.GET))


def fields_of_query(query: QueryDict) -> dict[str, Any]:
    """The query as the fields of a body, as far as they may ask for reasoning: libraries write lists and objects in several ways."""
    found = dict[str, Any](query.items())
    found["include"] = [value for name in query if name.partition("[")[0] == "include" for value in query.getlist(name)]
    excluded = [value.lower() for name in ("reasoning[exclude]", "reasoning.exclude") for value in query.getlist(name)]
    return found | ({"reasoning": {"exclude": "false" not in excluded}} if excluded else {})


def address_of(request: HttpRequest) -> str:
    return request.META.get("REMOTE_ADDR") or ""


def _visitor(address: str, key: LiveKey) -> Visitor:
    return Visitor(key.owner, address, WAY)
