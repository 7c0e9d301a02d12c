"""Recognizes reasoning that plain words announce (``Here is my thought process:``), and answers that are a server's own data.

Honest answers contain such words too, so an answer that begins with them is judged as a whole, at its end: if a second label announces the
answer, the part before that label is reasoning. For a cut answer this cannot be known.

A server or a proxy that does not know a model's parts turns the whole list into text: message parts or a call, written out as JSON or
Python. It is judged once complete; everything but the answer's text is hidden.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import regex

from chatui.backends.leaks.patterns import BEGINNING, ZERO, bare, folded
from renderer.harmony.prompt import FunctionTool

_ANNOUNCED = (
    r"(?:here(?:['’]s| is| are)|this is) my"
    r" (?:(?:thought|thinking|reasoning) process|reasoning(?: steps)?|thinking|thoughts|analysis|chain of thought)"
)
"""A whole sentence, as Granite and Apriel write it. The answer is announced in the same way."""
_COMMON = "analysis|reasoning|commentary"
"""Headings in honest answers as well: only a label with the name of the answer's channel ends them."""
_PRIVATE = (
    "(?:(?:my|raw|inner|internal|private) )?(?:thinking|thoughts?|reasoning|monologue)(?: (?:process|steps|trace))?"
    "|think|chain of thought|scratchpad|analysis channel|assistant analysis|(?:思考|推理|思维|思維)(?:过程|過程|链|鏈|步骤)?"
)
"""Words that are hardly used as any other heading, such as ``Thinking:``."""
_MARKUP = r"[>#*_\[(~\s]{0,12}(?:[\U0001f300-\U0001faff\u2600-\u27bf]\s*)?[*_]{0,3}"
_END = r"[ \t\r]{0,40}[*_\])]{0,4}[ \t\r]{0,40}(?P<mark>[:：]|\.\.\.|…|[-–—][ \t]|\n|(?<=[*_\])])(?=[ \t\r\n]))[*_\])]{0,3}"
_WORDS = f"(?:(?P<announced>{_ANNOUNCED})|(?P<common>{_COMMON})|(?P<private>{_PRIVATE}))".replace(" ", "[ -]")
_LABEL = re.compile(rf"\s*(?P<markup>{_MARKUP})(?P<words>{_WORDS}){_END}", re.IGNORECASE)
_BLOCK_BEGINS = (
    r"\s*(?P<run>(?P<sign>[`~:])(?P=sign){2,11})[ \t]*"
    r"(?:think|thinking|thoughts?|reasoning|analysis|scratchpad|thought_process|chain_of_thought)[` \t\r]*$\n?"
)
_BLOCK = re.compile(_BLOCK_BEGINS, re.IGNORECASE | re.MULTILINE)
_WHOLE_BLOCK = re.compile(rf"{_BLOCK_BEGINS}(?:[\s\S]*?^\s{{0,3}}(?P=run)(?P=sign)*[ \t\r]*$\n?|[\s\S]*)", re.IGNORECASE | re.MULTILINE)
"""A fenced block with such a word as its language; without its end, all of the text."""
_QUOTATION = re.compile(r"\s*(?:[^>\s][^\n]*\n\s*)?(?:[ \t]*>[^\n]*(?:\n|\Z))+")
"""A label above, or in, a quotation: the answer follows the quotation."""
_HEAD = r"^[>#*_\[(\s-]{0,8}"
_TAIL = r"[ \t]*[*_\])]{0,4}[ \t]*(?:[:：]|[-–—][ \t]|(?<=[*_\])])(?=[ \t\r\n])|(?=\r?\n))[*_\])]{0,3}"
_HERE = r"here(?:'s|’s| is) my (?:final )?(?:response|answer|reply)[ \t]*[*_]{0,2}:[*_]{0,3}"
_ANSWERS = {
    "announced": _HERE,
    "common": rf"{_HEAD}(?:final(?: channel| message| response| output)?|response|assistant(?: final)?){_TAIL}",
    "private": rf"{_HEAD}(?:(?:my )?(?:final )?(?:answer|response|reply|output)|final(?: channel| message)?|assistant(?: final)?){_TAIL}"
    rf"|^[ \t]*\.\.\.[ \t]*done thinking\.?[ \t\r]*$|{_HERE}|{_HEAD}(?:最终|最終)?(?:回答|答案|回复|答复|输出){_TAIL}",
}
"""The label of the answer, by the kind of the first one."""


