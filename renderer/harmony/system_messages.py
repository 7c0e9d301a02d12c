"""Writes the system message and the developer message at the start of a Harmony prompt.

The system message has identity, dates, reasoning effort, channels and built-in tools; the developer message has instructions, functions
and response formats. Specification: Harmony's format guide. gpt-oss was trained on this exact wording; do not improve it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from renderer.errors import ParseHeaderError
from renderer.harmony.typescript import Json, literal, type_of

TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The name of a tool must match this, as it becomes part of a header when the tool is called."""

FUNCTIONS = "functions"


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function that the model may call. ``parameters`` is a JSON Schema; None if it takes none.

    ``recipient`` is set for a tool that gpt-oss was trained with, such as ``browser.search``: a Harmony prompt then describes it in the
    system message, in the trained wording. Elsewhere it is an ordinary function.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Json] | None = None
    recipient: str | None = None

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


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """The content of the system message. ``date`` is today's, as YYYY-MM-DD. A part that is None is left out.

    ``browser_functions``: which functions of the browser are offered; None for all of them.
    """

    date: str | None = None
    effort: str | None = "medium"
    identity: str | None = "You are ChatGPT, a large language model trained by OpenAI."
    knowledge_cutoff: str | None = "2024-06"
    channels: Sequence[str] = ("analysis", "commentary", "final")
    channel_required: bool = True
    browser: bool = False
    python: bool = False
    browser_functions: Collection[str] | None = None

    def text(self, *, has_functions: bool) -> str:
        """The text of the message. ``has_functions``: the developer message defines tools, which are called on commentary."""
        about = [
            self.identity,
            self.knowledge_cutoff and f"Knowledge cutoff: {self.knowledge_cutoff}",
            self.date and f"Current date: {self.date}",
        ]
        builtins = [name for name, wanted in (("browser", self.browser), ("python", self.python)) if wanted]
        sections = [
            "\n".join(line for line in about if line is not None),
            f"Reasoning: {self.effort}" if self.effort else "",
            tools_text(map(self._builtin, builtins)) if builtins else "",
            self._channels(has_functions=has_functions),
        ]
        return "\n\n".join(section for section in sections if section)

    def _builtin(self, name: str) -> Namespace:
        whole = _builtin(name)
        if name != "browser" or self.browser_functions is None:
            return whole
        return replace(whole, tools=tuple(tool for tool in whole.tools if tool.name in self.browser_functions))

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
