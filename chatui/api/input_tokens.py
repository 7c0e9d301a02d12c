"""``POST /v1/responses/input_tokens``: about how many tokens a request for a response has. No model is asked, and nothing is stored."""

from __future__ import annotations

import asyncio

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from chatui.accounts.key_admission import LiveKey
from chatui.api import asking, request_parts, storage_jobs, stored_responses
from chatui.api.bodies import body_of, checked
from chatui.api.errors import check_format
from chatui.api.functions import parse_tools
from chatui.api.response_request import ResponsesRequest, no_conversation, no_previous
from chatui.database import pools
from chatui.display import programs
from chatui.permissions.access import NotFoundError
from chatui.turns.input_tokens import tokens_of
from chatui.turns.stored_program import visible_texts


class CountedResponse(ResponsesRequest):
    """The fields of a request for a response. The model may be left out: the estimate is the same for each."""

    model: str | None = None


async def count(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """Estimate how many tokens the input, instructions and functions of a request have, with what it continues."""
    body = await body_of(request, key)
    check_format(key.for_responses)
    wanted: ResponsesRequest = checked(CountedResponse, body)
    wanted.refuse_what_is_not_served()
    if wanted.model:
        await pools.commands.run(request_parts.choice_of, key, wanted.model)
    if wanted.references():
        wanted = await stored_responses.resolved(key, wanted)
    read, (offer, _) = wanted.read(), await asyncio.to_thread(parse_tools, wanted, key)
    texts = (wanted.instructions or "", *read.orders, *await _before(key, wanted))
    counted = tokens_of(read.messages, texts, offer.functions.values())
    return asking.with_ignored_fields(JsonResponse({"object": "response.input_tokens", "input_tokens": counted}), wanted)


async def _before(key: LiveKey, wanted: ResponsesRequest) -> list[str]:
    """What the program was shown of that which the request continues."""
    previous, conversation = wanted.previous(), wanted.continued()
    try:
        if previous is not None:
            parts = await storage_jobs.run(key, programs.input_of, key.owner, previous, key.only_key)
            output = await storage_jobs.run(key, programs.output_of, key.owner, previous, key.only_key)
            return [part.text for part in (*parts, *output)]
        if conversation is not None:
            return await storage_jobs.run(key, visible_texts, key.owner, conversation, key.id)
    except NotFoundError:
        raise (no_conversation() if conversation else no_previous()) from None
    return []
