"""Chooses the wire format for a server by querying it: token ids if it supports them and runs a gpt-oss model, else Chat Completions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from chatui.backends.auto.family import knows_markers
from chatui.backends.base import BackendError
from chatui.backends.discovery import Discovered, ask
from chatui.backends.harmony.dialect import CompletionRequest
from chatui.backends.harmony.dialects import DIALECTS
from chatui.backends.http import WHOLE, Upstream
from chatui.codes import ProductCode
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary, VocabularyError
from renderer.tokens import Token

AUTO = "auto"
"""The kind of a back end whose wire format is chosen here."""
CHAT = "chat"
KIND_OF = {"llama.cpp": "harmony-llamacpp", "vLLM": "harmony-vllm", "SGLang": "harmony-sglang"}
"""The kind that uses token ids, by the name of the server."""

_NOT_NOW = (ProductCode.BACKEND_UNREACHABLE, ProductCode.BACKEND_BUSY)
_SAMPLE_WAITS = 5
"""How many times longer a token may take than a description: the model may have to be loaded first."""
_NOT_ALLOWED = ("HTTP 401", "HTTP 403")


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen wire format. ``kind``: a wire format. ``why``: the reason in one sentence without its full stop; it never quotes the
    server. ``lasts``: whether the choice is kept until an error casts doubt on it; otherwise it is made again soon. ``found``: what the
    server reported about itself.
    """

    kind: str
    why: str
    lasts: bool = True
    found: Discovered | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """The settings for the choice: the configured ``model`` if there is one, how to load the ``vocabulary``, and whether
    the server's own summaries are to be shown, which only Chat Completions and Responses provide. ``wants_reasoning``: False to have the
    server withhold it, which is impossible with token ids.
    """

    model: str | None
    vocabulary: Callable[[], Vocabulary]
    needs_summaries: bool = False
    wants_reasoning: bool = True


async def choose(upstream: Upstream, question: Question) -> Choice:
    """Query the server at ``upstream``, sampling at most one token.

    Raises:
        BackendError: it cannot be reached, is busy, or refuses the key. Nothing is chosen then.
    """
    try:
        found = await ask(upstream)
    except BackendError as error:
        return _without_an_answer(error)
    product = found.server
    if product not in DIALECTS:
        return Choice(CHAT, f"{product or 'a server that does not say what it is'} is not known to give token ids", found=found)
    if question.needs_summaries:
        return Choice(CHAT, "the summaries that this server writes do not come with token ids", found=found)
    if not question.wants_reasoning:
        return Choice(CHAT, "with token ids a server cannot keep its reasoning to itself, as is wanted here", found=found)
    if product == "llama.cpp" and len(found.models) > 1:
        return Choice(CHAT, "this llama.cpp has several models, and token ids go to one that cannot be named", found=found)
    return await _by_ids(upstream, question, product, found)


async def _by_ids(upstream: Upstream, question: Question, product: str, found: Discovered) -> Choice:
    model = question.model or next(iter(found.models), None)
    is_gpt_oss = await knows_markers(upstream, product, model)
    if is_gpt_oss is None:
        return Choice(CHAT, f"this {product} did not say how it tokenizes, so its model may not be gpt-oss", lasts=False, found=found)
    if not is_gpt_oss:
        return Choice(CHAT, f"the model of this {product} is not gpt-oss, by its tokenizer", found=found)
    try:
        vocabulary = await asyncio.to_thread(question.vocabulary)
    except VocabularyError:
        why = f"{product} gives token ids, which would be better, but the vocabulary is missing: run python manage.py fetch_vocabulary"
        return Choice(CHAT, why, lasts=False, found=found)
    gives_ids = await _gives_ids(upstream, product, model, vocabulary)
    if gives_ids is None:
        return Choice(CHAT, f"this {product} did not sample a token in time; it is asked again soon", lasts=False, found=found)
    if not gives_ids:
        return Choice(CHAT, f"this {product} does not return the ids of the tokens that it samples", found=found)
    why = f"{product} with gpt-oss gives token ids, so that preambles and hidden text are certainly apart from the answer"
    return Choice(KIND_OF[product], why, found=found)


def _without_an_answer(error: BackendError) -> Choice:
    if error.code in _NOT_NOW or error.cause.startswith(_NOT_ALLOWED):
        raise error
    if error.code is ProductCode.TIMEOUT:
        # Some servers answer no other request while they write an answer. The waiting request uses the format that all servers support.
        return Choice(CHAT, "the server did not say in time what it is; it is asked again soon", lasts=False)
    return Choice(CHAT, f"the server does not say what it is ({error.cause or 'no answer that can be read'})")


async def _gives_ids(upstream: Upstream, product: str, model: str | None, vocabulary: Vocabulary) -> bool | None:
    """Whether the server returns the id of one sampled token; None if it did not answer in time: everybody's requests wait for this.

    Raises BackendError if the server is busy or gone.
    """
    dialect = DIALECTS[product]
    prompt = [MARKER_IDS[Token.START], *vocabulary.encode("assistant")]
    chunks = dialect.chunks(vocabulary)
    try:
        sampled = upstream.stream(dialect.path, dialect.payload(CompletionRequest(prompt, 1, model)))
        async with asyncio.timeout(_SAMPLE_WAITS * upstream.limits.discover), aclosing(sampled) as read:
            async for events in read:
                for event in events:
                    chunk = json.loads(event.data) if event.name == WHOLE or event.data.startswith("{") else None
                    if isinstance(chunk, dict) and chunks.feed(chunk):
                        return True
    except BackendError as error:
        if error.code in _NOT_NOW:
            raise
        return None if error.code is ProductCode.TIMEOUT else False
    except TimeoutError:
        return None
    except (ValueError, RecursionError):
        return False
    return False
