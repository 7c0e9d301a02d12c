"""Rows in which a server of token ids is asked again in the middle of an answer: for an answer in a format, and for a required call.

Also those that could be asked again and are not: where a cut answer goes on, or where there is a call already.
"""

from typing import Any

from chatui.answer_formats import answer_format
from renderer.frames import Channel, Frame, Header, Role
from tests.backends.door import IDS, SECRET, Row
from tests.backends.said import CUT, STOPS, Ends, Fails, Moment, Sends, Writes
from tests.chatui.backends.wire import sse

SCHEMA: dict[str, Any] = {"type": "object", "title": "Zoë", "properties": {"sum": {"type": "integer"}}}
FORMATTED: dict[str, Any] = {"answer_format": answer_format("sum", SCHEMA, "The sum.")}
CONTINUED: dict[str, Any] = {"cut_answer": Frame(Header(Role.ASSISTANT, Channel.FINAL), "Half")}
FORCED: dict[str, Any] = {"must_call": True}


def question(text: str) -> dict[str, Any]:
    """Asked in the place of the usual one."""
    return {"frames": (Frame(Header(Role.USER), text),)}


FINAL = "<|channel|>final<|message|>"
THINKS = "<|channel|>analysis<|message|>I think."
THOUGHT = f"{THINKS}<|end|><|start|>assistant"
CALL = "<|channel|>commentary to=functions.look <|constrain|>json<|message|>{}<|call|>"
VALUE: tuple[Moment, ...] = (Writes('{"sum": 4}'), STOPS)
ARGUMENTS: tuple[Moment, ...] = (Writes("{}<|call|>"), STOPS)
CALLED = ("thought: I think.", "call functions.look new: {}", "tool_calls")
ANSWERED = ("thought: I think.", 'answer: {"sum": 4}')
VLLM = ("harmony-vllm",)
NO_CHOICE = Sends(sse({"choices": []}))


def usage(**counts: int) -> Sends:
    return Sends(sse({"choices": [], "usage": counts}))


def formatted(name: str, said: list[Moment], *told: str, then: tuple[tuple[Moment, ...], ...] = (), **more: Any) -> Row:
    """An answer in a format is asked for, and a call is possible."""
    return Row(f"in a format: {name}", tuple(said), told, columns=more.pop("columns", tuple(IDS)), then=then, tools=("look",),
        asks=FORMATTED, **more)  # fmt: skip


def forced(name: str, said: list[Moment], *told: str, then: tuple[tuple[Moment, ...], ...] = (), **more: Any) -> Row:
    """A call of one function is required."""
    return Row(f"a required call: {name}", tuple(said), told, columns=more.pop("columns", tuple(IDS)), then=then, tools=("look",),
        **{"asks": FORCED, **more})  # fmt: skip


def continued(name: str, said: list[Moment], *told: str, **asks: Any) -> Row:
    return Row(f"a cut answer goes on: {name}", tuple(said), told, columns=tuple(IDS), tools=("look",), asks=CONTINUED | asks)


