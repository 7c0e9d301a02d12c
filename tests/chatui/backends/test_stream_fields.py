"""Each field of a model's stream over each wire format, if it is absent, repeated, unknown or late: what becomes of the answer.

A thought is never visible, no text is lost, two calls are never one, and an answer is complete only if its server says so.
"""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from chatui.backends import registry
from chatui.backends.base import Endpoint
from chatui.backends.speaker import REASONING_FIELDS
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.wire import BEGUN, VLLM, ended, event, ids_of, message_event, sse, then, vllm
from tests.support import stub
from tests.support.cases import for_each
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request
from tests.support.stub import DONE, SSE_HEAD, chunk
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

State = Literal["absent", "repeated", "unknown", "late"]
STATES: tuple[State, ...] = ("absent", "repeated", "unknown", "late")
SECRET = "SECRETzzq"
CUT, FAILED, LENGTH = Code.STREAM_TRUNCATED, ProductCode.BACKEND, ProductCode.LENGTH
PICK, OTHER = ("functions.lab_pick", '{"a": 1}'), ("functions.lab_pick", '{"a": 2}')


@dataclass(frozen=True)
class Row:
    """What is sent after the head of a stream, and what becomes of it: the visible text, the calls, and the error unless it is complete."""

    field: str
    state: State
    sent: bytes
    visible: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    error: ErrorCode | None = None


# --- Chat Completions -------------------------------------------------------------------------------------------------------------

STOP = chunk("stop") + DONE
CALLED = chunk("tool_calls") + DONE
THOUGHT = chunk(reasoning_content=SECRET)


def part(arguments: object = '{"a": 1}', **more: Any) -> dict[str, Any]:
    name = more.pop("name", "lab_pick")
    return {"function": {"name": name, "arguments": arguments}} | more


def calling(*parts: dict[str, Any]) -> bytes:
    return chunk(tool_calls=[{"index": 0, **part} if "index" not in part else part for part in parts])


def unplaced(*parts: dict[str, Any]) -> bytes:
    return chunk(tool_calls=list(parts))


def texts(*pieces: str) -> bytes:
    return b"".join(chunk(content=piece) for piece in pieces)


def interleaved(*pieces: str, field: str = "reasoning_content") -> bytes:
    thought: Any = [{"type": "reasoning.text", "text": SECRET}] if field == "reasoning_details" else SECRET
    return chunk(**{field: thought}).join(texts(piece) for piece in pieces)


def whole_message(text: str) -> bytes:
    return chunk("stop").replace(b'"delta": {}', f'"message": {{"content": "{text}"}}'.encode()) + DONE


def with_error(finish: str | None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "error": {"message": SECRET, "code": 500}}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


LAKE = ("The lake", "The lake is", "The lake is deep.", "The lake is deep. Very.")
LAST = chunk("stop", content="and two.").removesuffix(b"\n\n")

