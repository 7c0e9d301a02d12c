"""What ``ask`` and ``record_backend`` share: which model server is meant, and what came of asking it once."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import CommandError

from chatui import conf, vocabulary
from chatui.backends import registry
from chatui.backends.base import Backend, BackendError, EndReason, Limits, SampleEnded, SampleRequest
from renderer.errors import Code
from renderer.events import Assembler, Finished, RawEvent
from renderer.frames import Frame, Header, Role, Terminator
from renderer.gate import Audience, may_see, show
from renderer.vocabulary import Vocabulary

UNUSABLE = 2


def add_server_arguments(parser: ArgumentParser) -> None:
    """The options that name a server."""
    parser.add_argument("--url", default="", help="address of a model server; else the configured one")
    parser.add_argument("--kind", choices=list(registry.KINDS), help="wire format; else the configured one, or chat")
    parser.add_argument("--model", help="model name; else the configured one, or the first that the server names")
    parser.add_argument("--key-env", metavar="NAME", help="environment variable that holds the key for --url")
    parser.add_argument("--effort", choices=["low", "medium", "high"], default="medium", help="reasoning effort (medium)")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="longest answer in tokens")


def key_for(options: dict[str, Any]) -> str | None:
    """The key: that of ``--key-env``, else the configured one, which only its own server gets."""
    name, env = options["key_env"], conf.environment()
    if name:
        key = os.environ.get(name, "")
        if not key:
            raise CommandError(f"The environment has no {name}.", returncode=UNUSABLE)
        return key
    url = options["url"] or env.backend_url
    return env.key() or None if url and _origin(url) == _origin(env.backend_url) else None


def backend_for(options: dict[str, Any], **limits: float) -> Backend:
    """The back end that the options mean: the configured one where neither address nor kind is given.

    Raises:
        CommandError: there is no such back end.
    """
    env = conf.environment()
    try:
        if not options["url"] and not options["kind"] and not options["key_env"] and not limits:
            return conf.build()
        return registry.build(
            options["url"] or env.backend_url,
            key=key_for(options),
            kind=options["kind"] or (env.backend_kind or None if not options["url"] else None),
            model=env.backend_model or None if not options["url"] else None,
            limits=Limits(
                first=env.backend_first_token_seconds,
                idle=env.backend_idle_seconds,
                overall=env.backend_overall_seconds,
                **limits,  # type: ignore[arg-type]
            ),
            tokens_per_second=env.demo_tokens_per_second,
            vocabulary=_vocabulary,
        )
    except ValueError as error:
        raise CommandError(f"There is no such back end: {error}.", returncode=UNUSABLE) from error


def request_for(options: dict[str, Any], prompt: str) -> SampleRequest:
    """One question, behind the operator's instructions, as a new conversation has it."""
    env = conf.environment()
    before = (Frame(Header(Role.DEVELOPER), env.instructions),) if env.instructions else ()
    return SampleRequest(
        (*before, Frame(Header(Role.USER), prompt.encode("utf-8", "replace").decode())),
        model=options["model"],
        effort=options["effort"],
        max_tokens=options["max_tokens"] or env.max_answer_tokens or None,
    )


@dataclass
class Asked:
    """What came so far. Good at any moment, also when the person pressed Ctrl-C."""

    frames: list[Finished] = field(default_factory=list)
    ended: SampleEnded | None = None
    error: BackendError | None = None
    assembler: Assembler = field(default_factory=Assembler, repr=False)

    async def run(self, backend: Backend, request: SampleRequest, see: Callable[[RawEvent], None]) -> None:
        """Ask; ``see`` gets each event. A failure of the server is kept, not raised."""
        try:
            async with aclosing(backend.sample(request)) as events:
                async for event in events:
                    if isinstance(event, SampleEnded):
                        self.ended = event
                        continue
                    see(event)
                    if done := self.assembler.feed(event):
                        self.frames.append(done)
        except BackendError as error:
            self.error = error
        finally:
            await backend.aclose()

    @property
    def status(self) -> str:
        """``completed``, ``incomplete`` (cut), ``failed``, or ``interrupted`` (broken off, by the server or from the keyboard)."""
        if self.error is not None:
            return "interrupted" if self.error.code is Code.STREAM_TRUNCATED else "failed"
        if self.ended is None:
            return "interrupted"
        return "incomplete" if self.ended.reason in (EndReason.LENGTH, EndReason.CONTENT_FILTER) else "completed"

    @property
    def code(self) -> Code | None:
        """Our code for what is wrong with the answer."""
        if self.error is not None:
            return self.error.code
        if self.ended is None:
            return Code.STREAM_TRUNCATED
        if self.ended.reason is EndReason.LENGTH:
            return Code.LENGTH
        return None if self.visible(Audience.END_USER) or self.tool_calls else Code.NO_ANSWER

    @property
    def tool_calls(self) -> list[tuple[str, str]]:
        """Name and arguments of each whole call."""
        frames = [done.frame for done in self.frames if done.frame.terminator is Terminator.CALL]
        return [((frame.header.recipient or "").removeprefix("functions."), frame.body) for frame in frames]

    def visible(self, audience: Audience) -> str:
        """All text that this audience may see, in order."""
        last = self.assembler.open_frame()
        frames = [done.frame for done in self.frames] + ([last] if last else [])
        return "".join(show(frame, audience) for frame in frames if may_see(frame.header, audience))


def _vocabulary() -> Vocabulary:
    return vocabulary.load(conf.environment().data_dir)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port
