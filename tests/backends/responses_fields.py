"""Rows that only Responses can say: each field of an event, if it is absent, repeated, unknown or late."""

from typing import Any

from tests.backends.door import SECRET, Row
from tests.chatui.backends.wire import BEGUN, ended, event, message_event
from tests.support.stub import DONE, SSE_HEAD


def row(field: str, state: str, said: bytes, *told: str) -> Row:
    return Row(f"{field}, {state}", said, told, columns=("responses",))


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

ROWS = [
    row("text", "absent", REASONING + ended(), f"thought: {SECRET}", "stop"),
    row("text", "repeated", message("The lake", "The lake is", "The lake is deep.") + ended(), "answer: The lake is deep.", "stop"),
    row("text", "repeated", message("Hi") + done("message", role="assistant", **PARTS) + ended(output=[ANSWER | PARTS]), "answer: Hi",
        "stop"),
    row("text", "repeated", message("Yes", "Yes and no") + ended(), "answer: YesYes and no", "stop"),
    row("text", "unknown", message() + event("response.output_text.delta", item_id="m", delta=5) + ended(), "stop"),
    row("text", "late", message() + ended(output=[ANSWER | PARTS]), "answer: Hi", "stop"),
    row("thought", "absent", message("Hi") + ended(), "answer: Hi", "stop"),
    row("thought", "repeated", REASONING + REASONING + done("reasoning", "r", content=[{"type": "output_text", "text": SECRET}]) + ended(),
        f"thought: {SECRET}{SECRET}", "stop"),
    row("thought", "unknown", message("Hi") + event("response.musing.delta", item_id="m", delta=SECRET) + ended(), "answer: Hi", "stop"),
    row("thought", "late", message("The ans") + REASONING + message_event("wer is 4.") + ended(), "answer: The answer is 4.",
        f"thought: {SECRET}", "stop"),
    row("thought", "late", REASONING.join([message("**a"), message_event("b**"), message_event(" c")]) + ended(), "answer: **ab** c",
        f"thought: {SECRET}{SECRET}", "stop"),
    row("call id", "absent", called() + ended(), 'call functions.lab_pick new: {"a": 1}', "tool_calls"),
    row("call id", "repeated", called(call_id="c1") + called('{"a": 2}', item="g", call_id="c1") + ended(),
        'call functions.lab_pick c1: {"a": 1}', 'call functions.lab_pick new: {"a": 2}', "tool_calls"),
    row("call id", "unknown", called(call_id="c 1") + called('{"a": 2}', item="g", call_id=7) + ended(),
        'call functions.lab_pick new: {"a": 1}', 'call functions.lab_pick new: {"a": 2}', "tool_calls"),
    row("call id", "late", added("function_call", "f", name="lab_pick") + called(call_id="c1") + ended(),
        'call functions.lab_pick c1: {"a": 1}', "tool_calls"),
    row("call index", "absent", called(call_id="c1", item="f") + called('{"a": 2}', item="g", call_id="c2") + ended(),
        'call functions.lab_pick c1: {"a": 1}', 'call functions.lab_pick c2: {"a": 2}', "tool_calls"),
    row("call index", "absent", called(call_id="c1", item=None) + called('{"a": 2}', item=None, call_id="c2") + ended(),
        'call functions.lab_pick c1: {"a": 1}', 'call functions.lab_pick c2: {"a": 2}', "tool_calls"),
    row("call index", "repeated", called(output_index=0) + called('{"a": 2}', item="g", output_index=0) + ended(),
        'call functions.lab_pick new: {"a": 1}', 'call functions.lab_pick new: {"a": 2}', "tool_calls"),
    row("call index", "unknown", called(output_index="x") + called('{"a": 2}', item="g", output_index=-1) + ended(),
        'call functions.lab_pick new: {"a": 1}', 'call functions.lab_pick new: {"a": 2}', "tool_calls"),
    row("call index", "late", added("function_call", "f", name="lab_pick") + called(output_index=1) + ended(),
        'call functions.lab_pick new: {"a": 1}', "tool_calls"),
    row("call name", "absent", called(name=None) + ended(), 'call functions.no_name new: {"a": 1}', "tool_calls"),
    row("call name", "repeated", added("function_call", "f", name="lab_pick") + called() + called() + ended(),
        'call functions.lab_pick new: {"a": 1}', "tool_calls"),
    row("call name", "unknown", called(name="lab_pick<|channel|>commentary") + ended(), 'call functions.lab_pick new: {"a": 1}',
        "tool_calls"),
    row("call name", "late", added("function_call", "f") + called() + ended(), 'call functions.lab_pick new: {"a": 1}', "tool_calls"),
    row("arguments", "absent", called(None) + ended(), "call functions.lab_pick new: {}", "tool_calls"),
    row("arguments", "repeated", added("function_call", "f") + event(DELTA, item_id="f", delta='{"a": 1}') + called() + ended(),
        'call functions.lab_pick new: {"a": 1}', "tool_calls"),
    row("arguments", "unknown", called({"a": 1}) + ended(), 'call functions.lab_pick new: {"a": 1}', "tool_calls"),
    row("arguments", "late", called("") + ended(output=[{"type": "function_call", "id": "f", "arguments": '{"a": 1}'}]),
        'call functions.lab_pick new: {"a": 1}', "tool_calls"),
    row("end", "absent", message("Hi"), "answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("end", "absent", message("Hi") + DONE, "answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("end", "repeated", message("Hi") + ended() + ended("failed"), "answer: Hi", "stop"),
    row("end", "unknown", message("Hi") + ended("exploded"), "answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("end", "unknown", message("Hi") + event("response.completed", response={"status": "exploded"}),
        "answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("end", "unknown", message("Hi") + ended(error={"message": SECRET, "code": "server_error"}),
        "answer so far: Hi [E-X-BACKEND] [cut]", "E-X-BACKEND"),
    row("end", "unknown", message("Hi") + done("message", role="assistant", status="failed") + ended(),
        "answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("end", "unknown", message("Hi") + ended("incomplete", incomplete_details={"reason": "error"}),
        "answer so far: Hi [E-X-LENGTH] [cut]", "length"),
    row("end", "late", message("Hi") + event("response.in_progress", response={}) + ended(), "answer: Hi", "stop"),
    row("blank line", "absent", message("Hi") + ended().rstrip(), "answer: Hi", "stop"),
    row("blank line", "absent", message("Hi") + ended().rstrip() + b"\n", "answer: Hi", "stop"),
    row("blank line", "absent", message("Hi") + ended()[:-4], "answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("blank line", "absent", (message("Hi") + ended()).replace(b"\n\n", b"\n"), "answer: Hi", "stop"),
    row("blank line", "repeated", message("Hi") + b"\n\n" + ended() + b"\n\n" + DONE, "answer: Hi", "stop"),
    row("blank line", "unknown", message("Hi") + b"data: [END]\n\n" + ended(), "answer: Hi", "stop"),
    row("blank line", "late", message("Hi") + b": wait\n" + ended().rstrip() + b"\n: wait\n", "answer: Hi", "stop"),
]  # fmt: skip
