"""One run of the canary: sets up, runs the Journey, cleans up, and writes the result as text or JSON.

The result names places and markers, never the text around them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import random
import secrets
import signal
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chatui import instructions
from chatui.audit_log.record import SHELL, record
from chatui.env import environment
from chatui.models.turn import TurnState
from chatui.models.user import User
from chatui.operations.canary import fixtures, hidden_frames
from chatui.operations.canary.answers import SERVERS
from chatui.operations.canary.browser import Deployment, origin_of
from chatui.operations.canary.fixtures import Guests
from chatui.operations.canary.journey import Journey, Planted
from chatui.operations.canary.peer import CanaryServer
from chatui.operations.canary.scripts import Planter, Script
from chatui.operations.canary.watch import INCOMPLETE, Canary, CanaryError, CanaryFinding, Clock, LeakWatch
from renderer.harmony.vocabulary import VocabularyError

log = logging.getLogger(__name__)

FEW_SHAPES = 16
"""How many shapes of the catalogue, and labels with an answer of their own, a run plays in each wire format by default."""
_MIN_SECRET_CHARS = 24
_SETTLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CanaryReport:
    """The result of a run."""

    run: str
    seed: int
    """Determines the chosen shapes and the cuts."""
    origin: str
    seconds: float
    planted: dict[str, int]
    """Counts, by what was planted."""
    looked: dict[str, int]
    """Counts, by where was looked."""
    left_out: tuple[str, ...]
    findings: tuple[CanaryFinding, ...]
    problems: tuple[str, ...]
    """Sentences that say why finding nothing proves nothing."""

    @property
    def outcome(self) -> str:
        """``leak``, ``not carried out`` or ``clean``. A leak counts, whatever else failed."""
        if self.findings:
            return "leak"
        return "not carried out" if self.problems else "clean"


def run_canary(url: str, listen: tuple[str, int], seconds: float, shapes: int | None = FEW_SHAPES, seed: int | None = None) -> CanaryReport:
    """The whole run. ``listen``: the address of the canary's model server, as the deployment's processes reach it. ``shapes``: how many of
    the catalogue to play for each kind of server, all if None. ``seed`` determines which, and how they are cut.

    Raises:
        CanaryError: the run could not start.
    """
    origin = origin_of(url)
    if not User.objects.exists():
        raise CanaryError("There is no account yet. The canary's own people must not be the first ones.")
    fixtures.remove_left_over()
    clock, run, hidden, visible = Clock(seconds), fixtures.new_run(), Canary(), Canary()
    seed = secrets.randbelow(1 << 32) if seed is None else seed
    planted, left_out = plant(hidden, visible, shapes, seed)
    watch = LeakWatch(hidden, visible, secrets_of_operator())
    problems: list[str] = []
    record("canary run", SHELL, run, detail="begins")
    try:
        with CanaryServer(listen, planted.scripts) as peer:
            _travel(run, planted, Deployment(origin, watch, clock), peer, problems)
    except CanaryError as error:
        problems.append(str(error))
    except KeyboardInterrupt:
        problems.append("It was interrupted.")
    except Exception as error:
        # Earlier findings count; the exit code for a leak must not be used for errors.
        log.exception("the canary itself failed")
        problems.append(f"The canary itself failed: {type(error).__name__}.")
    report = CanaryReport(
        run,
        seed,
        origin,
        round(clock.elapsed, 1),
        {"hidden": len(hidden.planted), "visible": len(visible.planted), "answers": sum(map(len, planted.scripts.values()))},
        dict(watch.looked),
        left_out,
        tuple(watch.findings),
        tuple(dict.fromkeys(problems)),
    )
    record("canary run", SHELL, run, detail=f"ends: {report.outcome}, {len(report.findings)} findings")
    return report


def plant(hidden: Canary, visible: Canary, shapes: int | None, seed: int) -> tuple[Planted, tuple[str, ...]]:
    """The scripts of every wire format that can be played here, and a sentence for each one that cannot."""
    bait = "".join(secrets.choice("bcdfl") for _ in range(14))
    chooser = random.Random(seed)  # noqa: S311 (a run can be repeated by its seed)
    planters = {name: Planter(name, hidden, visible, bait, chooser, shapes) for name in (*SERVERS, "import")}
    scripts: dict[str, Sequence[Script]] = {}
    left_out: list[str] = []
    for name, server in SERVERS.items():
        try:
            scripts[name] = server.scripts(planters[name])
        except VocabularyError:
            left_out.append(f"{name}: the vocabulary is not on this machine")
    transcript, picture = hidden_frames.transcript(planters["import"]), _picture(hidden.plant("text in a picture"))
    return Planted(scripts, transcript, picture, visible, bait), tuple(left_out)


def _picture(text: str) -> bytes:
    """A PNG of one grey pixel, with a text beside it, as cameras and programs for drawing write one."""
    head = b"\0\0\0\1\0\0\0\1\x08\0\0\0\0"
    parts = (b"IHDR" + head, b"tEXt" + b"Comment\0" + text.encode(), b"IDAT" + zlib.compress(b"\0\x80"), b"IEND")
    chunks = (len(part[4:]).to_bytes(4) + part + zlib.crc32(part).to_bytes(4) for part in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def secrets_of_operator() -> dict[str, str]:
    """Secrets of the operator that are long enough not to appear on a page by chance."""
    env = environment()
    secrets = {"secret key": env.signing_key(), "key of the model server": env.backend_key}
    for name, text in instructions.instruction_texts().items():
        # Line by line, because pages, events and replies write line ends differently.
        for number, line in enumerate(text.splitlines(), 1):
            secrets[name if number == 1 else f"{name}, line {number}"] = line
    return {name: secret for name, secret in secrets.items() if len(secret) >= _MIN_SECRET_CHARS}


def _travel(run: str, planted: Planted, deployment: Deployment, peer: CanaryServer, problems: list[str]) -> None:
    """Run the journey. Always removes everything but the run's lines in the audit log from the database."""
    made: Guests | None = None
    try:
        servers = {name: (peer.url(name), [script.name for script in scripts]) for name, scripts in planted.scripts.items()}
        made = fixtures.make(run, servers)
        Journey(made, planted, deployment, peer, problems).go()
    finally:
        with _undisturbed():
            peer.release()
            if made is not None:
                _settle(made)
            fixtures.remove(run)


