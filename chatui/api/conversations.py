"""``/v1/conversations``: conversations that programs begin by themselves, fill with items, and continue with responses.

They are conversations of the key's owner like all others, in the archive. The key that began one adds to it; others see it only if they may
read what the owner's other keys asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from pydantic import BaseModel, ConfigDict, Field

from chatui.accounts.key_admission import LiveKey
from chatui.api import ignored_parts, storage_jobs
from chatui.api.asking import MAX_STORED_CHARS, check_length, text_in, with_ignored
from chatui.api.bodies import body_of, checked
from chatui.api.errors import NOT_FOUND, ApiError, check_format, invalid
from chatui.api.parsed_messages import MAX_MESSAGES, unknown_call
from chatui.api.request_parts import Metadata, ignored_in
from chatui.api.response_object import Item, item, key_of
from chatui.api.response_request import CONVERSATION, conversation_key, is_reference, no_conversation, read_items
from chatui.api.stored_responses import item_of_input, list_of, object_of, page_of
from chatui.permissions.access import NotFoundError
from chatui.turns import program_conversations, running
from chatui.turns.program_conversations import ConversationFullError, ConversationHead, OfResponseError, SentItems
from chatui.turns.program_start import StillRunningError, UnknownCallError, UnreadableSummaryError
from chatui.turns.stored_program import Instruction, Part, StoredConversation, StoredProgramAnswer, stored_conversation

Items = Annotated[list[Any], Field(max_length=MAX_MESSAGES)]


class ConversationRequest(BaseModel):
    """What a new conversation has. Other fields are ignored, and named."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)
    metadata: Metadata | None = Field(None, repr=False)
    items: Items | None = Field(None, repr=False)


class MetadataRequest(BaseModel):
    """The texts of the program's own that a conversation has from now on. Other fields are ignored, and named."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)
    metadata: Metadata | None = Field(repr=False)


class ItemsRequest(BaseModel):
    """The items to add to a conversation. Other fields are ignored, and named."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)
    items: Items = Field(repr=False)


async def create(request: HttpRequest, key: LiveKey) -> HttpResponseBase:
    """Begin a conversation, with items if there are any."""
    body = await body_of(request, key)
    wanted = checked(ConversationRequest, body)
    check_format(key.for_responses)
    items = _items(wanted.items or [])
    with _refusals():
        created = await storage_jobs.run(key, program_conversations.create, key.owner, key.id, wanted.metadata or {}, items)
    return _with_ignored(JsonResponse(_shown(created)), body, ConversationRequest)


async def retrieve(request: HttpRequest, key: LiveKey, conversation_id: str) -> HttpResponseBase:
    """A conversation without its items."""
    check_format(key.for_responses)
    with _refusals():
        found = await storage_jobs.run(key, program_conversations.read, key.owner, _id(conversation_id), key.only_key)
    return JsonResponse(_shown(found))


async def update(request: HttpRequest, key: LiveKey, conversation_id: str) -> HttpResponseBase:
    """Replace the metadata of a conversation."""
    body = await body_of(request, key)
    wanted = checked(MetadataRequest, body)
    check_format(key.for_responses)
    with _refusals():
        found = await storage_jobs.run(key, program_conversations.update, key.owner, _id(conversation_id), key.id, wanted.metadata or {})
    return _with_ignored(JsonResponse(_shown(found)), body, MetadataRequest)


async def delete(request: HttpRequest, key: LiveKey, conversation_id: str) -> HttpResponseBase:
    """Delete a conversation."""
    check_format(key.for_responses)
    with _refusals():
        found = _id(conversation_id)
        await storage_jobs.run(key, _deleted, key, found)
    return JsonResponse({"id": _public(found), "object": "conversation.deleted", "deleted": True})


def _deleted(key: LiveKey, conversation_id: UUID) -> None:
    if program_conversations.delete(key.owner, conversation_id, key.id):
        running.stop_all_from_thread(conversation_id)
    else:
        running.stop_programs_from_thread(conversation_id)


async def add(request: HttpRequest, key: LiveKey, conversation_id: str) -> HttpResponseBase:
    """Add items to a conversation."""
    body = await body_of(request, key)
    wanted = checked(ItemsRequest, body)
    check_format(key.for_responses)
    items = _items(wanted.items)
    with _refusals():
        keys = await storage_jobs.run(key, program_conversations.add, key.owner, _id(conversation_id), key.id, items)
    new = {each.hex for each in keys}
    added = [each for each in _items_of(await _stored(key, conversation_id)) if each["id"].partition("_")[2] in new]
    return _with_ignored(JsonResponse(list_of(added)), body, ItemsRequest)