CHAT = [
    Row("text", "absent", THOUGHT + STOP),
    Row("text", "repeated", texts(*LAKE[:3]) + STOP, LAKE[2]),
    Row("text", "repeated", texts(*LAKE) + STOP, LAKE[3]),
    Row("text", "repeated", texts(*LAKE, LAKE[3], " Yes.") + STOP, LAKE[3] + " Yes."),
    Row("text", "repeated", texts("湖", "湖很", "湖很深。") + STOP, "湖很深。"),
    Row("text", "repeated", texts("<think>", f"<think>{SECRET}", f"<think>{SECRET}</think>Hi") + STOP, "Hi"),
    Row("text", "repeated", texts("ha", "ha", "ha") + STOP, "hahaha"),
    Row("text", "repeated", texts("1", "12", "123") + STOP, "112123"),
    Row("text", "repeated", texts("Yes", "Yes and no") + STOP, "YesYes and no"),
    Row("text", "repeated", texts("Yes", "Yes and no"), "YesYes and no", error=CUT),
    Row("text", "repeated", texts("Hi ", "you") + whole_message("Hi you"), "Hi you"),
    Row("text", "unknown", chunk(content={"x": SECRET}) + chunk(content=5) + chunk(content=[{"x": SECRET}]) + STOP),
    Row("text", "late", chunk("stop") + texts("Hi") + DONE, "Hi"),
    Row("text", "late", THOUGHT + whole_message("Hi"), "Hi"),
    Row("text", "repeated", chunk(content=SECRET, thought=True) + whole_message(SECRET)),
    Row("thought", "absent", texts("Hi") + STOP, "Hi"),
    Row("thought", "repeated", chunk(reasoning=SECRET, reasoning_content=SECRET, content=SECRET) + texts("Hi") + STOP, "Hi"),
    Row("thought", "unknown", chunk(musing=SECRET) + texts("Hi") + STOP, "Hi"),
    *(Row("thought", "late", interleaved("The ans", "wer is 4.", field=field) + STOP,
     "The answer is 4.") for field in REASONING_FIELDS),
    Row("thought", "late", interleaved("It is **bo", "ld** and\n- a", " list\n\n| a ", "| b |\n", "|---|---|\n") + STOP,
     "It is **bold** and\n- a list\n\n| a | b |\n|---|---|\n"),
    Row("thought", "late", interleaved("```py\na = 1\n", "b = a.", "c\n```", "\nOne.", " Two.") + STOP,
     "```py\na = 1\nb = a.c\n```\nOne. Two."),
    Row("thought", "late", interleaved("In the U.", "S. and in std:", ":Vector.") + STOP, "In the U.S. and in std::Vector."),
    Row("thought", "late", interleaved("I look it up.", "**Berlin** it is.") + STOP, "I look it up.\n\n**Berlin** it is."),
    Row("call id", "absent", calling(part()) + CALLED, calls=(PICK,)),
    Row("call id", "repeated", calling(part(id="c1"), part('{"a": 2}', id="c1", index=1)) + CALLED, calls=(PICK, OTHER)),
    Row("call id", "unknown", calling(part(id="c 1")) + calling(part('{"a": 2}', id=7, index=1)) + CALLED, calls=(PICK, OTHER)),
    Row("call id", "repeated", calling(part('{"a"', id="x1")) + calling(part(": 1}", name=None, id="x2")) + CALLED, calls=(PICK,)),
    Row("call id", "late", calling(part('{"a": ')) + calling(part("1}", name=None, id="c1")) + CALLED, calls=(PICK,)),
    Row("call index", "absent", unplaced(part(id="c1")) + unplaced(part('{"a": 2}', id="c2")) + CALLED, calls=(PICK, OTHER)),
    Row("call index", "absent", unplaced(part(id="c1"), part('{"a": 2}', id="c2")) + CALLED, calls=(PICK, OTHER)),
    Row("call index", "absent", unplaced(part()) + unplaced(part('{"a": 2}')) + CALLED, calls=(PICK, OTHER)),
    Row("call index", "absent", unplaced(part('{"a":', id="c1")) + unplaced(part('{"a": 2', id="c2")) + unplaced(part(" 1}", name="",
     id="c1")) + unplaced(part("}", name="", id="c2")) + CALLED, calls=(PICK, OTHER)),
    Row("call index", "repeated", calling(part(id="c1")) + calling(part('{"a": 2}', id="c2")) + CALLED, calls=(PICK, OTHER)),
    Row("call index", "repeated", calling(part(id="c1"), part('{"a": 2}', id="c2")) + CALLED, calls=(PICK, OTHER)),
    Row("call index", "repeated", calling(part()) + calling(part('{"a": 2}')) + CALLED, calls=(PICK, OTHER)),
    Row("call index", "repeated", calling(part(name="f"), part(name="g")) + CALLED, calls=(("functions.f", PICK[1]), ("functions.g",
     PICK[1]))),
    Row("call index", "unknown", calling(part(id="c1", index="x")) + calling(part('{"a": 2}', id="c2", index=True)) + CALLED,
     calls=(PICK, OTHER)),
    Row("call index", "late", unplaced(part('{"a": ', id="c1")) + calling(part("1}", name=None)) + CALLED, calls=(PICK,)),
    Row("call name", "absent", calling(part(name=None, id="c1")) + CALLED, calls=(("functions.no_name", PICK[1]),)),
    Row("call name", "repeated", calling(part('{"a"', id="c1")) + calling(part(": 1}", id="c1")) + calling(part("", id="c1")) + CALLED,
     calls=(PICK,)),
    Row("call name", "repeated", calling(part('{"a"')) + calling(part(": 1}")) + calling(part("")) + CALLED, calls=(PICK,)),
    Row("call name", "repeated", calling(part("", name="lab_")) + calling(part()) + CALLED, calls=(PICK,)),
    Row("call name", "unknown", calling(part(name="lab_pick<|channel|>commentary", id="c1")) + CALLED, calls=(PICK,)),
    Row("call name", "unknown", calling(part(name="<|call|>", id="c1")) + CALLED, calls=(("functions.no_name", PICK[1]),)),
    Row("call name", "late", calling(part(name=None, id="c1")) + calling(part("")) + CALLED, calls=(PICK,)),
    Row("arguments", "absent", calling(part(None, id="c1")) + CALLED, calls=(("functions.lab_pick", "{}"),)),
    Row("arguments", "repeated", calling(part('{"a"', id="c1")) + calling(part(id="c1")) + CALLED, calls=(PICK,)),
    Row("arguments", "repeated", calling(part(id="c1")) + calling(part(id="c1")) + CALLED, calls=(PICK,)),
    Row("arguments", "unknown", calling(part({"a": 1}, id="c1")) + calling(part(5, id="c1")) + CALLED, calls=(PICK,)),
    Row("arguments", "unknown", calling(part([{"a": 1}], id="c1")) + CALLED, calls=(("functions.lab_pick", '[{"a": 1}]'),)),
    Row("arguments", "late", calling(part("", id="c1")) + chunk("tool_calls") + calling(part(name=None)) + DONE, calls=(PICK,)),
    Row("end", "absent", texts("Hi"), "Hi", error=CUT),
    Row("end", "absent", texts("Hi") + DONE, "Hi"),
    Row("end", "repeated", texts("Hi") + chunk("stop") + chunk("length") + DONE, "Hi", error=LENGTH),
    *(Row("end", "unknown", texts("Part one") + chunk(word) + DONE, "Part one", error=CUT) for word in ("error", "abort",
     "insufficient_system_resource", "malformed_function_call", "RECITATION", "cancelled", "network_error")),
    Row("end", "unknown", calling(part(id="c1")) + chunk("malformed_function_call") + DONE, error=CUT),
    Row("end", "unknown", texts("Part ") + with_error("error", content="one") + DONE, "Part one", error=FAILED),
    Row("end", "unknown", texts("Part one") + with_error(None) + chunk("stop") + DONE, "Part one", error=FAILED),
    *(Row("end", "unknown", texts("Part one") + chunk(word) + DONE, "Part one", error=LENGTH) for word in ("max_tokens", "model_length",
     "MAX_TOKENS")),
    *(Row("end", "unknown", texts("Hi") + chunk(word) + DONE, "Hi") for word in ("eos", "end_turn", "STOP")),
    Row("end", "late", texts("Hi") + b'data: {"choices": [], "usage": {}}\n\n' + STOP, "Hi"),
    Row("blank line", "absent", texts("Part one ") + LAST, "Part one and two."),
    Row("blank line", "absent", texts("Part one ") + LAST + b"\n", "Part one and two."),
    Row("blank line", "absent", LAST + b"\r", "and two."),
    Row("blank line", "absent", texts("Hi") + DONE.rstrip(), "Hi"),
    Row("blank line", "absent", texts("Hi") + LAST[:-3], "Hi", error=CUT),
    Row("blank line", "absent", (texts("Hi", " you") + STOP).replace(b"\n\n", b"\n"), "Hi you"),
    Row("blank line", "repeated", b"\n\n\n" + texts("Hi") + b"\n\n\n" + STOP + b"\n" + DONE, "Hi"),
    Row("blank line", "unknown", texts("Hi") + chunk("stop") + b"data: [END]\n\n", "Hi"),
    Row("blank line", "late", texts("Hi") + b": wait\n" * 3 + LAST + b"\n: wait\n", "Hiand two."),
]  # fmt: skip

