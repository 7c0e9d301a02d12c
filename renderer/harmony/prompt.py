"""Builds the Harmony prompt for model servers that take token ids, and Harmony training examples.

A JSON Schema becomes the TypeScript-like type that gpt-oss expects for its tools. The result equals that of openai-harmony, character for
character, for schemas of the keywords ``type``, ``description``, ``properties``, ``required``, ``items``, ``enum`` and ``default``. What
openai-harmony leaves out (``anyOf``, ``$ref``, limits, enums of anything but strings) is left out here too: the model has never seen it.
What else it reads (``oneOf``, ``nullable``, ``title``, ``examples``) no tool's schema has, once it was reduced to what can be checked. An
object or a list that may also be null keeps its parts, which openai-harmony drops.

The system message has identity, dates, reasoning effort, channels and built-in tools; the developer message has instructions, functions and
response formats. Specification: Harmony's format guide. gpt-oss was trained on this exact wording; do not improve it.

A prompt is the system message, the developer message, the history and the point at which the model continues. Bodies are encoded as
ordinary text, so that nothing a person or a tool writes can become a control token. The ids are those of openai-harmony for the same
conversation, except where it is wrong: it drops old analysis before the first answer only (``renderer.history``: before the last), and it
ends a message to ``user`` as a call.

A training example is a conversation up to one answer, whose last message ends in ``<|return|>``. In a prompt every message ends in
``<|end|>``; a training example must teach the model to stop after its answer (Harmony's format guide). Reasoning of earlier turns is left
out, as in the prompts that the model will see; that of the last turn stays, if there is any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from renderer.errors import ParseHeaderError
from renderer.frame_kinds import PRODUCT_NAMES, is_answer
from renderer.frames import HEADER_VALUE, Frame, Header, Intent, Role, Terminator
from renderer.harmony.hip1 import as_written, pieces_of_frame
from renderer.harmony.pieces import Marker, Piece, escaped, ids_of_pieces, text_of_pieces
from renderer.harmony.vocabulary import Vocabulary
from renderer.history import frames_for_prompt, trim, turns
from renderer.tokens import Token

Json = Any
"""A decoded JSON value from a schema, as the author of a tool wrote it."""

_DEPTH_LIMIT = 100
_SIMPLE = {"number": "number", "integer": "number", "boolean": "boolean"}
_INTEGER_RANGE = range(-(2**63), 2**64)
"""Numbers in this range stay integers; others become floating point."""
_TOO_LARGE = 2**1024 - 2**970
"""From here on, an integer is rounded to infinity."""


def type_of(schema: Json, indent: str = "", depth: int = 0) -> str:
    """The type for ``schema``. ``indent`` is put before each line but the first. Anything unknown is ``any``."""
    if depth > _DEPTH_LIMIT:
        return "any"
    match _get(schema, "type"):
        case ["object" | "array" as name, "null"]:
            return f"{type_of({**schema, 'type': name}, indent, depth)} | null"
        case list(names) if named := ["number" if name == "integer" else name for name in names if isinstance(name, str)]:
            return " | ".join(named)
        case "object":
            return _object(schema, indent, depth)
        case "string":
            return " | ".join(f'"{value}"' for value in _list(schema, "enum") if isinstance(value, str)) or "string"
        case "number" | "integer" | "boolean" as name:
            return _SIMPLE[name]
        case "array":
            return f"{type_of(schema['items'], indent, depth + 1)}[]" if "items" in schema else "Array<any>"
    return "any"


def literal(value: Json) -> str:
    """A JSON value as openai-harmony prints it: compact, only control characters escaped, numbers in their shortest form."""
    match value:
        case int() if value not in _INTEGER_RANGE:
            return _float(float(value)) if abs(value) < _TOO_LARGE else "null"
        case bool() | None | int() | str():
            return json.dumps(value, ensure_ascii=False)
        case float():
            return _float(value)
        case Mapping():
            return "{" + ",".join(f"{literal(str(key))}:{literal(item)}" for key, item in value.items()) + "}"
        case Sequence():
            return "[" + ",".join(map(literal, value)) + "]"
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def _object(schema: Mapping[str, Json], indent: str, depth: int) -> str:
    required = {name for name in _list(schema, "required") if isinstance(name, str)}
    lines = [f"{_comment(schema, indent)}{{\n"]
    properties = _get(schema, "properties")
    for name, value in properties.items() if isinstance(properties, Mapping) else ():
        mark, written = "" if name in required else "?", type_of(value, f"{indent}    ", depth + 1)
        lines.append(f"{_comment(value, indent)}{indent}{name}{mark}: {written},{_default(value)}\n")
    return "".join([*lines, f"{indent}}}"])


def _comment(schema: Json, indent: str) -> str:
    text = _get(schema, "description")
    return f"{indent}// {text}\n" if isinstance(text, str) else ""


def _default(schema: Json) -> str:
    if not isinstance(schema, Mapping) or "default" not in schema:
        return ""
    default = schema["default"]
    if not isinstance(default, str):
        return f" // default: {literal(default)}"
    return f" // default: {default}" if _list(schema, "enum") else f' // default: "{default}"'


def _get(schema: Json, key: str) -> Json:
    return schema.get(key) if isinstance(schema, Mapping) else None


def _list(schema: Json, key: str) -> list[Json]:
    value = _get(schema, key)
    return list(value) if isinstance(value, list | tuple) else []


def _float(value: float) -> str:
    """The shortest form: like Python's, but exponents have no plus and no zeros, and 0.00001 has none."""
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    mantissa, exponent, power = repr(value).partition("e")
    if not exponent:
        return mantissa
    if int(power) == -5:
        sign, digits = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
        return f"{sign}0.0000{digits.replace('.', '')}"
    return f"{mantissa}e{int(power)}"


TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The name of a tool must match this, as it becomes part of a header when the tool is called."""

FUNCTIONS = "functions"


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function that the model may call."""

    name: str
    description: str = ""
    parameters: Mapping[str, Json] | None = None
    """A JSON Schema; None if it takes none."""
    recipient: str | None = None
    """Set for a tool that gpt-oss was trained with, such as ``browser.search``: a Harmony prompt then describes it in the system message,
    in the trained wording, followed by the ``note``. Elsewhere it is an ordinary function."""
    note: str = ""

    def __post_init__(self) -> None:
        """Raises ParseHeaderError if the name is not allowed in a header."""
        if not TOOL_NAME.fullmatch(self.name):
            raise ParseHeaderError("a tool name may contain letters, digits, dots, hyphens and underscores, at most 64")


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """A format for answers: a name and a JSON Schema. The model is asked to follow it, not forced to."""

    name: str
    schema: Mapping[str, Json]
    description: str = ""


_IDENTITY = "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06"
_CHANNELS = "# Valid channels: analysis, commentary, final. Channel must be included for every message."
_CALLS = f"\nCalls to these tools must go to the commentary channel: '{FUNCTIONS}'."


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """The content of the system message."""

    date: str | None = None
    """Today, as YYYY-MM-DD; it may be left out."""
    effort: str | None = "medium"
    """The effort of reasoning; it may be left out."""
    browser: Collection[str] = ()
    """The functions of the browser that are offered."""
    python: bool = False
    """Whether the tool python is offered."""
    python_note: str = ""
    """Text about it that follows the trained words."""

    def text(self, *, has_functions: bool) -> str:
        """The text of the message. ``has_functions``: the developer message defines tools, which are called on commentary."""
        builtins = [_builtin(name) for name, wanted in (("browser", self.browser), ("python", self.python)) if wanted]
        sections = [
            _IDENTITY + (f"\nCurrent date: {self.date}" if self.date else ""),
            f"Reasoning: {self.effort}" if self.effort else "",
            tools_text(map(self._offered, builtins)) if builtins else "",
            _CHANNELS + (_CALLS if has_functions else ""),
        ]
        return "\n\n".join(filter(None, sections))

    def _offered(self, whole: Namespace) -> Namespace:
        if whole.name == "python" and self.python_note:
            return replace(whole, description=f"{whole.description}\n\n{self.python_note}")
        return replace(whole, tools=tuple(tool for tool in whole.tools if tool.name in self.browser))


