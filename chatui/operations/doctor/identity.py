"""Identifies a server: its product, version, models and context length, and whether its model is gpt-oss."""

from __future__ import annotations

from dataclasses import dataclass

from chatui.backends.base import BackendError
from chatui.backends.context_window import asked_contexts
from chatui.backends.discovery import Discovered, ask, knows_markers
from chatui.backends.harmony.dialects import DIALECTS
from chatui.backends.http import Upstream
from renderer.strict_json import object_of
from renderer.tokens import Token

_MAX_NAMES = 5
_TELLING = ("", "401", "403", "429", "503")
_VERSIONS = {
    "llama.cpp": ("/props", "build_info"),
    "vLLM": ("/version", "version"),
    "Ollama": ("/api/version", "version"),
    "SGLang": ("/get_server_info", "version"),
}


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """The detected facts about a server. Everything that is unknown is None."""

    host: str
    product: str | None = None
    version: str | None = None
    models: tuple[str, ...] = ()
    model: str | None = None
    """The examined model."""
    context: int | None = None
    """Tokens of question and answer together."""
    is_gpt_oss: bool | None = None
    why: str = ""
    """How it was detected that it is gpt-oss, or not."""

    @property
    def reason(self) -> str:
        return f"{self.why[:1].upper()}{self.why[1:]}."

    @property
    def named(self) -> str:
        """The first of its models, in a sentence."""
        return f"It names: {', '.join(name[:80] for name in self.models[:_MAX_NAMES])}."


async def identify(upstream: Upstream, model: str | None, dialect: str | None = None) -> ServerIdentity:
    """``model``: the configured one; else the server's first. ``dialect``: as configured by the operator.

    Raises:
        BackendError: it cannot be reached, refuses the key, or is busy. A server that only lists no models raises nothing.
    """
    found = await _found(upstream, dialect)
    product = found.server
    model = model or next(iter(found.models), None)
    is_gpt_oss, why = await _family(upstream, product, model)
    return ServerIdentity(
        upstream.host,
        product,
        found.version or await _version(upstream, product),
        found.models,
        model,
        _context(found, model),
        is_gpt_oss,
        why,
    )


async def loaded_context(upstream: Upstream, model: str | None) -> int | None:
    """The context length with which Ollama has loaded the model: by default far less than the model supports. None if not loaded."""
    return dict(await asked_contexts(upstream, "Ollama", None)).get(model)


async def _found(upstream: Upstream, dialect: str | None) -> Discovered:
    try:
        return await ask(upstream, dialect)
    except BackendError as error:
        # Any other response shows that the server is there; it just may not list its models.
        if error.status in _TELLING:
            raise
        return Discovered(dialect, (), await asked_contexts(upstream, dialect, None) if dialect else ())


async def _version(upstream: Upstream, product: str | None) -> str | None:
    path, name = _VERSIONS.get(product or "", ("", ""))
    version = object_of(await upstream.try_get(path)).get(name) if path else None
    return version[:80] if isinstance(version, str) and version else None


def _context(found: Discovered, model: str | None) -> int | None:
    if found.server == "Ollama":
        return dict(found.contexts).get(model)
    return found.context(model) or found.context(None) if found.server in DIALECTS else None


async def _family(upstream: Upstream, product: str | None, model: str | None) -> tuple[bool | None, str]:
    """The tokenizer is proof. The name is not, but some servers offer nothing else."""
    if product in DIALECTS:
        is_known = await knows_markers(upstream, product, model)
        if is_known is not None:
            why = "has Harmony's markers under the ids of gpt-oss" if is_known else "does not know Harmony's markers"
            return is_known, f"its tokenizer {why}"
    if product == "llama.cpp":
        template = object_of(await upstream.try_get("/props")).get("chat_template")
        if isinstance(template, str) and template:
            return str(Token.CHANNEL) in template, "told by its chat template"
    if model and "gpt-oss" in model.lower().replace("_", "-"):
        return True, "told by its name only"
    return None, ""
