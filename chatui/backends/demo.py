"""The demo backend: plays scripted Harmony output, token by token.

It goes through the same reader as a real model's output. It can also call a program's function, with made-up arguments that fit its schema,
and answer with the result, or with a made-up value in the format that is asked for.

The scripts are files in ``demo_scripts``: a line of description, then parts. ``=== sample`` is model output, markers included;
``=== reply NAME`` is the reply of a made-up tool NAME; ``=== tool`` is model output after a real tool's reply; ``=== more`` is the rest of
a last sample that was cut.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from chatui.backends.base import Backend, Effort, EndReason, SampleEnded, SampleRequest, Taker, Usage
from chatui.backends.raw_frames import new_call_id
from chatui.codes import ProductCode
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frames import Channel, Frame, Header, Role, Terminator
from renderer.harmony.prompt import FunctionTool
from renderer.harmony.reader import HarmonyReader
from renderer.strict_json import object_of
from renderer.tokens import TOKEN_RUN

_SCRIPTED = {"get_current_weather": {"city", "unit"}, "keep_note": {"text"}}
"""The arguments that the demo's own scripts give the demo's tools. A program's function may have such a name, and take others."""
_NAME_WORD = re.compile(r"[A-Z]?[a-z]{3,}")
_NAMES_A_PLACE = re.compile("city|location|place|town", re.IGNORECASE)
_MAX_DEPTH = 4
_REPLY_CHARS = 500


def script(request: SampleRequest, place: str) -> str | None:
    """The demo's next output: a call, or an answer made of the replies; None if no function fits.

    ``place``: a city, if one is named. A function fits if a word of its name is in the question, or if a call is required.
    """
    functions = [tool for tool in request.tools if not _is_scripted(tool) and tool.recipient is None]
    scripted = _SCRIPTED.keys() - {tool.name for tool in functions}
    after = request.frames[_question_place(request) + 1 :]
    replies = [frame for frame in after if frame.header.role == Role.TOOL and _name(frame) not in scripted]
    if replies and not request.must_call:
        return _answer(replies)
    question = _question(request)
    fitting = [tool for tool in functions if _fits(tool.name, question)]
    chosen = fitting or (functions if request.must_call else [])
    return _call(chosen[0], place, question) if chosen else None


def _is_scripted(tool: FunctionTool) -> bool:
    return tool.name in _SCRIPTED and _SCRIPTED[tool.name] <= object_of((tool.parameters or {}).get("properties")).keys()


def _question_place(request: SampleRequest) -> int:
    return max((index for index, frame in enumerate(request.frames) if frame.header.role == Role.USER), default=0)


def _name(reply: Frame) -> str:
    return (reply.header.name or "").removeprefix("functions.")


def _fits(name: str, question: str) -> bool:
    return any(word.lower() in question.lower() for word in _NAME_WORD.findall(name) if word not in ("get", "set", "the", "and"))


def _call(tool: FunctionTool, place: str, question: str) -> str:
    made_up = _MadeUp(lambda name: place if _NAMES_A_PLACE.search(name) else question[:80], is_brief=True)
    made = json.dumps(made_up.value({"type": "object", **(tool.parameters or {})}), ensure_ascii=False)
    return (
        "<|channel|>analysis<|message|>The program offers a function for this. I call it; I should not guess.<|end|>\n"
        f"<|start|>assistant<|channel|>commentary to=functions.{tool.name} <|constrain|>json<|message|>{_escaped(made)}<|call|>"
    )


def _answer(replies: Sequence[Frame]) -> str:
    lines = "\n".join(f"`{_name(frame)}` replied: {_escaped(frame.body)[:_REPLY_CHARS]}" for frame in replies)
    return (
        "<|channel|>analysis<|message|>The function has replied. I say what it said, and where that comes from.<|end|>\n"
        f"<|start|>assistant<|channel|>final<|message|>{lines}\n\n*(This is a scripted demo: no model has read the reply.)*<|return|>"
    )