@dataclass(frozen=True, slots=True)
class DeveloperMessage:
    """The content of the developer message: instructions (elsewhere called the system prompt), tools, response formats."""

    instructions: str | None = None
    functions: Sequence[FunctionTool] = ()
    response_formats: Sequence[ResponseFormat] = ()

    def text(self) -> str:
        """The text of the message."""
        sections = [] if self.instructions is None else ["# Instructions", self.instructions]
        if self.functions:
            sections.append(tools_text([Namespace(FUNCTIONS, None, tuple(self.functions))]))
        if self.response_formats:
            sections += ["# Response Formats", *map(_format_text, self.response_formats)]
        return "\n\n".join(sections)


@dataclass(frozen=True, slots=True)
class Namespace:
    """Tools with a common prefix. A namespace without tools, such as ``python``, is itself the tool."""

    name: str
    description: str | None
    tools: tuple[FunctionTool, ...] = ()


def tools_text(namespaces: Iterable[Namespace]) -> str:
    """The section ``# Tools``."""
    return "\n\n".join(["# Tools", *map(_namespace_text, namespaces)])


def _namespace_text(namespace: Namespace) -> str:
    comment = "// " if namespace.tools else ""
    lines = [f"## {namespace.name}\n", *(comment + line for line in _lines(namespace.description or ""))]
    if namespace.tools:
        lines.append(f"namespace {namespace.name} {{\n")
        for tool in namespace.tools:
            lines += [f"// {line}" for line in _lines(tool.description)]
            parameters = "" if tool.parameters is None else f"_: {type_of(tool.parameters)}"
            lines.append(f"type {tool.name} = ({parameters}) => any;\n")
        lines.append(f"}} // namespace {namespace.name}")
    return "\n".join(lines)


def _format_text(wanted: ResponseFormat) -> str:
    described = [f"// {line}" for line in _lines(wanted.description)]
    return f"## {wanted.name}\n\n" + "\n".join([*described, literal(wanted.schema)])


def _lines(text: str) -> list[str]:
    """Split into lines like openai-harmony: at LF or CR LF, and nowhere else."""
    *ended, last = text.split("\n")
    return [line.removesuffix("\r") for line in ended] + ([last] if last else [])


@cache
def _builtin(name: str) -> Namespace:
    """The built-in tools that the model was trained with, as openai-harmony describes them. This needs no vocabulary."""
    from openai_harmony import ToolNamespaceConfig  # slow to import, and most prompts have no built-in tool

    read = ToolNamespaceConfig.browser() if name == "browser" else ToolNamespaceConfig.python()
    tools = tuple(FunctionTool(tool.name, tool.description, tool.parameters) for tool in read.tools)
    return Namespace(read.name, read.description, tools)


@dataclass(frozen=True, slots=True)
class Prompt:
    """The content of a prompt."""

    frames: Sequence[Frame]
    """The branch as it is stored; frames that are not sent again are omitted here."""
    system: SystemMessage | None = None
    developer: DeveloperMessage | None = None
    cut_answer: Frame | None = None
    """An assistant frame after them that stays open: the model continues at the end of its body."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The token ids of a prompt, and how many of the oldest questions were left out, each with its answer. ``is_minimal``: no more can be
    left out.
    """

    ids: list[int]
    turns_left_out: int = 0
    is_minimal: bool = False


def build(prompt: Prompt, vocabulary: Vocabulary) -> list[int]:
    """The token ids of a whole prompt.

    Raises:
        ParseHeaderError: a header value of a frame is not allowed in a prompt.
    """
    return build_within(prompt, vocabulary, None).ids


