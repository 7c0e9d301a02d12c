"""More than 550 answers that were written to get past the wall, over Chat Completions and, wrapped as messages, over Responses.

What must stay hidden is hidden at every moment. Where the server sent its reasoning in a field of its own, honest text is whole and
streams; elsewhere as many honest answers are whole as the judgement of the whole text leaves.
"""

import json
import random
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest

from chatui.backends.separation import Separation
from chatui.codes import ProductCode
from renderer.events import Assembler, Finished, RawEvent
from renderer.gate import Audience, Gate, VisibleDelta, VisibleOpened, VisibleWithdrawn, may_see
from renderer.harmony.prompt import FunctionTool
from tests.support import raw_answers
from tests.support.cases import for_each
from tests.support.raw_answers import Raws

Row = dict[str, Any]
ROWS: list[Row] = [json.loads(line) for line in (Path(__file__).parent / "data" / "wall.jsonl").read_text("utf-8").splitlines()]
SECRET = "SECRETzzq"
STREAMS_BEYOND = 60
"""A shorter text may be held for its last characters."""
WHOLE_WITHOUT_PROOF = 84
"""Of 102 honest answers. It may only grow."""


def of(*verdicts: str) -> list[Row]:
    return [row for row in ROWS if row["verdict"] in verdicts]


def pieces(text: str, seed: int | None) -> list[str]:
    if seed is None:
        return [text]
    chooser, cut = random.Random(seed), list[str]()
    while text:
        length = chooser.randint(1, 20)
        cut.append(text[:length])
        text = text[length:]
    return cut


def chunks(row: Row, seed: int | None) -> Iterator[Row]:
    """The chunks of a row; as one body without ``seed``."""
    if "chunks" in row:
        yield from row["chunks"]
        return
    is_whole = row["whole"] if "deltas" in row else seed is None
    name, field = "message" if is_whole else "delta", row.get("reasoning_field", "")
    if "deltas" in row:
        deltas = row["deltas"]
    elif is_whole:
        deltas = [{"content": row["content"]} | ({field: row["reasoning"]} if field else {})]
    else:
        deltas = [
            *({field: piece} for piece in pieces(row.get("reasoning", ""), seed)),
            *({"content": p} for p in pieces(row["content"], seed)),
        ]
    around, choice = row.get("event", {}), {"index": 0, **row.get("choice", {})}
    yield from ({"choices": [{name: delta, **choice}], **around} for delta in deltas)
    if row.get("finish", "stop"):
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": row.get("finish", "stop")}]}


def offered(row: Row) -> tuple[FunctionTool, ...]:
    """What must stay hidden behind separated reasoning may be a call, of a tool that was offered."""
    return (FunctionTool("look", parameters={}),) if row["verdict"] == "hides" and "reasoning" in row else ()


def over_chat(row: Row, seed: int | None) -> Raws:
    return raw_answers.over_chat(chunks(row, seed), tools=offered(row), breaks=not row.get("finish", "stop"))


def over_responses(row: Row, seed: int | None) -> Raws:
    text = row["content"]
    message = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    thought = {"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": row.get("reasoning", "")}]}
    items = [thought, message] if "reasoning" in row else [message]
    events: list[Row] = []
    if seed is not None:
        events += [{"type": "response.output_item.done", "item": item} for item in items[:-1]]
        events.append({"type": "response.output_item.added", "item": {**message, "content": []}})
        events += [{"type": "response.output_text.delta", "item_id": "m", "delta": piece} for piece in pieces(text, seed)]
    events.append({"type": "response.completed", "response": {"status": "completed", "output": items}})
    return raw_answers.over_responses(events, tools=offered(row))


def seen(events: list[RawEvent]) -> tuple[str, str]:
    """What is visible at the end, and all that ever was."""
    gate, messages, ever = Gate(Audience.END_USER), list[str](), ""
    for event in events:
        match gate.admit(event):
            case VisibleOpened():
                messages.append("")
            case VisibleDelta(text=text):
                messages[-1] += text
                ever += text
            case VisibleWithdrawn():
                messages.pop()
    return "".join(messages), ever


FORMATS = {"chat": over_chat, "responses": over_responses}


def in_format(row: Row, name: str) -> bool:
    return name == "chat" or ("content" in row and row.keys().isdisjoint(("choice", "event", "finish")))


