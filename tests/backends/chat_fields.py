"""Rows that only Chat Completions can say: each field of a chunk, if it is absent, repeated, unknown or late."""

import json
from typing import Any

from chatui.backends.speaker import REASONING_FIELDS
from tests.backends.door import SECRET, Row
from tests.support.stub import DONE, chunk

STOP = chunk("stop") + DONE
CALLED = chunk("tool_calls") + DONE
THOUGHT = chunk(reasoning_content=SECRET)


def row(field: str, state: str, said: bytes, *told: str, **more: Any) -> Row:
    return Row(f"{field}, {state}", said, told, columns=("chat",), **more)


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

INTERRUPTED = ("answer so far: The answer is 4.", f"thought: {SECRET}", "stop")
ROWS = [
    row("text", "absent", THOUGHT + STOP, f"thought: {SECRET}", "stop"),
    row("text", "repeated", texts(*LAKE[:3]) + STOP, "answer: The lake is deep.", "stop"),
    row("text", "repeated", texts(*LAKE) + STOP, "answer: The lake is deep. Very.", "stop"),
    row("text", "repeated", texts(*LAKE, LAKE[3], " Yes.") + STOP, "answer: The lake is deep. Very. Yes.", "stop"),
    row("text", "repeated", texts("湖", "湖很", "湖很深。") + STOP, "answer: 湖很深。", "stop"),
    row("text", "repeated", texts("<think>", f"<think>{SECRET}", f"<think>{SECRET}</think>Hi") + STOP,
        f"hidden: <think>{SECRET}</think> [E-PARSE-HEADER]", "answer: Hi", "stop"),
    row("text", "repeated", texts("ha", "ha", "ha") + STOP, "answer: hahaha", "stop"),
    row("text", "repeated", texts("1", "12", "123") + STOP, "answer: 112123", "stop"),
    row("text", "repeated", texts("Yes", "Yes and no") + STOP, "answer: YesYes and no", "stop"),
    row("text", "repeated", texts("Yes", "Yes and no"), "answer so far: YesYes and no [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("text", "repeated", texts("Hi ", "you") + whole_message("Hi you"), "answer: Hi you", "stop"),
    row("text", "unknown", chunk(content={"x": SECRET}) + chunk(content=5) + chunk(content=[{"x": SECRET}]) + STOP, "stop"),
    row("text", "late", chunk("stop") + texts("Hi") + DONE, "answer: Hi", "stop"),
    row("text", "late", THOUGHT + whole_message("Hi"), f"thought: {SECRET}", "answer: Hi", "stop"),
    row("text", "repeated", chunk(content=SECRET, thought=True) + whole_message(SECRET), f"thought: {SECRET}", "stop"),
    row("thought", "absent", texts("Hi") + STOP, "answer: Hi", "stop"),
    row("thought", "repeated", chunk(reasoning=SECRET, reasoning_content=SECRET, content=SECRET) + texts("Hi") + STOP,
        f"thought: {SECRET}", "answer: Hi", "stop"),
    row("thought", "unknown", chunk(musing=SECRET) + texts("Hi") + STOP, "answer: Hi", "stop"),
    *(row("thought", "late", interleaved("The ans", "wer is 4.", field=field) + STOP, *INTERRUPTED) for field in REASONING_FIELDS),
    row("thought", "late", interleaved("It is **bo", "ld** and\n- a", " list\n\n| a ", "| b |\n", "|---|---|\n") + STOP,
        "answer so far: It is **bold** and\n- a list\n\n| a | b |\n|---|---|\n", f"thought: {SECRET}{SECRET}{SECRET}{SECRET}", "stop"),
    row("thought", "late", interleaved("```py\na = 1\n", "b = a.", "c\n```", "\nOne.", " Two.") + STOP,
        "answer so far: ```py\na = 1\nb = a.c\n```\nOne. Two.", f"thought: {SECRET}{SECRET}{SECRET}{SECRET}", "stop"),
    row("thought", "late", interleaved("In the U.", "S. and in std:", ":Vector.") + STOP, "answer so far: In the U.S. and in std::Vector.",
        f"thought: {SECRET}{SECRET}", "stop"),
    row("thought", "late", interleaved("I look it up.", "**Berlin** it is.") + STOP, "answer so far: I look it up.\n\n**Berlin** it is.",
        f"thought: {SECRET}", "stop"),
    row("call id", "absent", calling(part()) + CALLED, 'call functions.lab_pick new: {"a": 1}', "tool_calls"),
    row("call id", "repeated", calling(part(id="c1"), part('{"a": 2}', id="c1", index=1)) + CALLED, 'call functions.lab_pick c1: {"a": 1}',
        'call functions.lab_pick new: {"a": 2}', "tool_calls"),
    row("call id", "unknown", calling(part(id="c 1")) + calling(part('{"a": 2}', id=7, index=1)) + CALLED,
        'call functions.lab_pick new: {"a": 1}', 'call functions.lab_pick new: {"a": 2}', "tool_calls"),
    row("call id", "repeated", calling(part('{"a"', id="x1")) + calling(part(": 1}", name=None, id="x2")) + CALLED,
        'call functions.lab_pick x1: {"a": 1}', "tool_calls"),
    row("call id", "late", calling(part('{"a": ')) + calling(part("1}", name=None, id="c1")) + CALLED,
        'call functions.lab_pick c1: {"a": 1}', "tool_calls"),
    row("call index", "absent", unplaced(part(id="c1")) + unplaced(part('{"a": 2}', id="c2")) + CALLED,
        'call functions.lab_pick c1: {"a": 1}', 'call functions.lab_pick c2: {"a": 2}', "tool_calls"),
    row("call index", "absent", unplaced(part(id="c1"), part('{"a": 2}', id="c2")) + CALLED, 'call functions.lab_pick c1: {"a": 1}',
        'call functions.lab_pick c2: {"a": 2}', "tool_calls"),
    row("call index", "absent", unplaced(part()) + unplaced(part('{"a": 2}')) + CALLED, 'call functions.lab_pick new: {"a": 1}',
        'call functions.lab_pick new: {"a": 2}', "tool_calls"),
    row("call index", "absent", unplaced(part('{"a":', id="c1")) + unplaced(part('{"a": 2', id="c2")) + unplaced(part(" 1}", name="",
        id="c1")) + unplaced(part("}", name="", id="c2")) + CALLED, 'call functions.lab_pick c1: {"a": 1}',
        'call functions.lab_pick c2: {"a": 2}', "tool_calls"),
    row("call index", "repeated", calling(part(id="c1")) + calling(part('{"a": 2}', id="c2")) + CALLED,
        'call functions.lab_pick c1: {"a": 1}', 'call functions.lab_pick c2: {"a": 2}', "tool_calls"),
    row("call index", "repeated", calling(part(id="c1"), part('{"a": 2}', id="c2")) + CALLED, 'call functions.lab_pick c1: {"a": 1}',
        'call functions.lab_pick c2: {"a": 2}', "tool_calls"),
    row("call index", "repeated", calling(part()) + calling(part('{"a": 2}')) + CALLED, 'call functions.lab_pick new: {"a": 1}',
        'call functions.lab_pick new: {"a": 2}', "tool_calls"),
    row("call index", "repeated", calling(part(name="f"), part(name="g")) + CALLED, 'call functions.f new: {"a": 1}',
        'call functions.g new: {"a": 1}', "tool_calls"),
    row("call index", "unknown", calling(part(id="c1", index="x")) + calling(part('{"a": 2}', id="c2", index=True)) + CALLED,
        'call functions.lab_pick c1: {"a": 1}', 'call functions.lab_pick c2: {"a": 2}', "tool_calls"),
    row("call index", "late", unplaced(part('{"a": ', id="c1")) + calling(part("1}", name=None)) + CALLED,
        'call functions.lab_pick c1: {"a": 1}', "tool_calls"),
    row("call name", "absent", calling(part(name=None, id="c1")) + CALLED, 'call functions.no_name c1: {"a": 1}', "tool_calls"),
    row("call name", "repeated", calling(part('{"a"', id="c1")) + calling(part(": 1}", id="c1")) + calling(part("", id="c1")) + CALLED,
        'call functions.lab_pick c1: {"a": 1}', "tool_calls"),
    row("call name", "repeated", calling(part('{"a"')) + calling(part(": 1}")) + calling(part("")) + CALLED,
        'call functions.lab_pick new: {"a": 1}', "tool_calls"),
    row("call name", "repeated", calling(part("", name="lab_")) + calling(part()) + CALLED, 'call functions.lab_pick new: {"a": 1}',
        "tool_calls"),
    row("call name", "unknown", calling(part(name="lab_pick<|channel|>commentary", id="c1")) + CALLED,
        'call functions.lab_pick c1: {"a": 1}', "tool_calls"),
    row("call name", "unknown", calling(part(name="<|call|>", id="c1")) + CALLED, 'call functions.no_name c1: {"a": 1}', "tool_calls"),
    row("call name", "late", calling(part(name=None, id="c1")) + calling(part("")) + CALLED, 'call functions.lab_pick c1: {"a": 1}',
        "tool_calls"),
    row("arguments", "absent", calling(part(None, id="c1")) + CALLED, "call functions.lab_pick c1: {}", "tool_calls"),
    row("arguments", "repeated", calling(part('{"a"', id="c1")) + calling(part(id="c1")) + CALLED, 'call functions.lab_pick c1: {"a": 1}',
        "tool_calls"),
    row("arguments", "repeated", calling(part(id="c1")) + calling(part(id="c1")) + CALLED, 'call functions.lab_pick c1: {"a": 1}',
        "tool_calls"),
    row("arguments", "unknown", calling(part({"a": 1}, id="c1")) + calling(part(5, id="c1")) + CALLED,
        'call functions.lab_pick c1: {"a": 1}', "tool_calls"),
    row("arguments", "unknown", calling(part([{"a": 1}], id="c1")) + CALLED,
        'call functions.lab_pick c1, no JSON: [{"a": 1}] [E-CALL-SCHEMA]', "tool_calls"),
    row("arguments", "late", calling(part("", id="c1")) + chunk("tool_calls") + calling(part(name=None)) + DONE,
        'call functions.lab_pick c1: {"a": 1}', "tool_calls"),
    row("end", "absent", texts("Hi"), "answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("end", "absent", texts("Hi") + DONE, "answer: Hi", "stop"),
    row("end", "repeated", texts("Hi") + chunk("stop") + chunk("length") + DONE, "answer so far: Hi [E-X-LENGTH] [cut]", "length"),
    *(row("end", "unknown", texts("Part one") + chunk(word) + DONE, "answer so far: Part one [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED") for word in ("error", "abort", "insufficient_system_resource", "malformed_function_call", "RECITATION",
        "cancelled", "network_error")),
    row("end", "unknown", calling(part(id="c1")) + chunk("malformed_function_call") + DONE,
        'no call functions.lab_pick c1: {"a": 1} [E-STREAM-TRUNCATED] [cut]', "E-STREAM-TRUNCATED"),
    row("end", "unknown", texts("Part ") + with_error("error", content="one") + DONE, "answer so far: Part one [E-X-BACKEND] [cut]",
        "E-X-BACKEND"),
    row("end", "unknown", texts("Part one") + with_error(None) + chunk("stop") + DONE, "answer so far: Part one [E-X-BACKEND] [cut]",
        "E-X-BACKEND"),
    *(row("end", "unknown", texts("Part one") + chunk(word) + DONE, "answer so far: Part one [E-X-LENGTH] [cut]",
        "length") for word in ("max_tokens", "model_length", "MAX_TOKENS")),
    *(row("end", "unknown", texts("Hi") + chunk(word) + DONE, "answer: Hi", "stop") for word in ("eos", "end_turn", "STOP")),
    row("end", "late", texts("Hi") + b'data: {"choices": [], "usage": {}}\n\n' + STOP, "answer: Hi", "stop"),
    row("blank line", "absent", texts("Part one ") + LAST, "answer: Part one and two.", "stop"),
    row("blank line", "absent", texts("Part one ") + LAST + b"\n", "answer: Part one and two.", "stop"),
    row("blank line", "absent", LAST + b"\r", "answer: and two.", "stop"),
    row("blank line", "absent", texts("Hi") + DONE.rstrip(), "answer: Hi", "stop"),
    row("blank line", "absent", texts("Hi") + LAST[:-3], "answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    row("blank line", "absent", (texts("Hi", " you") + STOP).replace(b"\n\n", b"\n"), "answer: Hi you", "stop"),
    row("blank line", "repeated", b"\n\n\n" + texts("Hi") + b"\n\n\n" + STOP + b"\n" + DONE, "answer: Hi", "stop"),
    row("blank line", "unknown", texts("Hi") + chunk("stop") + b"data: [END]\n\n", "answer: Hi", "stop"),
    row("blank line", "late", texts("Hi") + b": wait\n" * 3 + LAST + b"\n: wait\n", "answer: Hiand two.", "stop"),
]  # fmt: skip
