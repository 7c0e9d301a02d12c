"""The wire formats by name, and how a backend is built from a configuration."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chatui.backends.auto import AUTO, KIND_OF, AutoBackend, Question
from chatui.backends.base import Backend, Endpoint
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.backends.demo import DemoBackend
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from chatui.backends.responses.backend import ResponsesBackend
from renderer.harmony.vocabulary import Vocabulary

HARMONY = "harmony"


KINDS: dict[str, Callable[..., Backend]] = {
    "chat": ChatCompletionsBackend,
    "responses": ResponsesBackend,
    HARMONY: HarmonyCompletionsBackend,
    **{kind: partial(HarmonyCompletionsBackend, dialect=product) for product, kind in KIND_OF.items()},
}
"""Wire formats by the name that operators use. A new one needs one line here."""


def build(
    endpoint: Endpoint,
    *,
    kind: str | None = None,
    tokens_per_second: float = 50.0,
    vocabulary: Callable[[], Vocabulary] | None = None,
    summaries_are_trusted: bool = False,
) -> Backend:
    """The backend at ``endpoint``; the demo, at ``tokens_per_second``, if its ``url`` is empty.

    ``vocabulary``: loads the vocabulary for the kinds that use token ids; called with the first request. ``summaries_are_trusted``: the
    headings of the server's reasoning summaries may choose lines that people see.

    Raises:
        ValueError: ``kind`` names no wire format, ``url`` is not an http address, or no ``vocabulary`` was given.
    """
    if not endpoint.url:
        return DemoBackend(tokens_per_second)
    if kind == AUTO:
        return _chosen(endpoint, vocabulary, summaries_are_trusted=summaries_are_trusted)
    if kind not in (None, *KINDS):
        raise ValueError(f"no such kind of model server: {kind!r}; known are: {', '.join((AUTO, *KINDS))}")
    options: dict[str, object] = {}
    if kind is not None and needs_vocabulary(kind):
        if vocabulary is None:
            raise ValueError(f"kind {kind} speaks in token ids and needs the vocabulary")
        options["vocabulary"] = vocabulary
    elif summaries_are_trusted:
        options["summaries_are_trusted"] = True
    return KINDS[kind or "chat"](endpoint, **options)


def _chosen(endpoint: Endpoint, vocabulary: Callable[[], Vocabulary] | None, *, summaries_are_trusted: bool) -> Backend:
    if vocabulary is None:
        raise ValueError(f"kind {AUTO} may choose token ids and needs a way to read the vocabulary")
    build_kind = partial(build, endpoint, vocabulary=vocabulary, summaries_are_trusted=summaries_are_trusted)
    question = Question(endpoint.model, vocabulary, summaries_are_trusted, endpoint.wants_reasoning)
    return AutoBackend(endpoint, question, lambda kind: build_kind(kind=kind))


def needs_vocabulary(kind: str) -> bool:
    return kind.split("-")[0] == HARMONY