@for_each(of("hides"))
def test_what_must_stay_hidden_is_hidden_at_every_moment(row: Row) -> None:
    for name, over in FORMATS.items():
        for seed in (None, 1, 2) if in_format(row, name) else ():
            begun, rest = over(row, seed)
            assert SECRET not in seen([*begun, *rest])[1], (name, seed)


@for_each(of("honest-structured"))
def test_honest_text_behind_separated_reasoning_is_whole_and_streams(row: Row) -> None:
    expected = row.get("expect", row.get("content"))
    for name, over in FORMATS.items():
        for seed in (None, 1, 2) if in_format(row, name) else ():
            begun, rest = over(row, seed)
            assert seen([*begun, *rest])[0] == expected, (name, seed)
            may_be_call = expected.startswith('{"name":')
            assert seed is None or len(expected) <= STREAMS_BEYOND or may_be_call or seen(begun)[0], (name, seed)


@pytest.mark.parametrize("name", FORMATS)
def test_honest_text_is_whole_without_proof_as_often_as_before(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = of("honest")
    readable = [row for row in rows if in_format(row, name)]
    whole = [row for row in readable if seen(list(chain(*FORMATS[name](row, 1))))[0] == row.get("expect", row.get("content"))]
    with capsys.disabled():
        print(f"\n  whole without proof over {name}: {len(whole)} of {len(readable)} honest answers")
    assert len(whole) >= WHOLE_WITHOUT_PROOF - (len(rows) - len(readable))


BEGINNINGS = [
    "",
    "So.",
    'He said "yes"',
    "It is 42",
    "Use `x`",
    "你好",
    "**Save**,\n",
    "    x = 1\n",
    "```\ncode\n",
    "```\nx\n```\n",
    "> ",
    "- ",
]
OF_HARMONY = [
    "assistantfinal",
    "assistantanalysis",
    "<|channel|>final<|message|>",
    "<|end|>",
    "<|call|>",
    "analysis",
    "commentary to=python code",
]
OF_HARMONY += ["<|start|>assistant<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>final<|message|>", "<|return|>"]
TAGS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "[/THINK]", "◁/think▷", "<|START_RESPONSE|>", "&lt;/think&gt;", "</details>"]
DATA = ['{"name": "look", "arguments": {}}', '{"reasoning": "x"}', "Thinking: x\nAnswer: y", "\n</think>\n", '"', "`"]
ENDINGS = ["", "Hello.", ' there".', " is a tag.", "\n", "\n\nAnd so on.", "用户问", "(x)", "<|return|>", "\n```\n"]
THOUGHT = "This came before, and apart."


def compositions(number: int) -> Iterator[str]:
    chooser = random.Random(number)
    for _ in range(number):
        middle = [chooser.choice([*OF_HARMONY, *TAGS, *DATA, *ENDINGS, *BEGINNINGS]) for _ in range(chooser.randint(1, 5))]
        yield chooser.choice(BEGINNINGS) + "".join(middle) + chooser.choice(ENDINGS)


@pytest.mark.parametrize("name", FORMATS)
def test_behind_reasoning_of_its_own_no_text_takes_back_what_was_shown(name: str) -> None:
    premise = False
    for seed, text in enumerate(compositions(1500)):
        row = {"verdict": "", "content": text, "reasoning": THOUGHT, "reasoning_field": "reasoning"}
        begun, rest = FORMATS[name](row, seed)
        whole, ever = seen([*begun, *rest])
        assert whole == ever, text
        premise |= ever != text and ever != ""
    assert premise, "some signs hide something"


# A sign of raw output hides everything that a completion wrote before it, even if other events came in between.


Event = dict[str, Any]