# --- Responses --------------------------------------------------------------------------------------------------------------------


def added(kind: str, at: str | None = "m", **item: Any) -> bytes:
    more = {"output_index": item.pop("output_index")} if "output_index" in item else {}
    return event("response.output_item.added", item={"type": kind, "id": at, **item}, **more)


def done(kind: str, at: str | None = "m", **item: Any) -> bytes:
    more = {"output_index": item.pop("output_index")} if "output_index" in item else {}
    return event("response.output_item.done", item={"type": kind, "id": at, **item}, **more)


def called(arguments: object = '{"a": 1}', name: str | None = "lab_pick", item: str | None = "f", **more: Any) -> bytes:
    return done("function_call", item, name=name, arguments=arguments, **more)


def message(*texts: str) -> bytes:
    return BEGUN.removeprefix(SSE_HEAD) + b"".join(map(message_event, texts))


REASONING = added("reasoning", "r") + event("response.reasoning_text.delta", item_id="r", delta=SECRET)
ANSWER = {"type": "message", "id": "m", "role": "assistant"}
PARTS: dict[str, Any] = {"content": [{"type": "output_text", "text": "Hi"}]}
DELTA = "response.function_call_arguments.delta"

RESPONSES = [
    Row("text", "absent", REASONING + ended()),
    Row("text", "repeated", message(*LAKE[:3]) + ended(), LAKE[2]),
    Row("text", "repeated", message("Hi") + done("message", role="assistant", **PARTS) + ended(output=[ANSWER | PARTS]), "Hi"),
    Row("text", "repeated", message("Yes", "Yes and no") + ended(), "YesYes and no"),
    Row("text", "unknown", message() + event("response.output_text.delta", item_id="m", delta=5) + ended()),
    Row("text", "late", message() + ended(output=[ANSWER | PARTS]), "Hi"),
    Row("thought", "absent", message("Hi") + ended(), "Hi"),
    Row("thought", "repeated", REASONING + REASONING + done("reasoning", "r", content=[{"type": "output_text", "text": SECRET}]) +
     ended()),
    Row("thought", "unknown", message("Hi") + event("response.musing.delta", item_id="m", delta=SECRET) + ended(), "Hi"),
    Row("thought", "late", message("The ans") + REASONING + message_event("wer is 4.") + ended(), "The answer is 4."),
    Row("thought", "late", REASONING.join([message("**a"), message_event("b**"), message_event(" c")]) + ended(), "**ab** c"),
    Row("call id", "absent", called() + ended(), calls=(PICK,)),
    Row("call id", "repeated", called(call_id="c1") + called('{"a": 2}', item="g", call_id="c1") + ended(), calls=(PICK, OTHER)),
    Row("call id", "unknown", called(call_id="c 1") + called('{"a": 2}', item="g", call_id=7) + ended(), calls=(PICK, OTHER)),
    Row("call id", "late", added("function_call", "f", name="lab_pick") + called(call_id="c1") + ended(), calls=(PICK,)),
    Row("call index", "absent", called(call_id="c1", item="f") + called('{"a": 2}', item="g", call_id="c2") + ended(), calls=(PICK,
     OTHER)),
    Row("call index", "absent", called(call_id="c1", item=None) + called('{"a": 2}', item=None, call_id="c2") + ended(), calls=(PICK,
     OTHER)),
    Row("call index", "repeated", called(output_index=0) + called('{"a": 2}', item="g", output_index=0) + ended(), calls=(PICK, OTHER)),
    Row("call index", "unknown", called(output_index="x") + called('{"a": 2}', item="g", output_index=-1) + ended(), calls=(PICK,
     OTHER)),
    Row("call index", "late", added("function_call", "f", name="lab_pick") + called(output_index=1) + ended(), calls=(PICK,)),
    Row("call name", "absent", called(name=None) + ended(), calls=(("functions.no_name", PICK[1]),)),
    Row("call name", "repeated", added("function_call", "f", name="lab_pick") + called() + called() + ended(), calls=(PICK,)),
    Row("call name", "unknown", called(name="lab_pick<|channel|>commentary") + ended(), calls=(PICK,)),
    Row("call name", "late", added("function_call", "f") + called() + ended(), calls=(PICK,)),
    Row("arguments", "absent", called(None) + ended(), calls=(("functions.lab_pick", "{}"),)),
    Row("arguments", "repeated", added("function_call", "f") + event(DELTA, item_id="f", delta='{"a": 1}') + called() + ended(),
     calls=(PICK,)),
    Row("arguments", "unknown", called({"a": 1}) + ended(), calls=(PICK,)),
    Row("arguments", "late", called("") + ended(output=[{"type": "function_call", "id": "f", "arguments": PICK[1]}]), calls=(PICK,)),
    Row("end", "absent", message("Hi"), "Hi", error=CUT),
    Row("end", "absent", message("Hi") + DONE, "Hi", error=CUT),
    Row("end", "repeated", message("Hi") + ended() + ended("failed"), "Hi"),
    Row("end", "unknown", message("Hi") + ended("exploded"), "Hi", error=CUT),
    Row("end", "unknown", message("Hi") + event("response.completed", response={"status": "exploded"}), "Hi", error=CUT),
    Row("end", "unknown", message("Hi") + ended(error={"message": SECRET, "code": "server_error"}), "Hi", error=FAILED),
    Row("end", "unknown", message("Hi") + done("message", role="assistant", status="failed") + ended(), "Hi", error=CUT),
    Row("end", "unknown", message("Hi") + ended("incomplete", incomplete_details={"reason": "error"}), "Hi", error=LENGTH),
    Row("end", "late", message("Hi") + event("response.in_progress", response={}) + ended(), "Hi"),
    Row("blank line", "absent", message("Hi") + ended().rstrip(), "Hi"),
    Row("blank line", "absent", message("Hi") + ended().rstrip() + b"\n", "Hi"),
    Row("blank line", "absent", message("Hi") + ended()[:-4], "Hi", error=CUT),
    Row("blank line", "absent", (message("Hi") + ended()).replace(b"\n\n", b"\n"), "Hi"),
    Row("blank line", "repeated", message("Hi") + b"\n\n" + ended() + b"\n\n" + DONE, "Hi"),
    Row("blank line", "unknown", message("Hi") + b"data: [END]\n\n" + ended(), "Hi"),
    Row("blank line", "late", message("Hi") + b": wait\n" + ended().rstrip() + b"\n: wait\n", "Hi"),
]  # fmt: skip


