"""How the product checks what programs ask for, before anything is done with it."""

from typing import Any

from django.test import RequestFactory
from pydantic import BaseModel, ValidationError

from chatui.api.bodies import json_of
from chatui.api.chat_request import ChatRequest
from chatui.api.response_request import ResponsesRequest

_REQUESTS: dict[str, type[BaseModel]] = {"/v1/responses": ResponsesRequest, "/v1/chat/completions": ChatRequest}


def faults_looked_for(path: str, fields: dict[str, Any]) -> int:
    """How many faults of these fields are looked for before the request is refused."""
    try:
        _REQUESTS[path].model_validate({"model": None, "input": "", "messages": [], **fields})
    except ValidationError as error:
        return error.error_count()
    return 0


def parsed(path: str, body: bytes) -> dict[str, Any]:
    """The body of a request as the product parses it."""
    return json_of(RequestFactory().post(path, body, content_type="application/json"))
