"""``/v1/messages``, Anthropic's format: a message as the answer to messages, and how many tokens these have."""

from __future__ import annotations

import asyncio
from functools import partial

from django.http import HttpRequest, HttpResponseBase, JsonResponse

from chatui.accounts.key_admission import LiveKey
from chatui.api import answering, asking, request_parts
from chatui.api.answering import Answering, StreamForm
from chatui.api.bodies import body_of, checked
from chatui.api.errors import check_format
from chatui.api.functions import parse_tools
from chatui.api.message_events import MessageEvents
from chatui.api.messages_errors import error_body
from chatui.api.messages_request import CountedMessages, MessagesRequest
from chatui.api.reasoning_access import address_of
from chatui.database import pools
from chatui.turns.input_tokens import tokens_of

FORM = StreamForm(is_named=True, still_here=answering.event({"type": "ping"}), done=b"", error=error_body)


async def create(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """Create a message, streamed or whole (Anthropic's format)."""
    body = await body_of(request, key)
    check_format(key.for_messages)
    wanted = checked(MessagesRequest, body)
    wanted.refuse_what_is_not_served()
    answer = await asking.begin(address_of(request), key, wanted)
    events = _events_of(answer, wanted)
    if wanted.stream:
        return asking.with_ignored_fields(
            answering.streamed(asking.stream(answer, events, FORM), partial(asking.left, answer, events)), wanted
        )
    await asking.until_end(answer, events)
    return asking.with_ignored_fields(JsonResponse(events.whole()), wanted)


async def count_tokens(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """Estimate how many tokens the messages, instructions and functions of a request have. No model is asked."""
    body = await body_of(request, key)
    check_format(key.for_messages)
    wanted = checked(CountedMessages, body)
    wanted.refuse_what_is_not_served()
    await pools.commands.run(request_parts.choice_of, key, wanted.model)
    read, (offer, _) = wanted.read(), await asyncio.to_thread(parse_tools, wanted, key)
    counted = tokens_of(read.messages, read.orders, offer.functions.values())
    return asking.with_ignored_fields(JsonResponse({"input_tokens": counted}), wanted)


def _events_of(answer: Answering, wanted: MessagesRequest) -> MessageEvents:
    program = answer.program
    return MessageEvents(
        asking.head_of(answer),
        wants_thinking=wanted.wants_thinking,
        wants_lines=wanted.wants_lines,
        is_formatted=answer.asked.answer_format is not None,
        input_tokens=tokens_of(program.before, (program.standing_instructions, answer.asked.text), program.offer.functions.values()),
    )