def label_of(beginning: str) -> str:
    """The kind of the label at ``beginning``, an answer's folded beginning without invisible characters; empty if there is none."""
    if _BLOCK.match(beginning):
        return "block"
    label = _LABEL.match(beginning)
    if label is None:
        return ""
    is_bare = label["mark"] == "\n" and not label["markup"].strip()
    is_alone = is_bare and label["words"].isascii() and label["words"].islower()
    if label["common"] and ("#" in label["markup"] or (is_bare and not is_alone)):
        # A heading over a part of the answer; channel names are not written like this.
        return ""
    if label["private"] and is_alone:
        return "alone"
    return next(kind for kind in _ANSWERS if label[kind])


def answer_after(text: str) -> int | None:
    """Where the answer begins in a complete text that begins with a label of reasoning, its end if all of it is reasoning; None if it
    begins with none, or if that may be the heading of an honest answer.
    """
    seen = folded(text)
    plain = bare(seen)
    kind = label_of(plain)
    if not kind:
        return None
    end = _end_of_reasoning(plain, kind)
    return None if end is None else next(islice((at for at, character in enumerate(seen) if character != ZERO), end, None), len(text))


def _end_of_reasoning(plain: str, kind: str) -> int | None:
    if kind == "block":
        block = _WHOLE_BLOCK.match(plain)
        return block.end() if block else None
    label = _LABEL.match(plain)
    # The reasoning may have quoted the label: the last one counts.
    answers = re.compile(_ANSWERS.get(kind, _ANSWERS["private"]), re.IGNORECASE | re.MULTILINE)
    ends = [found.end() for found in answers.finditer(plain, label.end() if label else 0)]
    if not ends and kind in ("private", "alone") and (quotation := _QUOTATION.match(plain)):
        ends = [quotation.end()]
    # No honest answer begins with such a word alone in a line.
    return ends[-1] if ends else len(plain) if kind == "alone" else None


_KEY = (
    "reasoning(?:_(?:content|details|text))?|thinking|thoughts?|thought_process|analysis|rationale|chain_of_thought|scratchpad"
    "|(?:inner|internal)_monologue|tool_calls|function_call"
).replace("_", "[_ -]")
_ANSWER_FIELDS = ("final", "final_answer", "answer", "response", "output", "content")
_HIDDEN = {
    "type": "reasoning(?:_text|_content)?|(?:redacted_)?thinking|thought|summary_text|function_call|tool_(?:call|use|result)",
    "channel": "analysis|commentary",
    "phase": "analysis|commentary",
    "role": "tool|function",
}
"""Labels, and the values that mean that a part is not the answer's text."""
_NUMBERED = frozenset(("id", "call_id", "index"))
_CALLS = (frozenset(("name", "arguments")), frozenset(("name", "parameters")))
"""The keys of a call. Servers also number calls with arguments, say that they are of the type ``function``, and put them into a key of
that name. A tool's definition has parameters there, and a description, and may be an honest answer."""
_BEGINS = re.compile(r"\s*(?:\[\s*)?\{\s*[\"']")
_SIGN = re.compile(
    "|".join(
        (
            rf"[\"'](?:{_KEY})[\"']\s*:",
            *(rf"[\"']{name}[\"']\s*:\s*[\"'](?:{values})[\"']" for name, values in _HIDDEN.items()),
            r"[\"']name[\"']\s*:\s*[\"'][^\"']*[\"']\s*,\s*[\"'](?:arguments|parameters)[\"']",
        )
    ),
    re.IGNORECASE,
)
_MAY_BE_CALL = re.compile(r"[\"'](?:arguments|parameters)[\"']\s*:")
_CUT_CALL = re.compile(r"\s*(?:\[\s*)?\{\s*[\"']arguments[\"']\s*:")
"""Keys that show nothing by themselves, unless an answer that begins with arguments cannot be parsed: as if it is cut."""
CALL_KEYS = frozenset(("name", "arguments", "parameters", "function", *_NUMBERED, "type"))
"""What the first key of a call may be."""
_MAX_CHARS = 1 << 20
_MAX_MARKS = 16_000
"""The most marks in data that is read as Python, which takes twenty times as long as JSON: up to 40 ms, in which nothing else runs."""
_MARKS = ",:[{(+-\"'"
_MAX_LINES_CHARS = 1 << 18
_BETWEEN = re.compile(r"[\s,;]*")
_DECODER = json.JSONDecoder()