ROWS = [
    # an answer in a format: its schema is for the answer alone
    formatted("a thought, and an answer in prose", [Writes(f"{THOUGHT}{FINAL}It is four.")], *ANSWERED, "stop", then=(VALUE,)),
    formatted("an answer whose header comes in pieces", [Writes("<|channel|>"), Writes("fi"), Writes("nal"), Writes("<|message|>")],
        'answer: {"sum": 4}', "stop", then=(VALUE,)),
    formatted("an answer behind a call", [Writes(f"{CALL}<|start|>assistant{FINAL}{SECRET}")], "call functions.look new: {}",
        "tool_calls"),
    formatted("a call that ends where its length does", [Writes(CALL), CUT], "call functions.look new: {}", "length"),
    formatted("a refusal within the answer", [Writes(f"{THOUGHT}{FINAL}")], "thought: I think.",
        'answer so far: {"su [E-X-BACKEND-REFUSED] [cut]', "E-X-BACKEND-REFUSED", then=((Writes('{"su'),
        Fails({"code": 400, "message": "schema"})),)),
    # what was read of the first response is no part of the prompt: here 15 ids
    *(formatted(f"{read} tokens are read by then", [Writes(f"{THOUGHT}{FINAL}")], *ANSWERED, f"stop, {left} read, 20 written",
        then=((Writes('{"sum": 4}'), Ends(counted=(read, 5, 0, 0))),), columns=VLLM) for read, left in ((100, 85), (3, 0))),
    formatted("only the tokens that were read are counted", [Writes(f"{THOUGHT}{FINAL}")], *ANSWERED, "stop, 100 read, None written",
        then=((Writes('{"sum": 4}'), usage(prompt_tokens=100), STOPS),), columns=VLLM),
    formatted("only the tokens that were written are counted", [Writes(f"{THOUGHT}{FINAL}")], *ANSWERED, "stop",
        then=((Writes('{"sum": 4}'), usage(completion_tokens=5), STOPS),), columns=VLLM),
    # a required call: what the model opens in its place is dropped
    *(forced(name, [Writes(text)], *CALLED, then=(ARGUMENTS,)) for name, text in (
        ("an answer", f"{THOUGHT}{FINAL}{SECRET}"),
        ("an answer that is whole at once", f"{THOUGHT}<|channel|>final {SECRET}<|return|>"))),
    forced("an answer that is cut at once", [Writes(f"{THOUGHT}{FINAL}"), CUT], *CALLED, then=(ARGUMENTS,)),
    forced("the model stops", [Writes(THINKS), STOPS], *CALLED, then=((Writes("{"), Writes("}"), Writes("<|call|>"), STOPS),)),
    forced("the model stops, and says so for long", [Writes(f"{THINKS}<|return|>"), *[NO_CHOICE] * 9, STOPS], *CALLED, then=((Writes("{"),
        Writes("}"), Writes("<|call|>"), STOPS),), columns=VLLM),
    forced("broken and other messages before it", [Writes(f"<|channel|>gossip<|message|>x<|end|><|start|>assistant{THOUGHT}"
        f"<|channel|>analysis to=user<|message|>y<|end|><|start|>assistant{FINAL}{SECRET}")],
        "hidden: <|channel|>gossip<|message|>x [E-PARSE-HEADER]", "thought: I think.", "no call user -, no JSON: y",
        "call functions.look new: {}", "tool_calls", then=(ARGUMENTS,)),
    forced("and a format", [Writes(f"{FINAL}{SECRET}")], "call functions.look new: {}", "tool_calls", then=(ARGUMENTS,),
        asks=FORCED | FORMATTED),
    # where none is missing
    forced("a thought that is cut behind its end", [Writes(f"{THINKS}<|end|>"), CUT], "thought: I think.", "length"),
    forced("half a thought", [Writes("<|channel|>analysis<|message|>I thi")], "thought: I thi [E-STREAM-TRUNCATED] [cut]",
        "E-STREAM-TRUNCATED"),
    forced("a call of the model's", [Writes(CALL), STOPS], "call functions.look new: {}", "tool_calls"),
    forced("a call, and then an answer", [Writes(f"{CALL}<|start|>assistant{FINAL}{SECRET}")], "call functions.look new: {}", "tool_calls"),
    forced("a thought that is longer than may be written", [Writes(THINKS), STOPS], "thought: I think.", "length",
        limits={"max_output_chars": len(THINKS) + 9}),
    forced("a thought with as much as may be written", [Writes(THINKS), STOPS], "thought: I think.", "length", then=(ARGUMENTS,),
        limits={"max_output_chars": len(THINKS) + 10}),
    # a cut answer goes on: neither a schema nor a call is for what is left of it
    continued("with nothing, cut", [CUT], "length"),
    continued("with an error", [Fails({"code": 500})], "E-X-BACKEND, may be asked again"),
    continued("with text", [Writes(" and"), STOPS], "answer:  and", "stop"),
    continued("with text, and breaks off", [Writes(" and")], "answer so far:  and [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
    continued("in a format", [Writes(" and"), STOPS], "answer:  and", "stop", **FORMATTED),
    continued("where a call is required", [Writes(" and"), STOPS], "answer:  and", "stop", **FORCED),
    # limits, which count the header as well
    *(Row(f"{text} with room for {room}", (Writes(FINAL), Writes(text)), told, columns=tuple(IDS),
        limits={"max_output_chars": len(FINAL) + room}) for room, text, told in (
        (5, "Hello<|return|>", ("answer so far: Hello [E-X-LENGTH] [cut]", "length")),
        (5, "Hello", ("answer so far: Hello [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED")),
        (4, "Hello", ("answer so far: Hell [E-X-LENGTH] [cut]", "length")),
        (0, "Hello", ("answer so far:  [E-X-LENGTH] [cut]", "length")),
        (15, "Hello<|return|>", ("answer: Hello", "stop")))),
]  # fmt: skip
