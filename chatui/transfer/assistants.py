"""Assistants of an archive that was made here: each that its reader does not have yet becomes one of theirs, offered to nobody.

Anybody can write such a file: what no form could have made is left out and counted, and the rest is imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.db import transaction

from chatui.backends.spec import is_model_name
from chatui.display import assistants
from chatui.display.assistants import (
    DESCRIPTION_CHARS,
    INITIAL_CHARS,
    INSTRUCTION_CHARS,
    MAX_ASSISTANTS,
    MAX_STARTERS,
    NAME_CHARS,
    STARTER_CHARS,
    AssistantText,
)
from chatui.display.conversation import EFFORTS
from chatui.display.folders import clean_instructions
from chatui.display.tools import tools_to_choose
from chatui.model_servers import choice
from chatui.models.user import User
from chatui.pictures import MAX_BYTES, PictureError, only_pixels
from chatui.transfer.other_products.conversation_tree import Counts, DroppedKind
from chatui.transfer.other_products.reading import ASSISTANTS, MAX_LISTED, OwnFiles
from renderer.strict_json import list_of, object_of


@dataclass(frozen=True, slots=True)
class ReadAssistant:
    """One that can be made."""

    text: AssistantText
    picture: bytes | None
    """A PNG of pixels alone; empty for none, None if it cannot be read."""
    collections: int
    """How many collections it had, which are not imported."""


def import_archived(person: User, files: OwnFiles, left_out: Counts) -> int:
    """Make the assistants of an archive, and count those that are left out. Returns how many were made."""
    read = _read(files, left_out)  # before anybody has to wait for the lock
    with transaction.atomic():
        assistants.lock(person)  # a second click on the button finds what the first one has made
        fresh = _fresh(person, read, left_out)
        for each in fresh:
            assistants.add(person, each.text, each.picture or b"")
    return len(fresh)


def fresh_in(person: User, files: OwnFiles, left_out: Counts) -> list[ReadAssistant]:
    """The assistants of an archive that the person does not have yet, as many as they may still have. What else is in it is counted."""
    return _fresh(person, _read(files, left_out), left_out)


def _read(files: OwnFiles, left_out: Counts) -> list[ReadAssistant]:
    listed = files.listed(ASSISTANTS, "assistants")
    if listed is None:
        left_out[DroppedKind.OTHER_FILE] += 1
    if not listed:
        return []
    found = list[ReadAssistant]()
    for entry in map(object_of, listed[:MAX_LISTED]):
        text = _text_of(entry)
        # Nobody has more, so no other picture is needed.
        picture = _picture_of(entry.get("picture"), files) if text and len(found) < MAX_ASSISTANTS else b""
        if text:
            found.append(ReadAssistant(text, picture, len(list_of(entry.get("collections")))))
    left_out[DroppedKind.ASSISTANT_UNREADABLE] += len(listed) - len(found)
    return found


def _fresh(person: User, read: list[ReadAssistant], left_out: Counts) -> list[ReadAssistant]:
    # Two of an archive may say the same, and differ in their models: as many as the person has are theirs.
    own = Counter(_words(assistants.clean(text)) for text in assistants.own_texts(person))
    fresh, room, offered = list[ReadAssistant](), assistants.room(person), _Offered(person)
    for each in read:
        if own[words := _words(each.text)] > 0:
            own[words] -= 1
            left_out[DroppedKind.ASSISTANT_EXISTS] += 1
        elif len(fresh) >= room:
            left_out[DroppedKind.ASSISTANT_FULL] += 1
        else:
            left_out[DroppedKind.ASSISTANT_COLLECTION] += each.collections
            left_out[DroppedKind.ASSISTANT_PICTURE] += each.picture is None
            fresh.append(replace(each, text=offered.of(each.text, left_out)))
    return fresh


def _words(text: AssistantText) -> tuple[str, ...]:
    """By what an assistant is recognized: all that does not depend on what its owner is offered."""
    return text.name, text.initials, text.description, text.instructions, text.starters


_MOST = {"name": NAME_CHARS, "initials": INITIAL_CHARS, "description": DESCRIPTION_CHARS, "instructions": INSTRUCTION_CHARS}

_MOST_STARTER_CHARS = 2 * MAX_STARTERS * STARTER_CHARS
"""Before invisible characters are removed."""


def _text_of(entry: dict[str, object]) -> AssistantText | None:
    """An assistant of a file as it is stored, with its settings unchecked; None if the form would not take it."""
    texts = {name: entry.get(name, "") for name in (*_MOST, "choice", "effort")}
    starters, tools = entry.get("starters", []), entry.get("tools")
    if not _are_texts(texts.values()) or not _is_list(starters) or not (tools is None or _is_list(tools)):
        return None
    given = {name: str(text).replace("\r\n", "\n").strip() for name, text in texts.items()}
    questions = "\n".join(list_of(starters))
    # Before anything is cleaned, which takes a second for a megabyte.
    if any(len(given[name]) > most for name, most in _MOST.items()) or len(questions) > _MOST_STARTER_CHARS:
        return None
    lines = assistants.starters_of(questions)
    if not assistants.starters_fit(lines):
        return None
    given["instructions"] = clean_instructions(given["instructions"], INSTRUCTION_CHARS)
    names = None if tools is None else tuple(dict.fromkeys(list_of(tools)))
    text = assistants.clean(AssistantText(**given, starters="\n".join(lines), tools=names))
    return text if text.name else None


def _is_list(value: object) -> bool:
    return isinstance(value, list) and _are_texts(value)


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) and "\0" not in value for value in values)


class _Offered:
    """What the person may choose in the form."""

    def __init__(self, person: User) -> None:
        self._choices = choice.choices_for(person)
        self._tools = {name for name, _ in tools_to_choose(person, ())}

    def of(self, text: AssistantText, left_out: Counts) -> AssistantText:
        """The text with those settings alone that are offered. One that begins with none of its tools begins without any."""
        model = choice.current(self._choices, text.choice) if text.choice else None
        if model and model.model and not is_model_name(model.model):
            model = None  # where a server's models are not known, any name would do
        effort = text.effort if text.effort in dict(EFFORTS) else ""
        tools = None if text.tools is None else [name for name in text.tools if name in self._tools]
        left_out[DroppedKind.ASSISTANT_SETTING] += (
            (bool(text.choice) and model is None) + (effort != text.effort) + len(text.tools or ()) - len(tools or ())
        )
        return replace(text, choice=model.exact if model else "", effort=effort, tools=tools)


def _picture_of(name: object, files: OwnFiles) -> bytes | None:
    if not name:
        return b""
    try:
        return only_pixels((isinstance(name, str) and files.read(name, MAX_BYTES)) or b"")
    except PictureError:
        return None
