"""Rows that only servers of token ids can say: which ids are read, how each server says that it ends, and which chunks are refused."""

import re
from typing import Any

from tests.backends.door import IDS, SECRET, Row
from tests.chatui.backends.wire import llama, sse, vllm
from tests.support.stub import DONE

Chunk = dict[str, Any]
MARKERS = {"<|return|>": 200002, "<|channel|>": 200005, "<|start|>": 200006, "<|end|>": 200007, "<|message|>": 200008, "<|call|>": 200012}
RETURN, CALL, START, END = (MARKERS[f"<|{name}|>"] for name in ("return", "call", "start", "end"))
END_OF_TEXT, HALF_A_CHARACTER = 199999, 101
FINAL = "<|channel|>final<|message|>"


def ids(text: str) -> list[int]:
    """Markers, and each printable ASCII character as a token of its own, which every vocabulary of this kind has at the same place."""
    parts = [part for part in re.split(r"(<\|[a-z]+\|>)", text) if part]
    return [number for part in parts for number in ([MARKERS[part]] if part in MARKERS else [ord(each) - 33 for each in part])]


def row(name: str, column: str, said: bytes, *told: str, **more: Any) -> Row:
    return Row(f"{name}, {column}", said, told, columns=(f"harmony-{column}",), **more)


def of_vllm(text: str, finish: object = None, **choice: Any) -> Chunk:
    return {"choices": [{"index": 0, "text": "x", "token_ids": ids(text), "finish_reason": finish, **choice}]}


def of_sglang(numbers: object, count: object, finish: object = None) -> Chunk:
    return {"text": "x", "output_ids": numbers, "meta_info": {"completion_tokens": count, "prompt_tokens": 9, "finish_reason": finish}}


def of_llama(text: str) -> list[Chunk]:
    return [llama(part, ids(part)[-1]) for part in re.split(r"(<\|[a-z]+\|>)", text) if part]


def spoken(column: str, *chunks: Chunk) -> bytes:
    return sse(*chunks) + (b"" if column == "llamacpp" else DONE)


def begun(column: str, text: str = f"{FINAL}Hi") -> list[Chunk]:
    if column == "llamacpp":
        return of_llama(text)
    return [of_vllm(text)] if column == "vllm" else [of_sglang(ids(text), len(ids(text)))]


def ended(column: str, text: str = f"{FINAL}Hi") -> list[Chunk]:
    """How the server goes on behind ``text``, at the model's own end."""
    if column == "llamacpp":
        return [llama("", RETURN), llama("", stop_type="eos") | {"stop": True}]
    if column == "vllm":
        return [of_vllm("<|return|>", "stop", stop_reason=RETURN)]
    whole = ids(text + "<|return|>")
    return [of_sglang(whole, len(whole), {"type": "stop", "matched": RETURN})]


COLUMNS = tuple(name.removeprefix("harmony-") for name in IDS)

HI = f"{FINAL}Hi"
CUT_OFF = ("answer so far: Hi [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED")
CALLED = ("hidden: Hi [E-CALL-SCHEMA] [withdrawn]", "stop")
STOPPED: list[tuple[str, object, str, tuple[str, str]]] = [
    ("stop", RETURN, "Hi", ("answer: Hi", "stop")),
    ("stop", CALL, "Hi", CALLED),
    ("stop", START, "Hi", ("answer so far: Hi [E-PARSE-HEADER] [cut]", "stop")),
    ("stop", None, "Hi", ("answer so far: Hi", "stop")),
    ("stop", "<|return|>", "Hi", ("answer so far: Hi", "stop")),
    ("stop", 5, "Hi", CUT_OFF),
    ("stop", "\n\n", "Hi", CUT_OFF),
    ("stop", RETURN, "Hi<|return|>", ("answer: Hi", "stop")),
    ("stop", RETURN, "Hi<|call|>", CALLED),
    ("stop", None, "Hi<|end|>", ("answer so far: Hi", "stop")),
    ("length", RETURN, "Hi", ("answer so far: Hi [E-X-LENGTH] [cut]", "length")),
]
"""The end that a server reports, the token that it names, and what it has sent by then: that token is read once."""
COUNTED: list[tuple[str, list[tuple[str | None, int | None]], str]] = [
    ("all so far", [("ab", 2), ("abc", 3)], "abc"),
    ("only new ones", [("ab", 2), ("+c", 3)], "abc"),
    ("only new ones, by one and two", [("a", 1), ("+b", 2), ("+cd", 4)], "abcd"),
    ("the same twice", [("ab", 2), ("ab", 2)], "ab"),
    ("none in between", [("ab", 2), ("+", 2), (None, 2), ("abcd", 4)], "abcd"),
    ("more than are counted", [("ab", 1)], "ab"),
]
LACKING: list[tuple[str, list[tuple[str, object]], tuple[str, ...]]] = [
    ("one is left out", [("ab", 2), ("+c", 4)], ("answer so far: ab [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED")),
    ("the first are left out", [("ab", 3)], ("E-STREAM-TRUNCATED",)),
    ("one comes again", [("ab", 2), ("+a", 2)], ("answer so far: ab [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED")),
    ("they are not counted", [("ab", None)], ("E-X-BACKEND",)),
    ("the count is a text", [("ab", "2")], ("E-X-BACKEND",)),
]
LABELS: tuple[Chunk, ...] = ({"channel": "analysis"}, {"role": "user"}, {"is_thinking": True}, {"segment": "reasoning"})
NO_IDS: tuple[object, ...] = (["64"], [True], [1.0], "64", {"0": 1}, 5)
WHOLE = f"{HI}<|return|>"
REFUSED = ("answer so far: Hi [E-X-BACKEND] [cut]", "E-X-BACKEND")