def build_within(prompt: Prompt, vocabulary: Vocabulary, limit: int | None, *, min_turns: int = 1) -> Fitted:
    """As ``build``, but trimmed (``renderer.history``) to at most ``limit`` ids, or to the last ``min_turns`` turns.

    Raises as ``build``.
    """
    written: dict[Frame, list[int]] = {}

    def ids(frame: Frame) -> list[int]:
        if frame not in written:
            written[frame] = _ids(frame, vocabulary)
        return written[frame]

    before, after = turns(frames_for_prompt(prompt.frames))
    opening = [id_ for frame in (*_instructions(prompt), *before) for id_ in _ids(frame, vocabulary)]
    ending = _ending(prompt.cut_answer, vocabulary)
    max_length = None if limit is None else limit - len(opening) - len(ending)
    found = trim(after, lambda frame: len(ids(frame)), max_length, min_turns=min_turns)
    conversation = [id_ for frame in found.frames for id_ in ids(frame)]
    return Fitted([*opening, *conversation, *ending], found.turns_left_out, found.is_minimal)


def _ending(cut_answer: Frame | None, vocabulary: Vocabulary) -> list[int]:
    """The end of the prompt, where the model continues: a new message, or the cut answer without its terminator."""
    if cut_answer is not None:
        return _ids(cut_answer, vocabulary)[:-1]
    return ids_of_pieces([Marker(Token.START), Role.ASSISTANT.value], vocabulary)


def _instructions(prompt: Prompt) -> list[Frame]:
    frames = []
    developer = prompt.developer
    if prompt.system is not None:
        text = prompt.system.text(has_functions=bool(developer and developer.functions))
        frames.append(Frame(Header(Role.SYSTEM), text))
    if developer is not None and (text := developer.text()):
        frames.append(Frame(Header(Role.DEVELOPER), text))
    return frames


def _ids(frame: Frame, vocabulary: Vocabulary) -> list[int]:
    header = frame.header
    written = (header.role, header.channel, header.recipient, header.name, header.content_type, header.constrain)
    if not all(value is None or HEADER_VALUE.fullmatch(value) for value in written):
        raise ParseHeaderError("a header value contains a character that is not allowed in a prompt")
    return ids_of_pieces(pieces_of_frame(frame), vocabulary)


_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)


class NoExampleError(ValueError):
    """The frames do not end in an answer, so there is nothing to learn from them."""


def example(frames: Sequence[Frame], system: SystemMessage) -> str:
    """A training example as Harmony text. ``frames``: a branch from its beginning to a complete answer, restricted to what the reader of
    the example may see. System and developer frames among them become the developer message.

    Raises:
        NoExampleError: the last frame is not an answer.
        ParseHeaderError: a header value that Harmony needs is not allowed in a header.
    """
    if not frames or not is_answer(frames[-1].header):
        raise NoExampleError
    instructions = [frame.body for frame in frames if frame.header.role in _INSTRUCTIONS]
    opening = [Frame(Header(Role.SYSTEM), system.text(has_functions=False))]
    if instructions:
        opening.append(Frame(Header(Role.DEVELOPER), DeveloperMessage("\n\n".join(instructions)).text()))
    conversation = [frame for frame in frames if frame.header.role not in _INSTRUCTIONS]
    pieces = [piece for frame in (*opening, *_example_frames(conversation)) for piece in _pieces(frame)]
    return text_of_pieces([*pieces[:-1], Marker(Token.RETURN)])


def _example_frames(frames: Sequence[Frame]) -> list[Frame]:
    """The frames of the example: the history as in a prompt, and the whole last turn."""
    question = max((index for index, frame in enumerate(frames) if frame.header.role == Role.USER), default=-1)
    turn = [frame for frame in frames[question + 1 :] if frame.header.intent not in (Intent.DEBUG, Intent.STATUS)]
    return [*_history(frames[: question + 1]), *(frame for frame in turn if frame.header.name not in PRODUCT_NAMES)]


def _history(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The frames up to a question, as a prompt contains them. A final answer is appended while they are selected, so that the reasoning of
    all earlier turns is omitted, even of a turn that ended without an answer.
    """
    return frames_for_prompt([*frames, Frame(Header(Role.ASSISTANT, "final"), "", Terminator.END)])[:-1]


def _pieces(frame: Frame) -> list[Piece]:
    return pieces_of_frame(replace(as_written(frame), body=escaped(frame.body)))
