"""The measurements of a run, one function each. The servers take turns, so that disturbances affect all of them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import Request, urlopen

from tests.bench.delivery import arithmetic, processes
from tests.bench.delivery.figures import (
    FLOOR,
    PAGES,
    PRODUCT,
    RELAY,
    Figure,
    Outcomes,
    bytes_per_token,
    cpu_per_flush,
    cpu_per_token,
    cpu_per_turn,
    middle,
)
from tests.bench.delivery.load.job import Outcome
from tests.bench.delivery.process_table import memory_mb
from tests.bench.delivery.processes import Target
from tests.bench.delivery.turn_counts import TurnCounts

RATE = 50
STREAMS, TOKENS = 60, 300
MAX_STREAMS = 600
LATE_SECONDS = 0.15
WAITING_IS_MUCH = 0.15
OTHERS_ARE_SLOW = 0.9
"""Share of their core above which the load and the model server might be the bottleneck."""

FEW_TOKENS, MANY_TOKENS = 50, 200
"""What a further token costs is the difference, so that it has nothing of what a turn costs."""
TOKEN_TURNS = 4
PAGE_REQUESTS = 5
QUIET_SECONDS = 0.3

SHORT_PARTS = ("idle", "streams", "turns", "bursts", "statements")
PARTS = (*SHORT_PARTS, "deflate", "growth", "programs", "most")


@dataclass(frozen=True, slots=True)
class Plan:
    """Which ``parts`` are measured, and how thoroughly."""

    parts: tuple[str, ...] = PARTS
    rounds: int = 5
    bursts: tuple[int, ...] = (20, 200)

    @property
    def people(self) -> int:
        """The largest number of pages open at once."""
        return MAX_STREAMS if "most" in self.parts else max(*self.bursts, STREAMS)


class Measuring:
    """One run over these servers. ``notes`` are remarks for the reader of the report."""

    def __init__(self, plan: Plan, targets: Sequence[Target]) -> None:
        self._plan = plan
        self._targets = targets
        self._product = next(target for target in targets if target.name == PRODUCT)
        self._streamed: Outcomes = {}
        self._fresh_memory: dict[str, float] = {}
        self.notes: list[str] = []
        self.faults: list[str] = []

    def figures(self) -> Iterator[Figure]:
        """All figures of these servers, each as soon as it is measured."""
        if "idle" in self._plan.parts:
            yield Figure("idle_memory", "memory, idle", "MB", self._memory())
        self._all(5, 50, rounds=1)
        self._fresh_memory = self._memory()
        measurements = {
            "streams": self._streaming,
            "turns": self._turns,
            "bursts": self._bursts,
            "deflate": self._deflate,
            "growth": self._growth,
            "programs": self._programs,
            "most": self._most,
        }
        for part, measure in measurements.items():
            if part in self._plan.parts:
                yield from measure()

    def _streaming(self) -> Iterator[Figure]:
        streamed, fetching = self._with_page(STREAMS, TOKENS)
        self._streamed = streamed
        quiet = _is_quiet(streamed)
        per_token, per_token_page = middle(streamed, cpu_per_token), middle(fetching, cpu_per_token)
        yield Figure("cpu_token", f"CPU per 1,000 tokens, {STREAMS} streams", "s", per_token, is_judged=quiet)
        yield Figure("cpu_token_page", "  with what the page fetches", "s", per_token_page, is_judged=_is_quiet(fetching))
        # The bare relay's latencies are close to zero with a random tail. The floor's are those of its frames, and steady.
        p50, p99 = _milliseconds(streamed, "p50"), _milliseconds(streamed, "p99")
        yield Figure("p50", f"added latency p50, {STREAMS} streams (x floor)", "ms", p50, is_judged=quiet, base=FLOOR)
        yield Figure("p99", "  p99 (x floor)", "ms", p99, is_judged=quiet, base=FLOOR)
        yield from _firsts(STREAMS, streamed)
        yield Figure("bytes_token", "bytes per token on the socket", "B", middle(streamed, bytes_per_token), is_judged=quiet)

    def _turns(self) -> Iterator[Figure]:
        # Two tokens, so that the answer does not end before the page follows it.
        turns, fetching = self._with_page(10, 2, rate=4, turns=6)
        many = self._all(STREAMS, 2, self._plan.rounds, rate=4, turns=6)
        per_turn = middle(turns, cpu_per_turn)
        yield Figure("cpu_turn", "CPU per turn", "ms", per_turn, is_judged=_is_quiet(turns))
        yield Figure("cpu_turn_page", "  with what the page fetches", "ms", middle(fetching, cpu_per_turn), is_judged=_is_quiet(fetching))
        yield Figure("cpu_turn_60", f"  {STREAMS} pages at once", "ms", middle(many, cpu_per_turn), is_judged=_is_quiet(many))
        if self._streamed:
            per_flush = cpu_per_flush(self._streamed, per_turn)
            yield Figure("cpu_flush", "CPU per frame with text", "ms", per_flush, is_judged=_is_quiet(self._streamed))

    def _bursts(self) -> Iterator[Figure]:
        for streams in self._plan.bursts:
            outcomes = self._all(streams, 50, self._plan.rounds)
            yield from _firsts(streams, outcomes)
        grown = {server: max(0.0, found[-1].memory - self._fresh_memory[server]) / streams for server, found in outcomes.items()}
        yield Figure("memory_stream", f"memory per stream, {streams} at a time", "MB", grown)

    def _deflate(self) -> Iterator[Figure]:
        outcome = self._run(self._product, 20, TOKENS, deflate=True)
        if outcome.is_compressed:
            yield Figure("bytes_token_deflate", "bytes per token, compressed", "B", {PRODUCT: bytes_per_token(outcome)})
        else:
            self.notes.append("The product does not compress what it sends on sockets.")

    def _growth(self) -> Iterator[Figure]:
        short = self._all(8, 500, 1, rate=400, turns=8)
        long = self._run(self._product, 8, 8_000, rate=400)
        per_token = middle(short, cpu_per_token)
        yield Figure("cpu_token_fast", "CPU per 1,000 tokens, 8 streams of 400 tokens/s", "s", per_token)
        yield Figure("growth", "a token of 8,000 as a multiple of one of 500", "", {PRODUCT: cpu_per_token(long) / per_token[PRODUCT]})

    def _programs(self) -> Iterator[Figure]:
        """Programs that use the API, compared with pages: the same server, the same answers."""
        outcomes: dict[str, list[Outcome]] = {PRODUCT: [], PAGES: [], RELAY: []}
        targets = {PAGES: self._product, PRODUCT: self._product.as_programs()}
        targets |= {target.name: target for target in self._targets if target.name == RELAY}
        self._run(targets[PRODUCT], 5, 50)
        for _ in range(self._plan.rounds):
            for name, target in targets.items():
                outcomes[name].append(self._run(target, STREAMS, TOKENS))
        quiet = _is_quiet(outcomes)
        per_token = middle(outcomes, cpu_per_token)
        title = f"CPU per 1,000 tokens, {STREAMS} programs (x pages)"
        yield Figure("cpu_token_program", title, "s", per_token, is_judged=quiet, base=PAGES)
        firsts = _milliseconds({PRODUCT: outcomes[PRODUCT]}, "first_p50")
        yield Figure("first_p50_program", "  first word added p50", "ms", firsts, is_judged=quiet)
        latencies = _milliseconds({PRODUCT: outcomes[PRODUCT]}, "p99")
        yield Figure("p99_program", "  added latency p99", "ms", latencies, is_judged=quiet)

    def _most(self) -> Iterator[Figure]:
        numbers = arithmetic.steps(20, MAX_STREAMS)
        most = {target.name: float(arithmetic.largest(numbers, partial(self._keeps_up, target))) for target in self._targets}
        yield Figure("max_streams", f"most streams with p99 within {LATE_SECONDS * 1000:.0f} ms", "", most, is_more_better=True)

    def _keeps_up(self, target: Target, streams: int) -> bool:
        """Whether the target does, at the first or second try: a single failure may be a disturbance."""
        for _ in range(2):
            outcome = processes.run(target.job(streams, 150, RATE))
            if outcome.p99 <= LATE_SECONDS and not outcome.faults:
                return True
            if outcome.others > OTHERS_ARE_SLOW:
                self.notes.append(f"With {streams} streams on the {target.name}, the load itself needed {outcome.others:.0%} of its core.")
        return False

    def _memory(self) -> dict[str, float]:
        return {target.name: memory_mb(target.pid) for target in self._targets}

    def _all(self, streams: int, tokens: int, rounds: int, **more: Any) -> dict[str, list[Outcome]]:
        outcomes: dict[str, list[Outcome]] = {target.name: [] for target in self._targets}
        for _ in range(rounds):
            for target in self._targets:
                outcomes[target.name].append(self._run(target, streams, tokens, **more))
        return outcomes

    def _with_page(self, streams: int, tokens: int, **more: Any) -> tuple[Outcomes, Outcomes]:
        """The outcomes without and with the product's fetches. The other servers fetch nothing, and are the same in both."""
        plain: dict[str, list[Outcome]] = {target.name: [] for target in self._targets}
        fetching = []
        for _ in range(self._plan.rounds):
            for target in self._targets:
                plain[target.name].append(self._run(target, streams, tokens, **more))
            fetching.append(self._run(self._product, streams, tokens, fetches=True, **more))
        return plain, {**plain, PRODUCT: fetching}

    def _run(self, target: Target, streams: int, tokens: int, **more: Any) -> Outcome:
        outcome = processes.run(target.job(streams, tokens, more.pop("rate", RATE), **more))
        self.faults += [f"{target.name}, {streams} streams: {outcome.faults.count(fault)} x {fault}" for fault in set(outcome.faults)]
        if outcome.missed:
            self.notes.append(f"{target.name}, {streams} streams: {outcome.missed} answers ended before their pages could follow them.")
        return outcome