@dataclass(frozen=True, slots=True)
class _MadeUp:
    """Values that fit a schema, as far as the demo understands it: the first of each choice."""

    text: Callable[[str], str]
    """Returns a text for the property of that name."""
    is_brief: bool
    """Whether only what is required is made; otherwise every property, and one value in a list."""

    def value(self, schema: Any, name: str = "", depth: int = 0) -> Any:
        if not isinstance(schema, Mapping):
            return None
        if "const" in schema:
            return schema["const"]
        for word in ("enum", "examples"):
            if isinstance(schema.get(word), list) and schema[word]:
                return schema[word][0]
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                return self.value(schema[word][0], name, depth)
        return self._typed(schema, schema.get("type", "object" if "properties" in schema else "string"), name, depth)

    def _typed(self, schema: Mapping[str, Any], kind: object, name: str, depth: int) -> Any:
        match kind[0] if isinstance(kind, list) and kind else kind:
            case "object":
                properties = object_of(schema.get("properties"))
                required = (schema.get("required") or ()) if depth < _MAX_DEPTH else ()
                names = [each for each in required if each in properties] if self.is_brief else properties
                return {each: self.value(properties[each], each, depth + 1) for each in names}
            case "array":
                fewest = int(schema.get("minItems", 0)) if depth < _MAX_DEPTH else 0
                return [self.value(schema.get("items", {}), name, depth + 1) for _ in range(fewest if self.is_brief else 1)]
            case "integer" | "number":
                return schema.get("minimum", 1)
            case "boolean":
                return True
            case "null":
                return None
        return self.text(name)


def _escaped(text: str) -> str:
    """Without anything that would be parsed as part of a script."""
    return text.replace("<|", "< |")


MODEL = "demo"
_FINAL_MARKERS = "<|channel|>final<|message|>"
_SCRIPTS = Path(__file__).parent / "demo_scripts"
_KEYWORDS = {
    # The examples on the welcome page (chatui/pages/examples.md) come first: they contain more than one keyword.
    "day_out": re.compile(r"\bday out\b", re.IGNORECASE),
    "recursion": re.compile(r"\brecursi", re.IGNORECASE),
    "reminder": re.compile(r"\b(?:reminder|invoice)", re.IGNORECASE),
    "plan": re.compile(r"\b(?:plan|tool)", re.IGNORECASE),
    "compare": re.compile(r"\b(?:compar|versus\b|vs\b)", re.IGNORECASE),
    "note": re.compile(r"\bnote\b", re.IGNORECASE),
    "weather": re.compile(r"\bweather\b", re.IGNORECASE),
    "refuse": re.compile(r"\brefus", re.IGNORECASE),
    "cut": re.compile(r"\b(?:cut|truncate)", re.IGNORECASE),
    "explain": re.compile(r"\b(?:explain|long|markdown)\b", re.IGNORECASE),
}
GREETING = "greeting"
_WORD_ROW = re.compile(r"^\| `(\w+)` \|.*\n", re.MULTILINE)
"""A row of the greeting's table: a word that starts another script. It is left out where that script needs a tool that is not offered."""
WITHOUT_TOOLS = "without_tools"
"""The script for a question whose own one needs a tool that is not offered."""
# How many paragraphs of each piece of reasoning are played.
_PARAGRAPHS: dict[Effort, int] = {"low": 1, "medium": 2, "high": 100}


class DemoBackend(Backend):
    """A Backend that needs no network, no vocabulary and no model. Its answers say that they are scripted."""

    name = "Demo"
    kind = "demo"
    is_demo = True

    def __init__(self, tokens_per_second: float = 50.0) -> None:
        """``tokens_per_second`` 0: as fast as possible."""
        self._tokens_per_second = tokens_per_second

    async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
        request.on_sent("(nowhere: the demo is a script)", _sent_body(request))
        request.on_taken(True)
        player, now = _Player(request.max_tokens), asyncio.get_running_loop().time
        begun = now()
        for events in player.play(request):
            # Measured from the beginning, so that the pace does not drift.
            pause = begun + player.played / self._tokens_per_second - now() if self._tokens_per_second else 0.0
            await asyncio.sleep(max(0.0, pause))
            for event in events:
                take(event)
        prompt_tokens = sum(len(_WORD.findall(frame.body)) for frame in request.frames)
        return SampleEnded(player.reason, Usage(prompt_tokens, player.played), MODEL)

    async def models(self) -> tuple[str, ...]:
        return (MODEL,)