def counted(text: str | None, count: object, finish: object = None) -> Chunk:
    """``+``: without what came before. ``count``: without the header of the answer."""
    if text is None:
        return of_sglang(None, count, finish) | {"text": ""}
    numbers = ids(text.removeprefix("+")) if text.startswith("+") else ids(FINAL + text)
    return of_sglang(numbers, count + len(ids(FINAL)) if isinstance(count, int) else count, finish)


def more(column: str, numbers: object, text: str = SECRET) -> Chunk:
    """A chunk with these ids, behind the beginning of an answer."""
    if column == "llamacpp":
        return {"content": text, "tokens": numbers}
    if column == "vllm":
        return {"choices": [{"index": 0, "text": text, "token_ids": numbers}]}
    numbers = ids(HI) + numbers if isinstance(numbers, list) else numbers
    return of_sglang(numbers, len(ids(HI)) + 1) | {"text": text}


def read(column: str, count: int) -> str:
    """What SGLang counts behind the end."""
    return f"stop, 9 read, {count} written" if column == "sglang" else "stop"


def of(column: str, name: str, *chunks: Chunk, told: tuple[str, ...]) -> Row:
    return row(name, column, spoken(column, *chunks), *told)


OTHER_CHOICES: list[Chunk] = [{"choices": odd} for odd in ([], None, ["x"], {"0": 1})]
COUNTS: Chunk = {"model": "tiny-2", "tokens_predicted": 4, "tokens_evaluated": 9}
ROWS = [
    # which ids are read
    of("vllm", "the first choice of several", of_vllm(HI), {"choices": [*of_vllm("!")["choices"], *of_vllm(SECRET)["choices"]]}, {},
        *OTHER_CHOICES, of_vllm(SECRET, index=1), of_vllm("!", index=None), *ended("vllm"), told=("answer: Hi!!", "stop")),
    *(of("vllm", f"an id of no token: {number}", of_vllm(HI), vllm(number), *ended("vllm"), told=("answer: Hi\ufffd", "stop"))
        for number in (-1, 201_089, 10**30)),
    *(of("sglang", f"ids that are sent again or not: {name}", *(counted(*each) for each in chunks), of_sglang([], 0, "length"),
        told=(f"answer so far: {text} [E-X-LENGTH] [cut]", "length, 9 read, 0 written")) for name, chunks, text in COUNTED),
    *(of("sglang", f"ids of which {name}", *(counted(*each) for each in chunks), told=told) for name, chunks, told in LACKING),
    *(of(column, f"ids that are no whole numbers: {odd}", *begun(column), more(column, odd), *ended(column), told=REFUSED)
        for odd in NO_IDS for column in COLUMNS),
    *(of(column, f"the label {label}", *begun(column), more(column, [0]) | label, *ended(column), told=REFUSED) for label in LABELS
        for column in COLUMNS),
    *(of("vllm", f"the label {label} of a choice", of_vllm(HI), of_vllm(SECRET, **label), *ended("vllm"), told=REFUSED)
        for label in LABELS),
    *(of(column, "text without ids", *begun(column), more(column, None), *ended(column),
        told=("answer so far: Hi [E-X-BACKEND-SETUP] [cut]", "E-X-BACKEND-SETUP")) for column in COLUMNS),
    *(of(column, "text without ids, at once", more(column, None), told=("E-X-BACKEND-SETUP",)) for column in COLUMNS),
    *(of(column, "no text and no ids", *begun(column), more(column, None, ""), *ended(column), told=("answer: Hi", read(column, 10)))
        for column in COLUMNS),
    # how each server says that it ends
    *(of("vllm", f"{reported}, at {named!r} behind {sent}", of_vllm(FINAL + sent, reported, stop_reason=named), told=told)
        for reported, named, sent, told in STOPPED),
    *(of("vllm", f"{reported}, at {named!r} behind {sent}, by itself", of_vllm(FINAL + sent), of_vllm("", reported, stop_reason=named),
        told=told) for reported, named, sent, told in STOPPED),
    *(of("sglang", f"{reported}, at {named!r} behind {sent}", counted(sent, len(ids(sent)), {"type": reported, "matched": named}),
        told=(told[0], told[1] if told is CUT_OFF else f"{told[1]}, 9 read, {len(ids(FINAL + sent))} written"))
        for reported, named, sent, told in STOPPED),
    of("vllm", "a stop without a token", of_vllm(HI, "stop"), told=CUT_OFF),
    of("vllm", "the end of a document", of_vllm(HI), vllm(END_OF_TEXT, finish="stop"), told=(CUT_OFF[0], "stop")),
    of("vllm", "half a character before a stop", of_vllm(HI), vllm(HALF_A_CHARACTER, finish="stop", stop=RETURN),
        told=("answer: Hi\ufffd", "stop")),
    of("vllm", "half a character that is cut", of_vllm(HI), vllm(HALF_A_CHARACTER, finish="length", stop=RETURN),
        told=("answer so far: Hi\ufffd [E-X-LENGTH] [cut]", "length")),
    *(of("vllm", f"the end {odd!r}", of_vllm(HI, odd), told=CUT_OFF) for odd in ("abort", "content_filter", 1, "STOP")),
    *(of("sglang", f"the end {finish!r}", *begun("sglang"), counted("Hi", 2, finish), told=told) for finish, told in (
        ("stop", CUT_OFF), ({"type": "stop"}, CUT_OFF), (None, CUT_OFF), ({}, CUT_OFF),
        *((each, ("answer so far: Hi [E-X-LENGTH] [cut]", "length, 9 read, 9 written")) for each in ("length", {"type": "length"})))),
    *(of("llamacpp", f"stop_type {kind!r} behind {before}", *of_llama(HI), llama("", *before), llama("!", 0, stop_type=kind, **COUNTS)
        | {"stop": True}, told=(line, end if end.startswith("E-") else f"{end}, 9 read, 4 written, named tiny-2"))
        for kind, before, line, end in (
        ("eos", [], "answer so far: Hi!", "stop"), ("eos", [RETURN], "answer: Hi", "stop"), ("eos", [END], "answer so far: Hi", "stop"),
        ("word", [], "answer so far: Hi! [E-STREAM-TRUNCATED] [cut]", "E-STREAM-TRUNCATED"),
        *((each, [], "answer so far: Hi! [E-X-LENGTH] [cut]", "length") for each in ("limit", "none", None)))),
    of("vllm", "a model and its counts", {"model": "tiny-2", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}},
        {"model": "", "choices": [], "usage": None}, of_vllm(HI), *ended("vllm"),
        told=("answer: Hi", "stop, 9 read, 4 written, named tiny-2")),
    of("vllm", "counts that are no numbers", of_vllm(HI), *ended("vllm"), {"choices": [], "usage": {"prompt_tokens": True,
        "completion_tokens": "4"}}, told=("answer: Hi", "stop")),
    of("vllm", "seven events behind the end, and then more", of_vllm(WHOLE), *({"choices": [], "usage": {"prompt_tokens": number,
        "completion_tokens": 1}} for number in range(100)), told=("answer: Hi", "stop, 6 read, 1 written")),
    # where reading stops
    row("an answer behind the mark of the end", "vllm", sse(of_vllm(HI)) + DONE + sse(of_vllm("more"), *ended("vllm")), *CUT_OFF),
    *(row("white space around the mark of the end", column, sse(*begun(column), *ended(column)) + b"data:  [DONE] \n\n",
        "answer: Hi", read(column, len(ids(WHOLE)))) for column in ("vllm", "sglang")),
    of("llamacpp", "text behind the last chunk", *of_llama(HI), *ended("llamacpp"), llama("more", 0), told=("answer: Hi", "stop")),
    of("llamacpp", "a chunk that does not say that it is the last", *of_llama(HI), llama("!", 0) | {"stop": False},
        llama("!", 0) | {"stop": "true"}, *ended("llamacpp"), told=("answer: Hi!!", "stop")),
    row("an event with a name", "vllm", b"event: message\n" + sse(of_vllm(HI), *ended("vllm")) + DONE, "answer: Hi", "stop"),
    # markers of llama.cpp, which sends text: a marker is one if its id was sent
    of("llamacpp", "a marker that is quoted", *of_llama(FINAL), {"content": "<|end|>", "tokens": [64, 65]}, *ended("llamacpp"),
        told=("answer: <|end|>", "stop")),
    *(of("llamacpp", f"a marker {how}", *of_llama(f"{FINAL}x"), {"content": text, "tokens": [END]}, *ended("llamacpp"),
        told=(f"answer so far: x{text.removesuffix('<|end|>')}", "stop")) for how, text in (("behind text in its chunk", "y<|end|>"),
        ("alone", "<|end|>"), ("without text", ""))),
    of("llamacpp", "chunks without text", *of_llama(FINAL), {"content": "", "tokens": []}, {"content": None},
        {"content": 5, "tokens": [64]}, *of_llama("x"), *ended("llamacpp"), told=("answer: x", "stop")),
    *(of("llamacpp", f"an answer in one piece: {text}", llama(text, *ids(WHOLE), stop_type="eos") | {"stop": True},
        told=("answer: Hi", "stop")) for text in (WHOLE, HI)),
    *(of("llamacpp", f"{text} with the ids of {sent}", llama(text, *ids(sent), stop_type="eos") | {"stop": True}, told=("E-X-BACKEND",))
        for text, sent in (("Hi", WHOLE), (WHOLE, HI), ("<|message|>", "<|channel|><|message|>"), ("Hi<|end|>", "Hi<|end|>!"))),
]  # fmt: skip