def statements(target: Target, turns: int = 10) -> Iterator[Figure]:
    """What one turn takes, on a product that counts it and is otherwise idle."""
    processes.run(target.job(1, 1, RATE, turns=2))
    found = processes.run(target.job(1, 10, RATE, turns=turns))
    fetching = processes.run(target.job(1, 10, RATE, turns=turns, fetches=True))
    yield Figure("statements_first", "SQL statements of a turn to its first word", "", {PRODUCT: found.first_statements})
    yield Figure("statements", "  to its end", "", {PRODUCT: found.counted["statements"]})
    yield Figure("statements_page", "  with what the page fetches", "", {PRODUCT: fetching.counted["statements"]})
    yield Figure("calls", "calls of functions in a turn", "", {PRODUCT: found.counted["calls"]})
    yield Figure("writes", "  writes", "", {PRODUCT: found.counted["writes"]})
    yield Figure("hand_overs", "  hand-overs to the event loop", "", {PRODUCT: found.counted["hand_overs"]})
    program = processes.run(target.as_programs().job(1, 10, RATE, turns=turns)).counted
    yield Figure("calls_program", "calls of functions in a program's streamed answer", "", {PRODUCT: program["calls"]})
    yield Figure("statements_program", "  SQL statements", "", {PRODUCT: program["statements"]})
    yield Figure("writes_program", "  writes", "", {PRODUCT: program["writes"]})
    yield Figure("hand_overs_program", "  hand-overs to the event loop", "", {PRODUCT: program["hand_overs"]})
    for name, path in target.pages.items():
        page = _page(target, path)
        yield Figure(f"calls_{name}", f"calls of functions for the page: {name.replace('_', ' ')}", "", {PRODUCT: page["calls"]})
        yield Figure(f"statements_{name}", "  SQL statements", "", {PRODUCT: page["statements"]})