def choose(question: str) -> str:
    """The name of the script for this question: chosen by the first keyword found, else ``greeting``. Its tools may not be offered."""
    return next((name for name, keyword in _KEYWORDS.items() if keyword.search(question)), GREETING)


def _question(request: SampleRequest) -> str:
    return next((frame.body for frame in reversed(request.frames) if frame.header.role == Role.USER), "")


def _sent_body(request: SampleRequest) -> bytes:
    """The request that a model would have received, so that the debug view of the demo has something to show."""
    messages = [frame.header.as_written() | {"content": frame.body} for frame in request.frames]
    return json.dumps({"model": MODEL, "reasoning_effort": request.effort, "messages": messages}, ensure_ascii=False).encode()


class _Part(NamedTuple):
    """``kind``: ``sample``, ``tool``, ``more``, or ``reply`` and the name of the ``tool`` that replies ``text``."""

    kind: str
    tool: str | None
    text: str


_PART = re.compile(r"^=== (sample|tool|more|reply (\S+))\n", re.MULTILINE)
_CALLED = re.compile(r"to=functions\.(\w+)")
_CITY = re.compile(r"\bin ([A-Z][\w'-]*(?: [A-Z][\w'-]*){0,3})")


@cache
def _load(name: str) -> tuple[_Part, ...]:
    _, *cut = _PART.split((_SCRIPTS / f"{name}.harmony").read_text(encoding="utf-8"))
    return tuple(_Part(kind, tool, text.strip()) for kind, tool, text in zip(cut[::3], cut[1::3], cut[2::3], strict=True))


def _parts(request: SampleRequest) -> tuple[_Part, ...]:
    question = _question(request)
    found = _CITY.search(question)
    city = found[1] if found else "Tokyo"
    if made := script(request, city):
        return (_Part("sample", None, made),)
    if request.answer_format:
        value = _MadeUp(lambda _: "This is the demo: no model wrote it.", is_brief=False).value(request.answer_format.checked_schema)
        return (_Part("sample", None, f"{_FINAL_MARKERS}{json.dumps(value, indent=2, ensure_ascii=False)}{Terminator.RETURN}"),)
    name, offered = _chosen(request), {tool.name for tool in request.tools}

    def row(found: re.Match[str]) -> str:
        return found[0] if _is_offered(_load(choose(found[1])), offered) else ""

    parts = tuple(part._replace(text=part.text.replace("CITY", city)) for part in _load(name))
    # Where an answer is continued no tools are offered: it goes on as it began.
    is_begun = request.cut_answer is not None and _final_text(parts).startswith(request.cut_answer.body)
    return parts if name != GREETING or is_begun else tuple(part._replace(text=_WORD_ROW.sub(row, part.text)) for part in parts)


def _chosen(request: SampleRequest) -> str:
    """The name of the script: never one with a tool that is not offered, as to most programs."""
    name = choose(_question(request))
    if request.cut_answer:
        return next((each for each in (name, WITHOUT_TOOLS) if _final_text(_load(each)).startswith(request.cut_answer.body)), name)
    has_reply = any(frame.header.role == Role.TOOL for frame in request.frames[_question_place(request) :])
    return name if has_reply or _is_offered(_load(name), {tool.name for tool in request.tools}) else WITHOUT_TOOLS


def _is_offered(parts: tuple[_Part, ...], offered: set[str]) -> bool:
    """Whether the tools of a script are. Those to which the demo itself replies count with its other tools."""
    called = {name for part in parts for name in _CALLED.findall(part.text)}
    made_up = {(part.tool or "").removeprefix("functions.") for part in parts if part.tool}
    return called - made_up <= offered and (not made_up or bool(offered & _SCRIPTED.keys()))


