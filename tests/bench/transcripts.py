"""Measures reading a transcript: whole, in pieces, per frame, and compared with openai-harmony reading the same conversation as tokens.

``python -m tests.bench.transcripts``; ``make bench`` runs it, too. Times are processor time, the best of a few.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from renderer.frames import Channel, Frame, Header, Role, Terminator, Transcript
from renderer.gate import Audience, visible
from renderer.ocml import document, interchange
from renderer.ocml.reader import Reader
from tests.bench.answers import prose

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
PIECES = (1, 4, 16, 64, 1_024, 65_536)
FRAMES = 20_000
ROUNDS = 3
DIRECTORY_VARIABLE = "TIKTOKEN_ENCODINGS_BASE"


def main() -> int:
    """Measure and print."""
    growth()
    pieces()
    per_frame()
    compare_with_harmony()
    return 0


def growth() -> None:
    """Read whole documents of growing size."""
    print("Reading a whole document. The last column is the time per byte, as a multiple of that of the first row:")
    print(f"  {'bytes':>12}{'parse':>14}{'Reader':>14}{'check':>14}{'JSON':>14}   parse, time per byte")
    first = 0.0
    for size in SIZES:
        text = document.dump(conversation(size))
        data = text.encode()
        as_json = interchange.dump_json(document.parse(text))
        parsed = best(partial(document.parse, text))
        first = first or parsed / len(data)
        row = [parsed, best(partial(read, [data])), best(partial(document.check, data)), best(partial(interchange.parse_json, as_json))]
        speeds = "".join(f"{len(data) / seconds / 1e6:9.0f} MB/s" for seconds in row)
        print(f"  {len(data):12,}{speeds}{parsed / len(data) / first:10.2f} x")
    print()


def pieces() -> None:
    """Run the incremental reader with several sizes of pieces."""
    text = document.dump(conversation(1_000_000))
    print("The incremental reader, a document of 1 MB in pieces:")
    for size in PIECES:
        part = text[: 50_000 * size]
        cut = [part[at : at + size] for at in range(0, len(part), size)]
        seconds = best(partial(read, cut))
        print(f"  {size:8,} characters {len(part) / seconds / 1e6:9.1f} MB/s {seconds / len(cut) * 1e6:9.1f} µs a piece")
    print()


def per_frame() -> None:
    """The cost of one frame in addition to its text."""
    print("To open and close a frame:")
    header = "version: 2.2\n\n"
    call = "<|start|>assistant to=functions.x call_id=c{}<|channel|>commentary<|constrain|>json<|message|>{{}}<|call|>\n"
    kinds = {
        "user": "<|start|>user<|message|>hi<|end|>\n",
        "a call of its own id": call,
    }
    for kind, frame in kinds.items():
        text = header + "".join(frame.format(number) for number in range(FRAMES))
        per_frame_read, whole = best(partial(read, [text])), best(partial(document.parse, text))
        print(f"  {kind:24}{per_frame_read / FRAMES * 1e6:6.1f} µs as events{whole / FRAMES * 1e6:8.1f} µs as a frame of a transcript")
    print()


def compare_with_harmony() -> None:
    """The same conversation as OpenChatML text and as Harmony tokens, one token at a time each."""
    harmony = vocabulary()
    if harmony is None:
        return
    encoding, ids = harmony
    transcript = conversation(300_000)
    shown = sum(len(frame.body) for frame in visible(transcript.frames, Audience.END_USER))
    tokens = ids(transcript.frames)
    text = document.dump(transcript)
    cut = list(even(text, len(tokens)))
    own, whole = best(partial(read, cut)), best(partial(read, [text]))
    other = best(partial(stream, encoding, tokens))
    print(f"The same conversation of {shown:,} visible characters, {len(tokens):,} tokens:")
    print(f"  openai-harmony's StreamableParser, token by token   {shown / other:14,.0f} visible characters/s")
    print(f"  our Reader, in as many pieces                       {shown / own:14,.0f} visible characters/s {other / own:6.1f} x")
    print(f"  our Reader, in one piece                            {shown / whole:14,.0f} visible characters/s {other / whole:6.1f} x")
    print()


def conversation(size: int) -> Transcript:
    """A conversation with reasoning, tools and answers, of about that many bytes."""
    frames: list[Frame] = []
    answer = prose(1200) if size > SIZES[0] else "A short answer."
    call = Header(Role.ASSISTANT, Channel.COMMENTARY, "functions.search", constrain="json")
    reply = Header(Role.TOOL, Channel.COMMENTARY, "assistant", name="functions.search")
    length, turn = 0, 0
    while length < size:
        call_id = f"call_{turn}"
        turn += 1
        frames += [
            Frame(Header(Role.USER), f"Question {turn}: what is known of this?"),
            Frame(Header(Role.ASSISTANT, Channel.ANALYSIS), "I should look that up before I answer. " * 6),
            Frame(with_id(call, call_id), json.dumps({"query": f"question {turn}"}), Terminator.CALL),
            Frame(with_id(reply, call_id), json.dumps({"ok": True, "content": {"text": "found " * 20}})),
            Frame(Header(Role.ASSISTANT, Channel.FINAL), answer, Terminator.RETURN),
        ]
        length += sum(len(frame.body) + 60 for frame in frames[-5:])
    return Transcript(tuple(frames))


def with_id(header: Header, call_id: str) -> Header:
    """The header with that call id."""
    return Header(header.role, header.channel, header.recipient, call_id, header.name, constrain=header.constrain)


def read(parts: Sequence[str] | Sequence[bytes]) -> None:
    """Pass everything through one reader. The text may end anywhere."""
    reader = Reader()
    for part in parts:
        for _event in reader.feed(part):
            pass


def even(text: str, count: int) -> list[str]:
    """``text`` in that many pieces of about the same length."""
    size = max(1, -(-len(text) // count))
    return [text[at : at + size] for at in range(0, len(text), size)]


def stream(encoding: Any, tokens: list[int]) -> None:
    """Pass everything through openai-harmony's parser, used as its documentation says."""
    from openai_harmony import StreamableParser

    parser = StreamableParser(encoding, role=None)
    for token in tokens:
        parser.process(token)
        _ = parser.last_content_delta, parser.current_channel, parser.current_recipient


def vocabulary() -> tuple[Any, Callable[[Sequence[Frame]], list[int]]] | None:
    """openai-harmony's encoding and our conversion to its tokens; None, with a printed sentence, if there is no vocabulary."""
    try:
        fetched = importlib.import_module("chatui.model_servers.vocabulary").fetch(importlib.import_module("tests.llama.fixture").CACHE)
        own_vocabulary = importlib.import_module("renderer.harmony.vocabulary").Vocabulary.read(fetched)
        hip1 = importlib.import_module("renderer.harmony.hip1")
        os.environ[DIRECTORY_VARIABLE] = str(fetched.parent)
        encoding = importlib.import_module("openai_harmony").load_harmony_encoding("HarmonyGptOss")
    except Exception as error:  # noqa: BLE001 - without the vocabulary, for whatever reason, there is nothing to compare with
        print(f"Not compared with openai-harmony: its vocabulary is not here ({error}).")
        return None

    return encoding, lambda frames: hip1.to_tokens(frames, own_vocabulary)[0]


def best(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds of processor time of the fastest round; short work is repeated until it can be timed."""
    times = []
    for _ in range(rounds):
        repeats, started = 0, time.process_time()
        while time.process_time() - started < 0.02 or not repeats:
            work()
            repeats += 1
        times.append((time.process_time() - started) / repeats)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