def token_calls(target: Target) -> Iterator[Figure]:
    """What a further token of an answer takes, on such a product."""
    few, many = (processes.run(target.job(1, tokens, RATE, turns=TOKEN_TURNS)).counted["calls"] for tokens in (FEW_TOKENS, MANY_TOKENS))
    yield Figure("calls_token", "calls of functions for each further token", "", {PRODUCT: (many - few) / (MANY_TOKENS - FEW_TOKENS)})


def _page(target: Target, path: str) -> dict[str, float]:
    """The least of what several requests for a page count, each of which is alone on the server: on a busy machine some of them meet
    the server's own regular work, or come when what is kept for a second has ended."""
    counts = TurnCounts(Path(target.counter))
    counted: list[dict[str, int]] = []
    for _ in range(PAGE_REQUESTS):
        before = counts.values
        request = Request(f"http://127.0.0.1:{target.port}{path}", headers={"Cookie": target.cookies[-1]})
        with urlopen(request) as response:
            response.read()
        time.sleep(QUIET_SECONDS)
        counted.append({name: value - before[name] for name, value in counts.values.items()})
    return {name: min(each[name] for each in counted) for name in counted[0]}


def _firsts(streams: int, outcomes: Outcomes) -> Iterator[Figure]:
    quiet = _is_quiet(outcomes)
    for key, title in (("first", f"first word added p50, {streams} begun in 1 s"), ("wait", "  from the question to it, p50")):
        p50, p99 = _milliseconds(outcomes, f"{key}_p50"), _milliseconds(outcomes, f"{key}_p99")
        yield Figure(f"{key}_p50_{streams}", title, "ms", p50, is_judged=quiet)
        yield Figure(f"{key}_p99_{streams}", "  p99", "ms", p99, is_judged=quiet)


def _milliseconds(outcomes: Outcomes, what: str) -> Mapping[str, float]:
    return middle(outcomes, lambda found: float(getattr(found, what)) * 1000)


def _is_quiet(outcomes: Outcomes) -> bool:
    """Whether the relay never had to wait for its core. A server that has to wait does more at a time: it is later, sends fewer frames, and
    even seems cheaper."""
    return median(outcome.waited for outcome in outcomes[RELAY]) < WAITING_IS_MUCH
