"""Addresses below ``/v1`` that clients of OpenAI's API know and that are not served here: each reply says what there is instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.urls import URLPattern

from chatui.api.errors import NOT_FOUND, ApiError
from chatui.api.guarded import nowhere
from chatui.api.urls import urlpatterns

_ANSWERS = "Answers come from /v1/responses, /v1/chat/completions and /v1/messages."
_FILES = "No files are kept for programs: send their text in a message."
_STATE = "What has been said is kept in /v1/conversations, which /v1/responses continues."

SENTENCES: Mapping[str, str] = {
    "assistants": f"There are no assistants here. {_STATE}",
    "audio": "Neither speech nor transcription is served: no model here hears or speaks.",
    "batches": "There are no batches. Send the requests to /v1/responses at once: those beyond the limit wait; or with background: true.",
    "chat/completions": "A chat completion cannot be read again. Responses can, by GET /v1/responses/{id}.",
    "chatkit": f"There are no ChatKit sessions here. {_STATE}",
    "complete": f"Text completions are not served. {_ANSWERS}",
    "completions": f"Text completions are not served: the models here answer messages. {_ANSWERS}",
    "containers": "There are no containers here. A key can name the tools of this server that may run for it.",
    "edits": f"Edits are not served. {_ANSWERS}",
    "embeddings": "Embeddings are not served: the models here write text. Ask another server for embeddings.",
    "engines": "There are no engines here. The models are at /v1/models.",
    "evals": "There are no evaluations here.",
    "files": _FILES,
    "fine_tuning": "No models are trained here.",
    "fine-tunes": "No models are trained here.",
    "images": "Pictures are not served: the models here read and write text.",
    "moderations": "Moderation is not served here.",
    "organization": "Accounts, keys and usage are on the pages of this server, not in this API.",
    "organizations": "Accounts, keys and usage are on the pages of this server, not in this API.",
    "prompts": "There are no stored prompts here. Send the text as instructions.",
    "realtime": "Speech in real time is not served. /v1/responses can be opened as a WebSocket, for text.",
    "rerank": "Reranking is not served: the models here write text. Ask another server for it.",
    "score": "Scoring is not served: the models here write text. Ask another server for it.",
    "skills": "There are no skills here. Describe functions in tools, or send the text as instructions.",
    "threads": f"There are no threads here. {_STATE}",
    "tokenize": "Tokens are not served here. Their number is, by /v1/responses/input_tokens.",
    "uploads": _FILES,
    "vector_stores": "There are no vector stores here: send the text that is to be read in a message.",
    "videos": "Films are not served: the models here read and write text.",
}
"""What is said of an address, and of all below it."""


def sentence_for(address: str) -> str:
    """The sentence for an address that is not served, given without ``/v1/``: that of the longest beginning in SENTENCES, or a list of what
    there is."""
    parts = [part for part in address.lower().split("/") if part]
    for length in range(len(parts), 0, -1):
        if found := SENTENCES.get("/".join(parts[:length])):
            return found
    return f"There is no such address. There are {', '.join(_served(urlpatterns))}; /v1/openapi.json describes them."


def _served(patterns: list[URLPattern]) -> Iterator[str]:
    for pattern in patterns:
        if "<" not in str(pattern.pattern):
            yield f"/v1/{pattern.pattern}"


def _refusal(address: str) -> ApiError:
    return ApiError(404, NOT_FOUND, "unknown_address", sentence_for(address))


view = nowhere(_refusal)
"""Answers every method at every other address. A key is not needed: what is served is no secret. One that is sent counts the request."""