def _after_replies(parts: tuple[_Part, ...], replies: int) -> tuple[_Part, ...]:
    """The parts for the next sampling: up to the first call of a real tool, or what follows that many replies."""
    calls = [index for index, part in enumerate(parts) if part.kind == "tool"]
    begins = [0, *calls, len(parts)]
    number = min(replies, len(calls))
    return parts[begins[number] : begins[number + 1]]


def _final_text(parts: tuple[_Part, ...]) -> str:
    """The whole answer, including the part after the cut."""
    *_, final = next(part.text for part in reversed(parts) if part.kind in ("sample", "tool")).rpartition(_FINAL_MARKERS)
    text = "".join(word for _, word in _tokens(final))
    return " ".join([text, *(part.text for part in parts if part.kind == "more")])


class _Player:
    """Plays one sample: the events of one token after the other. ``played``: how many tokens that were so far."""

    def __init__(self, max_tokens: int | None) -> None:
        self._max_tokens = max_tokens
        self._call_id = ""
        self.played = 0
        self.reason = EndReason.STOP

    def play(self, request: SampleRequest) -> Iterator[Sequence[RawEvent]]:
        parts = _parts(request)
        if request.cut_answer:
            yield from self._continue(_final_text(parts), request.cut_answer)
            return
        kept = _PARAGRAPHS[request.effort]
        replies = sum(frame.header.role == Role.TOOL for frame in request.frames[_question_place(request) :])
        for part in _after_replies(parts, replies):
            if part.kind == "more" or self.reason is not EndReason.STOP:
                continue
            if part.tool:
                header = Header(Role.TOOL, Channel.COMMENTARY, recipient="assistant", call_id=self._call_id, name=part.tool)
                for event in (FrameOpened(header), FrameText(part.text), FrameClosed(Terminator.END)):
                    self.played += 1
                    yield [event]
            else:
                yield from self._write(_ANALYSIS.sub(lambda found: "\n\n".join(found[0].split("\n\n")[:kept]), part.text))

    def _write(self, text: str) -> Iterator[Sequence[RawEvent]]:
        """Passes model text through the reader of real output."""
        reader = HarmonyReader(self._new_call_id)
        for marker, word in _tokens(text):
            if self.played == self._max_tokens:
                break
            self.played += 1
            yield reader.feed_marker(marker) if marker else reader.feed_text(word)
        if rest := reader.finish(ProductCode.LENGTH):
            self.reason = EndReason.LENGTH
            yield rest

    def _continue(self, text: str, cut: Frame) -> Iterator[Sequence[RawEvent]]:
        """Writes the rest of ``text`` after the part that was already written."""
        yield [FrameOpened(cut.header)]
        for word in _WORD.findall(text[len(cut.body) :] if text.startswith(cut.body) else ""):
            if self.played == self._max_tokens:
                self.reason = EndReason.LENGTH
                yield [FrameClosed(None, ProductCode.LENGTH)]
                return
            self.played += 1
            yield [FrameText(word)]
        yield [FrameClosed(Terminator.RETURN)]

    def _new_call_id(self) -> str:
        self._call_id = new_call_id()
        return self._call_id


_ANALYSIS = re.compile(r"(?<=<\|channel\|>analysis<\|message\|>).*?(?=<\|end\|>)", re.DOTALL)


_WORD = re.compile(r"\s*(?:\w{1,8}|[^\w\s])|\s+")


def _tokens(script: str) -> Iterator[tuple[str, str]]:
    """Pairs of which one is empty: a control marker, or text about as long as a token. ``<<|end|>`` in a script is text."""
    position = 0
    for found in TOKEN_RUN.finditer(script):
        quoted = found[1][1:] + found[2] if found[1] else ""
        yield from (("", word) for word in _WORD.findall(script[position : found.start()] + quoted))
        if not quoted:
            yield found[2], ""
        position = found.end()
    yield from (("", word) for word in _WORD.findall(script[position:]))