async def answered(kind: str, sent: bytes, **options: Any) -> Outcome:
    async with stub.running(then(SSE_HEAD + sent), **({"models": VLLM["models"]} if kind.startswith("harmony") else {})) as server:
        backend = registry.build(Endpoint(server.url, model="tiny", limits=PATIENT, separates="always"), kind=kind, **options)
        result = await outcome(backend, sample_request("Hello!"))
        await backend.aclose()
    return result


def assert_is_as_in(row: Row, result: Outcome) -> None:
    assert SECRET not in result.visible and SECRET not in str(result.error)
    assert (result.visible, tuple(result.calls)) == (row.visible, row.calls)
    code = result.error.code if result.error else next((done.error for done in result.finished if done.error is LENGTH), None)
    assert code is row.error
    identities = [done.frame.header.call_id for done in result.finished if done.frame.header.recipient]
    assert len(set(identities)) == len(identities)


@for_each([("chat", row) for row in CHAT] + [("responses", row) for row in RESPONSES])
def test_a_field_is_read_as_the_table_says(kind: str, row: Row) -> None:
    assert_is_as_in(row, asyncio.run(answered(kind, row.sent)))


@pytest.mark.parametrize("rows", [CHAT, RESPONSES], ids=["chat", "responses"])
def test_the_table_has_every_field_in_every_state(rows: list[Row]) -> None:
    fields = ("text", "thought", "call id", "call index", "call name", "arguments", "end", "blank line")
    assert {(row.field, row.state) for row in rows} == {(field, state) for field in fields for state in STATES}


