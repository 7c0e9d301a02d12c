"""The wire formats by name, and how a backend is built from a configuration."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chatui.backends.auto import AUTO, CHAT, KIND_OF, AutoBackend
from chatui.backends.base import Backend, Endpoint
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.backends.demo import DemoBackend
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from chatui.backends.responses.backend import ResponsesBackend
from renderer.harmony.vocabulary import Vocabulary

HARMONY = "harmony"


KINDS: dict[str, Callable[..., Backend]] = {
    CHAT: ChatCompletionsBackend,
    "responses": ResponsesBackend,
    HARMONY: HarmonyCompletionsBackend,
    **{kind: partial(HarmonyCompletionsBackend, dialect=product) for product, kind in KIND_OF.items()},
}
"""Wire formats by the name that operators use. A new one needs one line here."""


def build(
    endpoint: Endpoint, *, kind: str = CHAT, tokens_per_second: float = 50.0, vocabulary: Callable[[], Vocabulary] | None = None
) -> Backend:
    """The backend at ``endpoint``; the demo, at ``tokens_per_second``, if its ``url`` is empty.

    ``vocabulary``: loads the vocabulary for the kinds that use token ids; called with the first request.

    Raises:
        ValueError: ``kind`` names no wire format, ``url`` is not an http address, or no ``vocabulary`` was given.
    """
    if not endpoint.url:
        return DemoBackend(tokens_per_second)
    if kind not in (AUTO, *KINDS):
        raise ValueError(f"no such kind of model server: {kind!r}; known are: {', '.join((AUTO, *KINDS))}")
    if kind != AUTO and not needs_vocabulary(kind):
        return KINDS[kind](endpoint)
    if vocabulary is None:
        raise ValueError(f"kind {kind} needs the vocabulary: it speaks in token ids, or may choose them")
    if kind == AUTO:
        return AutoBackend(endpoint, vocabulary, lambda chosen: build(endpoint, kind=chosen, vocabulary=vocabulary))
    return KINDS[kind](endpoint, vocabulary=vocabulary)


def needs_vocabulary(kind: str) -> bool:
    return kind.split("-")[0] == HARMONY
