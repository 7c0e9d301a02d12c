"""Converts messages of other products into frames: questions, answers, and everything else, which is hidden.

An answer's text is separated from the sections that other products collapse in it. Open WebUI stores reasoning, tool calls and code runs in
the text, as ``<details type="…">``, and LibreChat stores reasoning as ``:::thinking``. A block ends only at an end mark on its own line;
without one, everything up to the end of the text is hidden.

Hidden messages other than reasoning and instructions have the intent ``debug``: no model sees them again, because their tools do not exist
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from chatui.backends.leaks.guard import judged
from chatui.backends.speaker import other_label
from chatui.documents.inside import html
from chatui.transfer.other_products.conversation_tree import Counts, DroppedKind, Object
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.strict_json import object_of, text_of


@dataclass(frozen=True, slots=True)
class AnswerSection:
    """A part of an answer's text. ``is_reasoning`` is known for hidden ones only."""

    is_visible: bool
    text: str = field(repr=False)
    is_reasoning: bool = False


def sections(text: str) -> Iterator[AnswerSection]:
    """Split the whole text into sections, in order."""
    position = 0
    while begin := _BEGIN.search(text, position):
        if begin.start() > position:
            yield AnswerSection(True, text[position : begin.start()])
        position = end = _end_of_block(text, begin.end(), _DETAILS if begin["details"] else _DIRECTIVES)
        yield AnswerSection(
            False, text[begin.start() : end], is_reasoning=_REASONING.search(text, begin.start(), begin.end() + 200) is not None
        )
    if position < len(text):
        yield AnswerSection(True, text[position:])


def _end_of_block(text: str, position: int, marks: re.Pattern[str]) -> int:
    depth = 1  # reasoning may contain such blocks itself
    for found in marks.finditer(text, position):
        depth += 1 if found["opening"] else -1
        if not depth:
            return found.end()
    return len(text)


# A document that LibreChat shows beside the conversation (:::artifact) is meant for people; every other block of that kind is not.
# LibreChat finds its own in the middle of a line, too. Each run of colons is examined once, so that the cost stays linear.
_BEGIN = re.compile(
    r"(?P<details><details(?![\w-]))|(?<!:):::++[ \t]*+(?=think|reason|thought|analysis)|^[ \t>|*+-]*+:::++[ \t]*+(?!artifact\b)[a-z]",
    re.IGNORECASE | re.MULTILINE,
)
# Reasoning may mention the tag: an end tag counts only at the beginning of a line, where Open WebUI writes it; a start tag anywhere.
_DETAILS = re.compile(r"(?P<opening><details(?![\w-]))|^[ \t]*</details[ \t]*>", re.IGNORECASE | re.MULTILINE)
_DIRECTIVES = re.compile(r"(?<!:):::++[ \t]*+(?:(?P<opening>[a-z])|$)", re.IGNORECASE | re.MULTILINE)
_REASONING = re.compile(r"reason|think|thought|analysis", re.IGNORECASE)


MAX_ANSWER_CHARS = 100_000
"""The longest answer, in characters. Checking it for reasoning takes time, and no genuine answer is longer."""

_NAME_CHARS = 120

_COMMENTARY = Header(Role.ASSISTANT, Channel.COMMENTARY, intent=Intent.DEBUG)
_HIDDEN: dict[DroppedKind, Header] = {
    DroppedKind.REASONING: ANALYSIS,
    DroppedKind.TOOL_CALL: Header(Role.ASSISTANT, Channel.COMMENTARY, name="tool_call", intent=Intent.DEBUG),
    DroppedKind.DOCUMENT_CHANGE: Header(Role.ASSISTANT, Channel.COMMENTARY, name="tool_call", intent=Intent.DEBUG),
    DroppedKind.TOOL_RESULT: Header(Role.ASSISTANT, Channel.COMMENTARY, name="tool_result", intent=Intent.DEBUG),
    DroppedKind.INSTRUCTIONS: Header(Role.SYSTEM),
    DroppedKind.FOLDED: _COMMENTARY,
    DroppedKind.HIDDEN: BROKEN,
    DroppedKind.WITHHELD: BROKEN,
    DroppedKind.TOO_LONG: BROKEN,
}