def begins(beginning: str) -> bool:
    """Whether an answer begins as data."""
    return bool(_BEGINS.match(beginning))


def visible_of(text: str) -> str | None:
    """The visible part of complete data; None if it is ordinary text, so that all of it is visible."""
    is_signed = bool(_SIGN.search(text) or _CUT_CALL.match(text))
    if not is_signed and not _MAY_BE_CALL.search(text):
        return None
    value = _read(text)
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        return _of_parts(value)
    if isinstance(value, dict):
        return _of_object(value)
    # It is something else, cannot be parsed, or is several values.
    return "" if is_signed or any(map(_has_call, _lines(text) if value is None else (value,))) else None


@dataclass(frozen=True, slots=True)
class Asked:
    """What the request asked for."""

    is_json: bool = False
    """JSON, which may have any key."""
    tools: tuple[FunctionTool, ...] = ()
    """Those that it offered; without them, arguments alone are text."""
    thoughts: tuple[str, ...] = field(default=(), repr=False)
    """The reasoning of earlier rounds that it holds, which the model may repeat."""


ANY_TEXT = Asked()


def calls_begin(asked: Asked) -> regex.Pattern[str] | None:
    """How a call begins that is written as text: as JSON with a call's keys at the beginning of the text; and, at any beginning, with the
    name of an offered tool, which may also head a result that the model made up, or with its arguments.
    """
    if asked.is_json:
        return None
    names = sorted(re.escape(tool.name) for tool in asked.tools)
    keys = sorted({re.escape(key) for tool in asked.tools for key in keys_of(tool)})
    dotted = [*(rf"functions\.{name}" for name in names), *(name for name in names if "." in name)]
    forms = [rf"(?<=\A\s{{0,16}})(?:\[\s{{0,20}})?\{{\s{{0,20}}[\"'](?:{'|'.join(sorted(CALL_KEYS))})[\"']"]
    forms += [rf"{BEGINNING}\[?(?P<dotted>{'|'.join(dotted)})(?:[:\[]|\s?[({{]|\s{{1,4}}to=)"] if names else []
    forms += [rf"{BEGINNING}\[?(?P<name>{'|'.join(names)})(?::\d{{1,3}})?\s?(?=[({{])"] if names else []
    forms += [rf"{BEGINNING}(?P<keys>\{{\s{{0,20}}[\"'](?:{'|'.join(keys)})[\"']\s{{0,20}}:)"] if keys else []
    return regex.compile("|".join(forms), regex.IGNORECASE)


_ARGUMENTS_ALONE = re.compile(r"[({][^\n]*[)}]\]?[ \t\r]*(?:\n|\Z)")
_MAX_CALLS = 8
"""So that text which looks like a call again and again takes linear time."""


