"""The URLs of the API, below ``/v1/``, with the handler for each HTTP method. The description of the API is made from them."""

from __future__ import annotations

from django.urls import path

from chatui.api import asking, compacting, conversations, input_tokens, messages, stored_responses
from chatui.api.guarded import endpoint

urlpatterns = [
    path("models", endpoint(get=stored_responses.models), name="api_models"),
    path("models/<path:model_id>", endpoint(get=stored_responses.model), name="api_model"),
    path("responses", endpoint(post=asking.responses), name="api_responses"),
    path("responses/compact", endpoint(post=compacting.compact), name="api_compact"),
    path("responses/input_tokens", endpoint(post=input_tokens.count), name="api_input_tokens"),
    path("responses/<slug:answer_id>", endpoint(get=stored_responses.stored, delete=stored_responses.delete), name="api_response"),
    path("responses/<slug:answer_id>/cancel", endpoint(post=stored_responses.cancel), name="api_cancel"),
    path("responses/<slug:answer_id>/input_items", endpoint(get=stored_responses.input_items), name="api_input_items"),
    path("conversations", endpoint(post=conversations.create), name="api_conversations"),
    path(
        "conversations/<slug:conversation_id>",
        endpoint(get=conversations.retrieve, post=conversations.update, delete=conversations.delete),
        name="api_conversation",
    ),
    path(
        "conversations/<slug:conversation_id>/items",
        endpoint(get=conversations.items, post=conversations.add),
        name="api_conversation_items",
    ),
    path(
        "conversations/<slug:conversation_id>/items/<slug:item_id>",
        endpoint(get=conversations.one_item, delete=conversations.delete_item),
        name="api_conversation_item",
    ),
    path("chat/completions", endpoint(post=asking.chat), name="api_chat"),
    path("messages", endpoint(post=messages.create), name="api_messages"),
    path("messages/count_tokens", endpoint(post=messages.count_tokens), name="api_count_tokens"),
]
