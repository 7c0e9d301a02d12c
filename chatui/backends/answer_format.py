"""Writes an answer's format and function tools for the request fields of each wire format, and for the prompt.

If a server refuses an output format or a forced call, the request is repeated without it. The prompt still asks for it, and the answer is
checked anyway.
"""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace

from chatui.answer_formats import ANY_OBJECT, AnswerFormat
from chatui.backends.base import BackendError, Sample, SampleEnded, SampleRequest, Taker
from chatui.backends.context_window import overflow_of
from chatui.backends.sse import is_object
from chatui.codes import ProductCode
from renderer.frames import Frame, Header, Role
from renderer.harmony.prompt import DeveloperMessage, FunctionTool, ResponseFormat

_log = logging.getLogger(__name__)
_REFUSALS = (ProductCode.BACKEND_REFUSED, ProductCode.BACKEND_SETUP)
"""Servers refuse an unknown field as an invalid request, or as a configuration error ("unsupported_parameter")."""
_ACCOUNT = re.compile(r"invalid_api_key|insufficient_quota|billing")
_STATUSES_OF_ACCOUNTS = ("401", "402", "403", "407", "429")
"""Causes that refuse the account, whatever the request contains."""
_OWN_FAILURE = re.compile(r"server_error|internal_error")


async def sample_in_format(request: SampleRequest, take: Taker, sample: Sample) -> SampleEnded:
    """As ``sample``. Raises as ``sample`` does, also if the request is refused without the format and the tool choice."""
    try:
        return await sample(request, take)
    except BackendError as error:
        is_refused_format = request.answer_format is not None and refuses_format(error)
        if take.has_begun or not (is_refused_format or _is_refused_choice(request, error)):
            raise
        _log.info("a model server refused a format or a choice of tools (%s): asking without", error.log_text)
    return await sample(replace(request, asks_for_format=False, must_call=False), take)


def tool_choice(request: SampleRequest) -> dict[str, str]:
    """The field that forces a call, if one is required.

    The request lists only the allowed tools, so no name is needed, which some servers do not support.
    """
    return {"tool_choice": "required"} if request.must_call and request.tools else {}


def _is_refused_choice(request: SampleRequest, error: BackendError) -> bool:
    """Whether the server failed because it does not support ``tool_choice``: some then report an internal error. A broken connection does
    not count."""
    has_failed = error.code is ProductCode.BACKEND and (error.status.startswith("5") or bool(_OWN_FAILURE.search(error.evidence)))
    return bool(tool_choice(request)) and (refuses_format(error) or has_failed)


def refuses_format(error: BackendError) -> bool:
    """Whether a request may have been refused for its format."""
    is_of_account = error.status in _STATUSES_OF_ACCOUNTS or _ACCOUNT.search(error.evidence)
    return error.code in _REFUSALS and not is_of_account and overflow_of(error) is None


_ORDERS = (Role.SYSTEM, Role.DEVELOPER)


def for_prompt(wanted: AnswerFormat) -> ResponseFormat:
    """The format for the prompt, as gpt-oss was trained to read it."""
    return ResponseFormat(wanted.name, ANY_OBJECT if wanted.schema is None else wanted.schema, wanted.description)


def in_words(request: SampleRequest) -> SampleRequest:
    """The request with its format added to the instructions: many servers enforce it without telling the model."""
    if request.answer_format is None:
        return request
    text = DeveloperMessage(response_formats=(for_prompt(request.answer_format),)).text()
    place = next((index for index, frame in enumerate(request.frames) if frame.header.role not in _ORDERS), len(request.frames))
    frames = (*request.frames[:place], Frame(Header(Role.DEVELOPER), text), *request.frames[place:])
    return replace(request, frames=frames)


def as_chat(wanted: AnswerFormat) -> dict[str, object]:
    return {"type": "json_object"} if wanted.schema is None else {"type": "json_schema", "json_schema": _named(wanted)}


def as_responses(wanted: AnswerFormat) -> dict[str, object]:
    return {"type": "json_object"} if wanted.schema is None else {"type": "json_schema", **_named(wanted)}


def _named(wanted: AnswerFormat) -> dict[str, object]:
    described = {"description": wanted.description} if wanted.description else {}
    return {"name": wanted.name, **described, "schema": dict(wanted.schema or ANY_OBJECT), "strict": wanted.is_strict}


# Function tools

FUNCTIONS = "functions."
PYTHON = "python"
PYTHON_FUNCTION = "run_python"
"""The name of the built-in ``python`` as a function: gpt-oss sends raw code to any function called ``python``."""
CODE = "code"
"""The argument of that function."""
_NO_PARAMETERS = {"type": "object", "properties": {}}


def as_json(tool: FunctionTool) -> dict[str, object]:
    """Name, description and parameters, which are sent even if empty, because some servers require them."""
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters or _NO_PARAMETERS)}


def function_call(call: Frame) -> tuple[str, str]:
    """Name and arguments of a call in these formats: ``browser.search`` becomes ``browser_search``, and ``python`` becomes ``run_python``
    with its code as an argument.
    """
    recipient = call.header.recipient or ""
    if recipient.startswith(FUNCTIONS):
        return recipient.removeprefix(FUNCTIONS), arguments(call.body)
    if recipient != PYTHON:
        return recipient.replace(".", "_"), arguments(call.body)
    is_code = (call.header.constrain or "").lower() != "json"
    return PYTHON_FUNCTION, json.dumps({CODE: call.body}, ensure_ascii=False) if is_code else arguments(call.body)


def arguments(body: str) -> str:
    """The arguments of a call that is sent back.

    Servers parse them as JSON, and many fail on every later request if they are not an object: then they are empty, and the reply explains
    the error.
    """
    return body if is_object(body) else "{}"
