"""Asks a token-id server for its product, its models and its context length."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chatui.backends.base import BackendError
from chatui.backends.context_window import asked_contexts
from chatui.backends.discovery import Discovered, ask
from chatui.backends.harmony.dialects import DIALECTS
from chatui.backends.http import Upstream
from chatui.codes import Cause, ProductCode


@dataclass(frozen=True, slots=True)
class TokenServer:
    """A detected token-id server. ``dialect``: a key of ``DIALECTS``. ``found``: what the server reported about its models."""

    dialect: str
    found: Discovered

    @property
    def models(self) -> tuple[str, ...]:
        """The model names, the default first."""
        return self.found.models

    def context(self, model: str | None) -> int | None:
        """How many tokens a prompt and its answer may have together; None if unknown."""
        return self.found.context(model) or self.found.context(None)


async def ask_token_server(upstream: Upstream, dialect: str | None) -> TokenServer:
    """Query the server, within ``discover`` seconds for each of two requests. A ``dialect`` from the operator is used as given.

    Raises:
        BackendError: the server cannot be reached, or supports no known dialect.
    """
    try:
        found = await ask(upstream)
    except BackendError:
        if dialect is None:
            raise
        found = Discovered(None, ())
    dialect = dialect or found.server
    if dialect not in DIALECTS:
        raise BackendError(
            ProductCode.BACKEND_SETUP,
            f"The server ({found.server or 'it does not say what it is'}) is none that is known to take and give token ids "
            f"({', '.join(DIALECTS)}). Use kind chat for it, or name its dialect in the kind, as in harmony-vllm.",
        ).because(Cause.KIND_NOT_SPOKEN)
    if found.server != dialect and not found.contexts:
        found = replace(found, contexts=await asked_contexts(upstream, dialect, None))
    return TokenServer(dialect, found)
