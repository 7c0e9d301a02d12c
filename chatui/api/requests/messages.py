"""Messages as programs write them: text, or parts of which some are text. What a model cannot read is named, not dropped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from chatui.api.errors import invalid, unsupported
from chatui.turns.asked.by_program import Said

IMAGE_NOTE = "[an image was attached; this model cannot see images]"
MOST_MESSAGES = 1000
"""In one request. Each is a row of its own, and is walked over by every later turn."""
_TEXTS = {"text", "input_text", "output_text", "refusal"}
_IMAGES = {"image_url", "input_image"}


@dataclass(slots=True)
class Read:
    """What the messages of a request come to: the ``orders`` of the program, what was said before, and the question."""

    orders: list[str] = field(default_factory=list, repr=False)
    said: list[Said] = field(default_factory=list, repr=False)

    def take(self, role: object, text: str, where: str, *, is_preamble: bool = False) -> None:
        """One message, in order."""
        match role:
            case "user":
                self.said.append(Said(text, is_person=True))
            case "assistant":
                # An answer without text is one that only called tools or thought.
                if text:
                    self.said.append(Said(text, is_preamble=is_preamble))
            case "system" | "developer":
                self.orders.append(text)
            case _:
                raise invalid("The role has to be user, assistant, system or developer.", param=f"{where}.role")

    def question(self, where: str) -> tuple[tuple[Said, ...], str]:
        """What was said before, and the question. ApiError where the last message is not a person's, or there are too many."""
        if len(self.said) > MOST_MESSAGES:
            raise invalid(f"A request may have {MOST_MESSAGES} messages.", param=where, code="too_many_messages")
        if not self.said or not self.said[-1].is_person:
            raise invalid("The last message has to be one of the user.", param=where)
        return tuple(self.said[:-1]), self.said[-1].text


def text_of(content: object, where: str) -> str:
    """The text of a message's content."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise invalid("The content has to be text, or a list of parts.", param=where)
    return "\n".join(_part(part, f"{where}[{index}]") for index, part in enumerate(content))


def _part(part: Any, where: str) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    kind = kind if isinstance(kind, str) else None
    if kind in _TEXTS:
        text = part.get("refusal" if kind == "refusal" else "text")
        if isinstance(text, str):
            return text
        raise invalid("The part has to have a text.", param=where)
    if kind in _IMAGES:
        return IMAGE_NOTE
    raise unsupported(f"{where}.type", "Only parts with text can be read here.")