def _settle(made: Guests) -> None:
    """Wait until no answer is being written: a runner whose conversation is removed would log an error."""
    until = time.monotonic() + _SETTLE_SECONDS
    while made.owner.conversations.filter(turns__state=TurnState.RUNNING).exists() and time.monotonic() < until:
        time.sleep(0.1)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM inside, so that no accounts and model servers are left behind."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


EXIT_CODES = {"clean": 0, "leak": 1, "not carried out": INCOMPLETE}
_MAX_LINES = 100


def as_json(report: CanaryReport) -> str:
    return json.dumps(dataclasses.asdict(report) | {"outcome": report.outcome})


def as_text(report: CanaryReport) -> Iterator[str]:
    planted, looked = report.planted, ", ".join(f"{count} {what}" for what, count in sorted(report.looked.items()))
    yield f"{report.run} at {report.origin}, {report.seconds} s, seed {report.seed}"
    yield f"planted: {planted['hidden']} hidden and {planted['visible']} visible markers in {planted['answers']} answers and an upload"
    yield f"looked at: {looked or 'nothing'}"
    for sentence in report.left_out:
        yield f"left out: {sentence}"
    for finding in report.findings[:_MAX_LINES]:
        yield f"LEAK: {finding}"
    if len(report.findings) > _MAX_LINES:
        yield f"LEAK: and {len(report.findings) - _MAX_LINES} more; --json has all of them"
    for problem in report.problems:
        yield f"PROBLEM: {problem}"
    yield {"clean": "Nothing leaked.", "leak": "Hidden text got out.", "not carried out": "This run proves nothing."}[report.outcome]