def _writes_call(begin: regex.Match[str], asked: Asked, *, complete: bool) -> bool:
    """Whether a text that begins like one of ``calls_begin`` is a call. Cut, it may be one."""
    named = begin.groupdict()
    if named.get("dotted") or (named.get("name") and not complete):
        return True
    if named.get("name"):
        return bool(_ARGUMENTS_ALONE.match(begin.string, begin.end()))
    text = begin.string[begin.start() :]
    return _are_arguments(text, asked.tools) or _are_calls(text, complete=complete)


def calls_in(text: str, asked: Asked, *, complete: bool = True) -> Iterator[int]:
    pattern = calls_begin(asked)
    for number, begin in enumerate(pattern.finditer(text) if pattern else ()):
        if number >= _MAX_CALLS or _writes_call(begin, asked, complete=complete):
            yield begin.start()


def _are_arguments(text: str, tools: Sequence[FunctionTool]) -> bool:
    """Whether a text begins with the arguments of a tool, or is them in Python's notation."""
    value = next(_lines(text), None)
    value = _read(text) if value is None else value
    return isinstance(value, dict) and any(
        keys_of(tool).issuperset(value) and set(value).issuperset((tool.parameters or {}).get("required") or ()) for tool in tools
    )


def _are_calls(text: str, *, complete: bool) -> bool:
    """Whether a text is nothing but calls, with exactly a call's keys. Cut, it may be."""
    values = [_read(text)]
    values = list(_lines(text)) if values == [None] else values
    return all(map(_has_call, values)) if values else not complete or bool(_CUT_CALL.match(text))


def keys_of(tool: FunctionTool) -> frozenset[str]:
    properties = (tool.parameters or {}).get("properties")
    return frozenset(properties) if isinstance(properties, Mapping) else frozenset()


def _read(text: str) -> object:
    if len(text) > _MAX_CHARS:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if sum(map(text.count, _MARKS)) > _MAX_MARKS:
        return None
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _lines(text: str) -> Iterator[object]:
    """The values of several with nothing but white space, commas or semicolons between, up to the first that is not JSON."""
    at = 0
    while len(text) <= _MAX_LINES_CHARS and (between := _BETWEEN.match(text, at)):
        try:
            value, at = _DECODER.raw_decode(text, between.end())
        except (ValueError, RecursionError):
            return
        yield value


def _of_parts(parts: list[Mapping[str, Any]]) -> str | None:
    if not any(_is_hidden(part) for part in parts):
        return None
    shown = (part.get("text") for part in parts if not _is_hidden(part) and part.get("type") in ("text", "output_text"))
    return "".join(text for text in shown if isinstance(text, str))


def _of_object(value: Mapping[str, Any]) -> str | None:
    if _labelled(value) or _is_call(value):
        return ""
    if not any(_is(_KEY, name) for name in value):
        return None
    answers = (value[name] for known in _ANSWER_FIELDS for name in value if re.sub("[ -]", "_", str(name).lower()) == known)
    return next((answer for answer in answers if isinstance(answer, str)), "")


def _is_hidden(part: Mapping[str, Any]) -> bool:
    return _labelled(part) or part.get("thought") is True or _is_call(part)


def _is_call(value: Mapping[str, Any]) -> bool:
    keys = frozenset(value)
    if value.get("type") == "function":
        keys -= {"type"}
        called = value.get("function")
        if isinstance(called, dict):
            return keys - _NUMBERED == {"function"} and frozenset(called) == {"name", "arguments"}
    return keys in _CALLS or ("arguments" in keys and keys - _NUMBERED in _CALLS)


def _has_call(value: object) -> bool:
    return any(isinstance(each, dict) and _is_call(each) for each in (value if isinstance(value, list | tuple) else (value,)))


def _labelled(value: Mapping[str, Any]) -> bool:
    return any(_is(hidden, value.get(name)) for name, hidden in _HIDDEN.items())


def _is(pattern: str, value: object) -> bool:
    return bool(re.fullmatch(pattern, str(value), re.IGNORECASE))
