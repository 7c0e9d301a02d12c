"""The settings that both API formats share: the model, the reasoning effort, and access to raw reasoning."""

from __future__ import annotations

from collections.abc import Iterable

from chatui.accounts.api_keys.checking import LiveKey
from chatui.api.errors import NOT_FOUND, ApiError
from chatui.model_servers import model_choice
from chatui.model_servers.model_choice import Choice

EFFORTS = {"none": "low", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}
"""The efforts that programs may request, with gpt-oss's terms. The response contains the one used."""


def choices_of(key: LiveKey) -> tuple[Choice, ...]:
    """The models that a key may use, its owner's default first. Reads the database."""
    return tuple(choice for choice in model_choice.choices_for(key.owner) if key.may_use(choice.value))


def chosen(choices: Iterable[Choice], model: str | None) -> Choice:
    """The choice that a program names, by its id, or by the model's name if it is unique. The default if it names none.

    Raises:
        ApiError: the key may not use such a model.
    """
    offered = list(choices)
    if not model:
        found = offered[:1]
    else:
        found = [choice for choice in offered if choice.value == model]
        found = found or [choice for choice in offered if choice.value.partition("/")[2] == model]
    if len(found) != 1:
        raise ApiError(404, NOT_FOUND, "model_not_found", "This key may ask for no such model; see /v1/models.", param="model")
    return found[0]