async def items(request: HttpRequest, key: LiveKey, conversation_id: str) -> HttpResponseBase:
    """The items of a conversation, the latest first."""
    return JsonResponse(page_of(_items_of(await _stored(key, conversation_id)), request.GET))


async def one_item(request: HttpRequest, key: LiveKey, conversation_id: str, item_id: str) -> HttpResponseBase:
    """An item of a conversation."""
    for each in _items_of(await _stored(key, conversation_id)):
        if each["id"] == item_id:
            return JsonResponse(each)
    raise _no_item()


async def delete_item(request: HttpRequest, key: LiveKey, conversation_id: str, item_id: str) -> HttpResponseBase:
    """Delete an item that was added to a conversation. The reply is the conversation."""
    check_format(key.for_responses)
    found = next((each for each in _items_of(await _stored(key, conversation_id)) if each["id"] == item_id), None)
    place = key_of(item_id)
    if found is None or place is None:
        raise _no_item()
    with _refusals():
        row = await storage_jobs.run(key, program_conversations.delete_item, key.owner, _id(conversation_id), key.id, place)
    return JsonResponse(_shown(row))


def _with_ignored(response: HttpResponseBase, body: Mapping[str, Any], model: type[BaseModel]) -> HttpResponseBase:
    """The response, which names what it ignores of the body."""
    return with_ignored(response, (*ignored_in(body, model.model_fields.keys()), *ignored_parts.in_items(body.get("items"), "items")))


def _items(given: list[Any]) -> SentItems:
    for index, each in enumerate(given):
        if is_reference(each):
            raise invalid("Send the item itself: here nothing is referred to.", param=f"items[{index}]", code="unsupported_value")
    read = read_items(given, "items")
    check_length((*read.orders, *map(text_in, read.messages)), MAX_STORED_CHARS, "items")
    return SentItems(read.messages, list(zip(read.places, read.orders, strict=True)))


@contextmanager
def _refusals() -> Iterator[None]:
    """Converts the errors of conversations into API errors."""
    try:
        yield
    except NotFoundError:
        raise no_conversation() from None
    except StillRunningError:
        words = "An answer is being written in this conversation."
        raise invalid(words, param="conversation", code="conversation_locked", status=409) from None
    except ConversationFullError:
        words = f"A conversation takes {program_conversations.MAX_MESSAGES} messages."
        raise invalid(words, param="items", code="too_many_messages") from None
    except OfResponseError:
        words = "This item belongs to a response, or was answered by one: delete that, or the conversation."
        raise invalid(words, param="item_id", code="item_of_response") from None
    except UnknownCallError:
        raise unknown_call("items") from None
    except UnreadableSummaryError:
        words = "The compacted conversation was not made here for the owner of this key, or too long ago."
        raise invalid(words, param="items", code="invalid_compaction") from None


def _no_item() -> ApiError:
    return ApiError(404, NOT_FOUND, "item_not_found", "There is no such item in this conversation.", param="item_id")


async def _stored(key: LiveKey, conversation_id: str) -> StoredConversation:
    check_format(key.for_responses)
    with _refusals():
        return await storage_jobs.run(key, stored_conversation, key.owner, _id(conversation_id), key.only_key)


def _id(conversation_id: str) -> UUID:
    if (found := conversation_key(conversation_id)) is None:
        raise NotFoundError
    return found


def _public(key: UUID) -> str:
    return f"{CONVERSATION}{key.hex}"


def _shown(head: ConversationHead) -> Item:
    created_at = int(head.created_at.timestamp())
    return {"id": _public(head.id), "object": "conversation", "created_at": created_at, "metadata": head.metadata}


def _items_of(found: StoredConversation) -> list[Item]:
    return [each for part in found.parts for each in _items_of_part(part)]


def _items_of_part(part: Part) -> list[Item]:
    match part:
        case StoredProgramAnswer():
            # A reasoning item without a line says nothing.
            return [each for each in object_of(part)["output"] if each["type"] != "reasoning" or each["summary"]]
        case Instruction(key=key, text=text):
            return [item("message", key, role="developer", content=[{"type": "input_text", "text": text}])]
        case _:
            return [item_of_input(part)]