# --- token ids: calls and thoughts are text, so that only the text, the end and the blank line are fields ------------------------

HIDDEN, SHOWN = f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant", "<|channel|>final<|message|>Hi"


async def test_token_ids_are_read_as_the_table_says(vocabulary: Vocabulary) -> None:
    hidden, shown, [stop] = (ids_of(vocabulary, text) for text in (HIDDEN, SHOWN, "<|return|>"))
    head, good = sse(vllm(*hidden)), sse(vllm(stop, finish="stop", stop=stop))
    rows = [
        Row("text", "absent", head + good + DONE),
        Row("text", "unknown", head + sse(vllm(*shown)) + sse(vllm(text=SECRET, thought=True)) + good, "Hi", error=FAILED),
        Row("text", "late", head + sse(vllm(*shown)) + good + sse(vllm(*ids_of(vocabulary, SECRET))) + DONE, "Hi"),
        Row("end", "absent", head + sse(vllm(*shown)), "Hi", error=CUT),
        Row("end", "repeated", head + sse(vllm(*shown)) + good + good + DONE, "Hi"),
        Row("end", "unknown", head + sse(vllm(*shown, finish="abort")) + DONE, "Hi", error=CUT),
        Row("end", "late", head + sse(vllm(*shown)) + good + DONE, "Hi"),
        Row("blank line", "absent", head + sse(vllm(*shown)) + good.rstrip(), "Hi"),
        Row("blank line", "unknown", head + sse(vllm(*shown)) + b"data: [END]\n\n", "Hi", error=CUT),
    ]
    for row in rows:
        assert_is_as_in(row, await answered("harmony-vllm", row.sent, vocabulary=lambda: vocabulary))