_LABELS = ("channel", "phase", "recipient", "thought", "is_thought", "is_thinking", "is_reasoning", "visible", "is_visible")


def is_labelled(value: Object) -> bool:
    """Whether a message or a part of it is labelled as no answer, there or in its metadata, by the rule for model servers."""
    beside = object_of(value.get("metadata"))
    return any(other_label({name: labels[name] for name in _LABELS if name in labels}) for labels in (value, beside))


def is_named_for_reasoning(name: str) -> bool:
    """Whether the name of a message's author speaks of reasoning, by the same rule. It may also be a person's or a model's."""
    return other_label({"written_by": name}) is not None


def question(text: str) -> tuple[Frame, ...]:
    """The frame of a person's message; none if it is empty."""
    return (Frame(Header(Role.USER), text),) if text.strip() else ()


def hidden(kind: DroppedKind, text: str, counts: Counts) -> tuple[Frame, ...]:
    """The frame of a hidden message, which is also counted; none if it is empty."""
    if not text.strip():
        return ()
    counts[kind] += 1
    return (Frame(_HIDDEN[kind], text),)


def answer(text: str, counts: Counts) -> tuple[Frame, ...]:
    """The frames of a model's message to a person: first hidden ones with collapsed sections and text that looks like reasoning, then the
    rest as one answer.
    """
    if len(text) > MAX_ANSWER_CHARS:
        return hidden(DroppedKind.TOO_LONG, text, counts)
    frames, shown = list[Frame](), list[str]()
    for section in sections(text):
        if section.is_visible:
            shown.append(section.text.strip("\n"))
        else:
            frames += hidden(DroppedKind.REASONING if section.is_reasoning else DroppedKind.FOLDED, section.text, counts)
    rest, withheld = _guarded("\n\n".join(part for part in shown if part.strip()))
    frames += hidden(DroppedKind.WITHHELD, withheld, counts)
    return (*frames, Frame(ANSWER, rest)) if rest.strip() else tuple(frames)


def title(text: str) -> str:
    """The title, or an empty one if it contains anything that would be hidden in an answer: models write some titles."""
    text = text[:500]
    return text if is_all_visible(text) else ""


def is_all_visible(text: str) -> bool:
    """Whether nothing of a text would be hidden in an answer."""
    return not _guarded(text)[1].strip() and all(section.is_visible for section in sections(text))


def joined(parts: Iterable[str]) -> str:
    """Join several texts of one message, without empty ones."""
    return "\n\n".join(part for part in parts if part.strip())


def quoted(text: str, counts: Counts) -> str:
    """A passage that a question is about, as a quotation in Markdown; nothing, which is counted, if a part of it would be hidden in an
    answer."""
    text = text.strip()
    if len(text) > MAX_ANSWER_CHARS or not is_all_visible(text):
        counts[DroppedKind.WITHHELD] += 1
        return ""
    return "\n".join(f"> {line}" for line in text.splitlines())


def document(name: str, text: str, language: str = "") -> str:
    """A document that was shown beside the conversation, as Markdown. ``language``: of code, which is fenced."""
    if language:
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
        text = f"{fence}{re.sub(r'[^a-z0-9+#-]', '', language.lower())}\n{text}\n{fence}"
    return joined((f"**{plain(name)}**" if name.strip() else "", text))


def link(address: str, name: str = "") -> str:
    """A link to a web page as Markdown, under its name or else its host; empty if it is no web address."""
    found = html.absolute_url(address, "").translate({ord("<"): "%3C", ord(">"): "%3E"})
    return f"[{plain(name) or html.host(found)}](<{found}>)" if found else ""


def kind_of_file(file: Object) -> DroppedKind:
    """What is counted for an attached file, by what the export says of it."""
    types = " ".join(text_of(file.get(name)) for name in ("type", "mime_type", "file_kind", "file_type"))
    return DroppedKind.IMAGE if "image" in types else DroppedKind.FILE


def plain(text: str) -> str:
    """One line without anything that means something in Markdown."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", " ".join(text.split())[:_NAME_CHARS])


def _guarded(text: str) -> tuple[str, str]:
    """The visible and the hidden part of a text, according to the leak guard for model servers' answers."""
    spans = judged(text).spans
    return "".join(span.text for span in spans if span.visible), "".join(span.text for span in spans if not span.visible)