BETWEEN: dict[str, list[Event]] = {
    "nothing": [],
    "reasoning": [{"reasoning_content": "x"}],
    "reasoning by another name": [{"thinking": "x"}, {"reasoning": "y"}],
    "a part that is reasoning": [{"content": [{"type": "reasoning", "text": "x"}]}],
    "a part that nobody knows": [{"content": [{"type": "new", "text": "x"}]}],
    "a trusted summary": [{"reasoning_details": [{"type": "reasoning.summary", "text": "x"}]}],
    "another role": [{"role": "tool", "content": "x"}, {"role": "assistant"}],
    "a channel": [{"channel": "analysis", "content": "x"}, {"channel": "final"}],
    "a call": [{"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}],
}
SIGNS = {
    "a closing tag": "SECRET two </think>Answer.",
    "stripped markers": "SECRET two.assistantfinalAnswer.",
    "stripped markers at once": "assistantfinalAnswer.",
    "markers": "SECRET two<|end|><|start|>assistant<|channel|>final<|message|>Answer.",
    "markers at once": "<|end|><|start|>assistant<|channel|>final<|message|>Answer.",
}
PROVED: dict[str, Any] = {"separation": Separation.STRUCTURED}
FIRST = "SECRET one of the thoughts. "


def frames(events: list[RawEvent]) -> list[Finished]:
    assembler = Assembler()
    finished = [done for event in events if (done := assembler.feed(event))]
    assert assembler.finish() is None
    return finished


def bodies(finished: list[Finished]) -> list[str]:
    return [done.frame.body for done in finished if may_see(done.frame.header, Audience.END_USER)]


def chat(deltas: list[Event], *, breaks: bool = False, **options: Any) -> list[Finished]:
    sent = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return frames([*chain(*raw_answers.over_chat(sent, breaks=breaks, summaries_are_trusted=True, **options))])


@for_each(product(BETWEEN, SIGNS, (True, False)))
def test_chat_completions_hide_text_before_other_events(between: str, sign: str, breaks: bool) -> None:
    if between == "nothing" and sign.endswith("at once"):
        sign = sign.removesuffix(" at once")
    finished = chat([{"content": FIRST}, *BETWEEN[between], {"content": SIGNS[sign]}], breaks=breaks)
    assert "SECRET" not in "".join(bodies(finished))
    assert ProductCode.WITHHELD in {done.error for done in finished} or between == "a call" or breaks
    assert "SECRET" in "".join(done.frame.body for done in finished), "it is stored for staff"


def test_reasoning_in_the_same_chunk_does_not_protect_earlier_text() -> None:
    finished = chat([{"content": FIRST}, {"reasoning_content": "x", "content": "</think>Answer."}])
    assert bodies(finished) == ["Answer."]


# Responses


def item(kind: str, number: int, text: str, *, streams: bool, **labels: Any) -> list[Event]:
    named = {"type": kind, "id": f"{kind}{number}", **labels}
    lane = "output_text" if kind == "message" else "reasoning_text"
    at = {"output_index": number, "item_id": named["id"], "content_index": 0}
    deltas = [{"type": f"response.{lane}.delta", **at, "delta": text}] if streams else []
    whole = {**named, "status": "completed", "content": [{"type": lane, "text": text}]}
    return [
        {"type": "response.output_item.added", "output_index": number, "item": {**named, "content": []}},
        *deltas,
        {"type": "response.output_item.done", "output_index": number, "item": whole},
    ]


def message_events(number: int, text: str, *, streams: bool = True, **labels: Any) -> list[Event]:
    return item("message", number, text, streams=streams, role="assistant", **labels)


ITEMS_BETWEEN: dict[str, list[Event]] = {
    "nothing": [],
    "reasoning": item("reasoning", 1, "x", streams=True),
    "reasoning that comes whole": item("reasoning", 1, "x", streams=False),
    "a tool of the server's own": [
        {"type": "response.output_item.done", "output_index": 1, "item": {"type": "web_search_call", "id": "w"}},
    ],
    "a message for somebody else": item("message", 1, "x", streams=True, role="tool"),
    "another message": message_events(1, "SECRET too."),
    "a preamble": message_events(1, "SECRET too.", phase="commentary"),
    "an empty message": message_events(1, ""),
}


def responses(events: list[Event], *, breaks: bool = False, **options: Any) -> list[Finished]:
    end = [] if breaks else [{"type": "response.completed", "response": {"status": "completed"}}]
    return frames([*chain(*raw_answers.over_responses([*events, *end], breaks=breaks, **options))])


@for_each(product(ITEMS_BETWEEN, SIGNS, (True, False), (True, False)))
def test_responses_hide_earlier_messages_too(between: str, sign: str, streams: bool, breaks: bool) -> None:
    finished = responses(
        [*message_events(0, FIRST), *ITEMS_BETWEEN[between], *message_events(2, SIGNS[sign], streams=streams)], breaks=breaks
    )
    assert "SECRET" not in "".join(bodies(finished))
    assert ProductCode.WITHHELD in {done.error for done in finished} or breaks
    assert "SECRET" in "".join(done.frame.body for done in finished), "it is stored for staff"
