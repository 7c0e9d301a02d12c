"""Raw reasoning in API responses: who may receive it, and the audit record that is written first."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest

from chatui.accounts.api_keys import WAY, LiveKey
from chatui.api import answering, request_parts
from chatui.api.answering import Answering
from chatui.api.chat_request import ChatRequest
from chatui.api.response_request import ResponsesRequest
from chatui.audit_log.record import Visitor
from chatui.database import pools
from chatui.permissions import programs
from chatui.turns.asks import FunctionOffer
from chatui.turns.streams.program import ProgramStream
from renderer.gate import Audience


def stream_for(key: LiveKey, wanted: ResponsesRequest | ChatRequest, offer: FunctionOffer) -> ProgramStream:
    seals = isinstance(wanted, ResponsesRequest) and wanted.wants_sealed
    asks = wanted.asks_for_reasoning if isinstance(wanted, ResponsesRequest) else wanted.wants_reasoning
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


async def record_attempt(address: str, key: LiveKey) -> None:
    """Record that a program asked for raw reasoning without permission. The response omits it."""
    await pools.commands.run(programs.record_attempt, _visitor(address, key))


async def audience_of(request: HttpRequest, key: LiveKey) -> Audience:
    """The audience for a key that reads something stored, depending on the query. An attempt without permission is recorded."""
    if not asks_for_reasoning(request):
        return Audience.PROGRAM
    if key.views_hidden:
        return Audience.TRUSTED_PROGRAM
    await record_attempt(address_of(request), key)
    return Audience.PROGRAM


def asks_for_reasoning(request: HttpRequest) -> bool:
    lists = {name: request.GET.getlist(name) for name in ("include", "include[]")}
    return request_parts.asks_for_reasoning({**request.GET.dict(), **lists})


def address_of(request: HttpRequest) -> str:
    return request.META.get("REMOTE_ADDR") or ""


def _visitor(address: str, key: LiveKey) -> Visitor:
    return Visitor(key.owner, address, WAY)
