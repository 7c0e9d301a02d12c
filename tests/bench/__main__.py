"""``make bench``: measures the cost of rendering an answer while it is being written, of the gate, and of reading transcripts.

These numbers include no model and no network; ``tests.bench.delivery`` measures the path between them. Times are processor time, the best
of a few; compare the ratios, not the milliseconds.
"""

import sys
import time
from collections.abc import Callable
from functools import partial

from renderer.events import Assembler, FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frames import Channel, Header, Role, Terminator
from renderer.gate import Audience, Gate, VisibleText
from renderer.markup import html
from renderer.markup.growing import GrowingMarkdown
from tests.bench import tool_calls, transcripts
from tests.bench.answers import SHAPES, tokens

SHORT, LONG = 8_000, 16_000
"""Characters of an answer; the long one is twice the short one, to show the growth."""

TOKENS_A_FRAME = 5
"""A model of 100 tokens a second, shown 20 times a second."""

ROUNDS = 3
GATE_TOKENS = 200_000


def main() -> int:
    """Measure and print."""
    print("Showing an answer while it grows, a frame every", TOKENS_A_FRAME, "tokens. Per shape of answer:")
    print(f"  {'':16}{'once':>10}{'by block':>10}{'anew':>10}   anew/by block   by block/once   growth for twice the length")
    for name, shape in SHAPES.items():
        short, long = shape(SHORT), shape(LONG)
        once, by_block = best(partial(render_once, long)), best(partial(by_blocks, long))
        each_time = best(partial(render_each_time, long), rounds=1)
        growth = by_block / best(partial(by_blocks, short))
        growth_each_time = each_time / best(partial(render_each_time, short), rounds=1)
        print(
            f"  {name:16}{once * 1000:7.0f} ms{by_block * 1000:7.0f} ms{each_time * 1000:7.0f} ms{each_time / by_block:13.1f} x"
            f"{by_block / once:14.1f} x   by block {growth:.1f} x, anew {growth_each_time:.1f} x"
        )
    print()
    visible, hidden = (events(channel) for channel in (Channel.FINAL, Channel.ANALYSIS))
    fold, shown, dropped = best(partial(assemble, visible)), best(partial(admit, visible)), best(partial(admit, hidden))
    print(f"The gate, {GATE_TOKENS:,} tokens for an end user:")
    print(f"  shown   {GATE_TOKENS / shown:12,.0f} tokens/s {shown / fold:8.2f} x the time of folding the same events into a frame")
    print(f"  hidden  {GATE_TOKENS / dropped:12,.0f} tokens/s {dropped / fold:8.2f} x")
    print()
    tool_calls.main()
    print()
    return transcripts.main()


def best(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds of processor time of the fastest round."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def render_once(text: str) -> None:
    """The minimum: render the whole answer once, at its end."""
    html.render(text)


def by_blocks(text: str) -> None:
    """The product's way: closed blocks once, the open one at each frame."""
    growing = GrowingMarkdown()
    for number, token in enumerate(tokens(text)):
        growing.feed(VisibleText(token))
        if number % TOKENS_A_FRAME == 0:
            growing.tail()
    growing.finish(is_cut=False)


def render_each_time(text: str) -> None:
    """Without blocks: the whole answer so far, at each frame."""
    so_far = ""
    for number, token in enumerate(tokens(text)):
        so_far += token
        if number % TOKENS_A_FRAME == 0:
            html.render(so_far)
    html.render(so_far)


def events(channel: Channel) -> list[RawEvent]:
    """One frame of many tokens on that channel."""
    opened = FrameOpened(Header(role=Role.ASSISTANT, channel=channel))
    return [opened, *(FrameText("word") for _ in range(GATE_TOKENS)), FrameClosed(Terminator.RETURN)]


def admit(stream: list[RawEvent]) -> None:
    """Pass everything through one gate."""
    gate = Gate(Audience.END_USER)
    for event in stream:
        gate.admit(event)


def assemble(stream: list[RawEvent]) -> None:
    """Assemble everything into a frame: work that is done for each token anyway."""
    assembler = Assembler()
    for event in stream:
        assembler.feed(event)


if __name__ == "__main__":
    sys.exit(main())
