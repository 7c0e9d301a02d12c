"""What there is during a run of ``manage.py canary``: its people and model servers in the database, the answers that its server plays, and
its programs."""

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from chatui.backends import registry
from chatui.backends.base import Endpoint, SampleRequest
from chatui.operations.canary import answers, fixtures, programs
from chatui.operations.canary.answers import SERVERS
from chatui.operations.canary.browser import Deployment
from chatui.operations.canary.fixtures import Guests
from chatui.operations.canary.peer import CanaryServer
from chatui.operations.canary.programs import OTHER as OTHER
from chatui.operations.canary.programs import PROGRAM as PROGRAM
from chatui.operations.canary.programs import REVOKED as REVOKED
from chatui.operations.canary.programs import TRUSTED as TRUSTED
from chatui.operations.canary.programs import ProgramVisitor
from chatui.operations.canary.scripts import PAUSE as PAUSE
from chatui.operations.canary.scripts import Planter, Script, all_shapes
from chatui.operations.canary.scripts import Shape as Shape
from chatui.operations.canary.watch import Clock
from renderer.frames import Frame, Header
from renderer.harmony.vocabulary import Vocabulary, VocabularyError
from tests.support.canary import Canary, Watch
from tests.support.sampling import PATIENT, Outcome, outcome

# People and model servers

BACKENDS = {"chat": ("http://127.0.0.1:9/secret/chat", ("fields", "paused"))}


def new_run() -> str:
    """A name for a run."""
    return fixtures.new_run()


def made(servers: Mapping[str, tuple[str, Sequence[str]]] = BACKENDS, run: str = "") -> Guests:
    """Create the rows of a run, which is new unless one is named."""
    return fixtures.make(run or new_run(), servers)


def remove(run: str) -> None:
    """Remove them, as at the end of the run."""
    fixtures.remove(run)


def remove_left_over() -> int:
    """Remove those of runs that died. Returns how many."""
    return fixtures.remove_left_over()


def choice(run: str, kind: str, model: str) -> str:
    """What the owner chooses to get one scripted answer."""
    return fixtures.choice(run, kind, model)


# Answers

BAIT = "bcdflbcdflbcdf"
SOME = 80
"""Of the shapes, and of the labels with an answer of their own; ``make attack`` plays all of them through a whole deployment."""


def catalogue() -> list[Shape]:
    """Every shape in which servers without a parser for their model deliver hidden text."""
    return all_shapes()


def script(name: str, *steps: bytes | None, **options: Any) -> Script:
    """An answer that the canary's server plays; ``options``: as in ``Script``."""
    return Script(name, steps, **options)


def scripts(kind: str, vocabulary: Vocabulary | None, hidden: Canary, visible: Canary) -> Sequence[Script]:
    """Those of one of the canary's servers, with the words that were planted in them. Raises VocabularyError if there are token ids among
    them, and no ``vocabulary``."""

    def load() -> Vocabulary:
        if vocabulary is None:
            raise VocabularyError("it is not on this machine")
        return vocabulary

    return SERVERS[kind].scripts(Planter(kind, hidden, visible, BAIT, random.Random(11), SOME, load))


@contextmanager
def serving(kind: str, played: Sequence[Script]) -> Iterator[str]:
    """The address of a server that plays these without waiting."""
    with CanaryServer(("127.0.0.1", 0), {kind: played}) as peer:
        peer.release()
        yield peer.url(kind)


class Played:
    """Every script of one server, sampled once through the real backend, with what was planted in it.

    ``labels``: instead of those by which servers name another author. ``takes``: which scripts, all if None.
    """

    def __init__(
        self, kind: str, vocabulary: Vocabulary, *, labels: Mapping[str, Any] | None = None, takes: Callable[[str], bool] | None = None
    ) -> None:
        self.hidden, self.visible = Canary(), Canary()
        with pytest.MonkeyPatch.context() as patch:
            if labels is not None:
                patch.setattr(answers, "LABELS", labels)
            planted = scripts(kind, vocabulary, self.hidden, self.visible)
        self.scripts = [each for each in planted if takes is None or takes(each.name)]
        with serving(kind, self.scripts) as url:
            self.outcomes = {each.name: asyncio.run(_sampled(url, kind, each.name, vocabulary)) for each in self.scripts}


async def _sampled(url: str, kind: str, model: str, vocabulary: Vocabulary) -> Outcome:
    request = SampleRequest((Frame(Header("user"), "What is hidden?"),), model=model)
    backend = registry.build(Endpoint(url, limits=PATIENT), kind=SERVERS[kind].kind, vocabulary=lambda: vocabulary)
    try:
        return await outcome(backend, request)
    finally:
        await backend.aclose()


# Programs

STORED = b'{"id": "resp_1", "conversation": {"id": "conv_1"}}'


def asked_for(played: Sequence[Script]) -> list[str]:
    """The names of those that programs ask for."""
    return [each.name for each in programs.to_be_asked_for(played)]


def most_asked_for() -> int:
    """How many of one wire format."""
    return programs.ANSWERS


class _Program:
    """A program that a product answers as a test wants it."""

    def __init__(self, viewer: str, statuses: Mapping[str, int]) -> None:
        self.viewer = viewer
        self._status = statuses.get(viewer, 404)
        self.requests: list[str] = []

    def ask(self, method: str, path: str, body: object = None) -> httpx.Response:
        self.requests.append(f"{method} {path.partition('?')[0]}")
        return httpx.Response(200 if "models" in path else self._status, content=STORED if self._status == 200 else b"{}")

    def talk(self, body: object) -> bool:
        return self._status == 200


def visited(statuses: Mapping[str, int]) -> tuple[set[str], list[str], dict[str, list[str]]]:
    """Let the programs of a run ask a product that answers each of them with this status, and with 404 where there is none: as whom
    something was found, the problems, and what each asked for."""
    watch, problems = Watch(), list[str]()
    deployment = Deployment("http://127.0.0.1:9", watch, Clock(5))
    visit = ProgramVisitor(made(), deployment, None, problems)  # type: ignore[arg-type]
    played = {viewer: _Program(viewer, statuses) for viewer in (PROGRAM, TRUSTED, REVOKED, OTHER)}
    visit._ask_for(played, "model")  # type: ignore[arg-type]
    return {finding.viewer for finding in watch.findings}, problems, {viewer: each.requests for viewer, each in played.items()}
