"""The interface of a token-id dialect: how one server product is requested, and how its chunks are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from chatui.backends.base import EndReason, Usage
from renderer.harmony.pieces import Piece
from renderer.harmony.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One request: the ids of the prompt, how many more may be sampled, and the model's name for servers that have several;
    ``sampling`` as for a SampleRequest.

    ``schema``: the whole output must be JSON that fits it. ``words``: the output must be one of these words, none of which begins with
    another; not together with a schema.
    """

    ids: Sequence[int]
    max_tokens: int
    model: str | None = None
    sampling: Mapping[str, float] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    words: Sequence[str] = ()


class Chunks(Protocol):
    """Reads the decoded chunks of one answer, in order. ``reason`` is None until the server reports why the model stopped."""

    reason: EndReason | None
    usage: Usage | None
    model: str | None

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """The pieces that this chunk adds.

        Raises:
            BackendError: the chunk has no readable token ids, or the server failed.
        """
        ...


class Dialect(Protocol):
    """The requests and responses of one kind of server."""

    @property
    def path(self) -> str:
        """The path for requests."""
        ...

    def payload(self, asked: CompletionRequest) -> dict[str, object]:
        """The body of the request."""
        ...

    def chunks(self, vocabulary: Vocabulary) -> Chunks:
        """A reader for one answer."""
        ...
