"""Sends one question to a model server that options name, for ``ask``, ``record_backend`` and ``doctor``."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.core.management.base import CommandError

from chatui.backends import keys, registry
from chatui.backends.auto import AUTO
from chatui.backends.base import Backend, BackendError, EndReason, SampleEnded, SampleRequest, Taker
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec import BackendSpec, SpecError, check_spec, split_choice
from chatui.codes import ProductCode
from chatui.env import environment
from chatui.model_servers import configured, connected
from chatui.outbound.addresses import origin
from renderer.errors import Code, ErrorCode
from renderer.events import Assembler, Finished, FrameOpened, RawEvent
from renderer.frame_kinds import ASIDE, PRODUCT_NAMES
from renderer.frames import Frame, Header, Role, Terminator
from renderer.gate import Audience, may_see, show

UNUSABLE = 2


@dataclass(frozen=True, slots=True)
class AskedServer:
    """The server that the options select: its spec, the requested model (None: its default), and the key that may be sent to it."""

    spec: BackendSpec
    model: str | None
    key: str | None = field(repr=False)


def add_server_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--backend", default="", metavar="NAME[/MODEL]", help="a configured model server; the default is the first one")
    parser.add_argument("--url", default="", help="address of a model server that is not configured")
    parser.add_argument("--kind", choices=[AUTO, *registry.KINDS], help="wire format; with --url, detected by default")
    parser.add_argument("--model", help="model name; the default is the configured one, or the first that the server lists")
    parser.add_argument("--key-env", metavar="NAME", help="environment variable that holds the key for --url")
    parser.add_argument("--effort", choices=["low", "medium", "high"], default="medium", help="reasoning effort (medium)")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="maximum length of the answer, in tokens")


def server_for(options: dict[str, Any]) -> AskedServer:
    """The server that the options select: the first configured one if they name none.

    Raises:
        CommandError: there is no such server, or its key is not available.
    """
    if options["url"] and options["backend"]:
        raise CommandError("Name a configured model server or --url, not both.", returncode=UNUSABLE)
    try:
        if options["url"]:
            spec = check_spec({"name": "asked", "url": options["url"], "kind": options["kind"] or AUTO})
        else:
            spec = connected.spec_of(options["backend"])
        if options["kind"] and spec.kind != options["kind"]:
            spec = check_spec({**spec.model_dump(), "kind": options["kind"]})
        return AskedServer(spec, options["model"] or split_choice(options["backend"])[1], _key(spec, options))
    except BackendError as error:
        names = ", ".join(spec.name for spec in connected.specs()) or "none"
        raise CommandError(f"{error.detail} Configured: {names}.", returncode=UNUSABLE) from error
    except SpecError as error:
        raise CommandError(f"There is no such model server: {'; '.join(error.problems)}.", returncode=UNUSABLE) from error
    except KeyUnusableError as error:
        raise CommandError(f"The key cannot be used: {error}.", returncode=UNUSABLE) from error


def backend_for(server: AskedServer, **limits: float) -> Backend:
    """Create a backend for one command.

    Raises:
        CommandError: it cannot be created.
    """
    try:
        return connected.build(server.spec, server.key, **limits)
    except ValueError as error:
        raise CommandError(f"There is no such model server: {error}.", returncode=UNUSABLE) from error


def request_for(server: AskedServer, options: dict[str, Any], prompt: str) -> SampleRequest:
    """One question after the operator's instructions, as in a new conversation."""
    env = environment()
    before = (Frame(Header(Role.DEVELOPER), env.instructions),) if env.instructions else ()
    return SampleRequest(
        (*before, Frame(Header(Role.USER), prompt.encode("utf-8", "replace").decode())),
        model=server.model,
        effort=options["effort"],
        max_tokens=options["max_tokens"] or server.spec.max_answer_tokens or env.max_answer_tokens or None,
    )


def _key(spec: BackendSpec, options: dict[str, Any]) -> str | None:
    """The key of ``--key-env``, else the spec's. With ``--url``, that is the key configured for the same origin, if any."""
    if name := options["key_env"]:
        key = os.environ.get(name, "")
        if not key:
            raise CommandError(f"Environment variable {name} is not set.", returncode=UNUSABLE)
        return keys.checked(key, f"the variable {name}")
    if not options["url"]:
        return connected.key_of(connected.spec_of(options["backend"]))
    # Without the model servers of Administration: --url must work without a database.
    same = (known for known in configured.operator_backends(environment()) if known.url and origin(known.url) == origin(spec.url))
    return next((found for known in same if (found := connected.key_of(known))), None)


@dataclass
class AnswerSoFar:
    """The answer received so far. Usable at any moment, also after Ctrl-C."""

    frames: list[Finished] = field(default_factory=list)
    ended: SampleEnded | None = None
    error: BackendError | None = None
    assembler: Assembler = field(default_factory=Assembler, repr=False)

    async def run(self, backend: Backend, request: SampleRequest, on_event: Callable[[RawEvent], None]) -> None:
        """Send the question; ``on_event`` is called with each event. An error of the server is stored, not raised."""

        def take(event: RawEvent) -> None:
            if isinstance(event, FrameOpened) and event.header.role == Role.ASSISTANT and event.header.name in PRODUCT_NAMES:
                event = FrameOpened(ASIDE)  # a summary of reasoning: people never see its text, whatever it is called
            on_event(event)
            if done := self.assembler.feed(event):
                self.frames.append(done)

        try:
            self.ended = await backend.sample(request, Taker(take))
        except BackendError as error:
            self.error = error
        finally:
            await backend.aclose()

    @property
    def status(self) -> str:
        """``completed``, ``incomplete`` (truncated), ``failed``, or ``interrupted`` (by the server or from the keyboard)."""
        if self.error is not None:
            return "interrupted" if self.error.code is Code.STREAM_TRUNCATED else "failed"
        if self.ended is None:
            return "interrupted"
        return "incomplete" if self.ended.reason in (EndReason.LENGTH, EndReason.CONTENT_FILTER) else "completed"

    @property
    def code(self) -> ErrorCode | None:
        """The error code of the answer; None if nothing is wrong."""
        if self.error is not None:
            return self.error.code
        if self.ended is None:
            return Code.STREAM_TRUNCATED
        if self.ended.reason is EndReason.LENGTH:
            return ProductCode.CONTEXT_FULL if self.ended.is_context_full else ProductCode.LENGTH
        if any(done.error is ProductCode.WITHHELD for done in self.frames):
            return ProductCode.WITHHELD
        return None if self.visible(Audience.END_USER) or self.tool_calls else ProductCode.NO_ANSWER

    @property
    def tool_calls(self) -> list[tuple[str, str]]:
        """Name and arguments of each complete call."""
        frames = [done.frame for done in self.frames if done.frame.terminator is Terminator.CALL]
        return [((frame.header.recipient or "").removeprefix("functions."), frame.body) for frame in frames]

    def visible(self, audience: Audience) -> str:
        last = self.assembler.open_frame()
        frames = [done.frame for done in self.frames] + ([last] if last else [])
        return "".join(show(frame, audience) for frame in frames if may_see(frame.header, audience))
