"""The text of the two messages that a prompt begins with: system (who, when, how hard, channels, tools) and developer (what and how).

Specification: Harmony's format guide. The words are those with which gpt-oss was trained; do not improve them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from renderer.errors import ParseHeaderError
from renderer.harmony.typescript import Json, literal, type_of

TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""What the name of a tool must match, for it becomes part of a header when the tool is called."""

FUNCTIONS = "functions"


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A tool of the operator's. ``parameters`` is a JSON Schema; None for a tool without any."""

    name: str
    description: str = ""
    parameters: Mapping[str, Json] | None = None

    def __post_init__(self) -> None:
        """Raises ParseHeaderError where the name could not stand in a header."""
        if not TOOL_NAME.fullmatch(self.name):
            raise ParseHeaderError("a tool's name may hold letters, digits, dots, hyphens and underscores, 64 at most")


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """A form that answers are to take: a name and a JSON Schema. It moves the model; it forces nothing."""

    name: str
    schema: Mapping[str, Json]
    description: str = ""


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """What the system message says. ``date`` is today's, as YYYY-MM-DD; None for a part leaves that part out."""

    date: str | None = None
    effort: str | None = "medium"
    identity: str | None = "You are ChatGPT, a large language model trained by OpenAI."
    knowledge_cutoff: str | None = "2024-06"
    channels: Sequence[str] = ("analysis", "commentary", "final")
    channel_required: bool = True
    browser: bool = False
    python: bool = False

    def text(self, *, has_functions: bool) -> str:
        """The message. ``has_functions``: the developer message defines tools, which are called on commentary."""
        about = [
            self.identity,
            self.knowledge_cutoff and f"Knowledge cutoff: {self.knowledge_cutoff}",
            self.date and f"Current date: {self.date}",
        ]
        builtins = [name for name, wanted in (("browser", self.browser), ("python", self.python)) if wanted]
        sections = [
            "\n".join(line for line in about if line is not None),
            f"Reasoning: {self.effort}" if self.effort else "",
            tools_text(map(_builtin, builtins)) if builtins else "",
            self._channels(has_functions=has_functions),
        ]
        return "\n\n".join(section for section in sections if section)

    def _channels(self, *, has_functions: bool) -> str:
        if not self.channels:
            return ""
        line = f"# Valid channels: {', '.join(self.channels)}."
        if self.channel_required:
            line += " Channel must be included for every message."
        if has_functions:
            line += f"\nCalls to these tools must go to the commentary channel: '{FUNCTIONS}'."
        return line


@dataclass(frozen=True, slots=True)
class DeveloperMessage:
    """What the developer message says: instructions (what others call the system prompt), tools, forms of answers."""

    instructions: str | None = None
    functions: Sequence[FunctionTool] = ()
    response_formats: Sequence[ResponseFormat] = ()

    def text(self) -> str:
        """The message."""
        sections = [] if self.instructions is None else ["# Instructions", self.instructions]
        if self.functions:
            sections.append(tools_text([Namespace(FUNCTIONS, None, tuple(self.functions))]))
        if self.response_formats:
            sections += ["# Response Formats", *map(_format_text, self.response_formats)]
        return "\n\n".join(sections)


@dataclass(frozen=True, slots=True)
class Namespace:
    """Tools that are called by one prefix; a namespace without tools, such as ``python``, is itself the tool."""

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
    """Lines as openai-harmony counts them: at each line feed, with or without a carriage return before it, and nowhere else."""
    *ended, last = text.split("\n")
    return [line.removesuffix("\r") for line in ended] + ([last] if last else [])


@cache
def _builtin(name: str) -> Namespace:
    """The built-in tools that the model was trained with, in the words that openai-harmony has for them; this needs no vocabulary."""
    from openai_harmony import ToolNamespaceConfig  # slow to import, and most prompts have no built-in tool

    read = ToolNamespaceConfig.browser() if name == "browser" else ToolNamespaceConfig.python()
    tools = tuple(FunctionTool(tool.name, tool.description, tool.parameters) for tool in read.tools)
    return Namespace(read.name, read.description, tools)
