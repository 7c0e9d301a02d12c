"""The URL patterns of the API's endpoints, with the handler for each HTTP method."""

from __future__ import annotations

from django.urls import path

from chatui.api import asking, compacting
from chatui.api import stored_responses as views
from chatui.api.guarded import endpoint

endpoints = [
    path("models", endpoint(get=views.models), name="api_models"),
    path("models/<path:model_id>", endpoint(get=views.model), name="api_model"),
    path("responses", endpoint(post=asking.responses), name="api_responses"),
    path("responses/compact", endpoint(post=compacting.compact), name="api_compact"),
    path("responses/<slug:answer_id>", endpoint(get=views.stored, delete=views.delete), name="api_response"),
    path("responses/<slug:answer_id>/cancel", endpoint(post=views.cancel), name="api_cancel"),
    path("responses/<slug:answer_id>/input_items", endpoint(get=views.input_items), name="api_input_items"),
    path("chat/completions", endpoint(post=asking.chat), name="api_chat"),
]
