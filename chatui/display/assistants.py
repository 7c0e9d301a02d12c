"""A person's assistants: prepares them for pages, and creates, changes, deletes and restores them for their owner.

``turns.opening`` reads the instructions with each turn, and ``chatui.prompts`` formats them, so that no line can pass for the operator's.
They are not stored in transcripts, and nobody but the owner is shown them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from django.db import transaction
from django.utils import timezone

from chatui.models.assistants import Assistant, AssistantVersion
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import assistants as permissions
from chatui.store import assistants as store
from renderer.characters import is_seen, one_line

NAME_CHARS, INITIAL_CHARS, INSTRUCTION_CHARS = 60, 8, 8_000
MAX_STARTERS, STARTER_CHARS = 6, 200
MAX_ASSISTANTS = 100
"""The most assistants of one person, without deleted ones."""


@dataclass(frozen=True, slots=True)
class ShownAssistant:
    """An assistant as everybody sees it who may use it. ``choice`` and ``effort``: what a new conversation begins with; empty if that does
    not depend on it. ``starters``: questions to begin with."""

    id: str
    name: str
    initials: str
    choice: str = ""
    effort: str = ""
    starters: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class AssistantHere:
    """The assistant of a conversation. ``shown``: None if its owner may not use it any more. ``is_newer``: there is a newer version than
    the one that applies. ``is_own``: the person may change it."""

    shown: ShownAssistant | None
    is_newer: bool = False
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class AssistantText:
    """What an assistant is, for its owner's form. ``starters``: one in each line."""

    name: str = ""
    initials: str = ""
    instructions: str = field(default="", repr=False)
    choice: str = ""
    effort: str = ""
    starters: str = ""


def listed(person: User) -> list[ShownAssistant]:
    """The assistants with which the person may begin a conversation, by name. One statement."""
    return sorted(map(_shown, permissions.usable(person).defer("instructions")), key=lambda each: (each.name.casefold(), each.id))


def to_begin_with(person: User, assistant_id: str) -> ShownAssistant:
    return _shown(permissions.to_begin_with(person, assistant_id))


def here(conversation: Conversation) -> AssistantHere | None:
    """The assistant of a conversation; None if it began without one. At most one statement."""
    if not conversation.began_with_assistant:
        return None
    version = permissions.applying(conversation)
    if version is None:
        return AssistantHere(None)
    is_own = version.assistant.owner_id == conversation.owner_id
    return AssistantHere(_shown(version), version.number < version.assistant.newest, is_own)


def use_newest(conversation: Conversation) -> None:
    """Let the newest version of its assistant apply in this conversation, from the next question on. Nothing if none applies."""
    if version := permissions.applying(conversation):
        with transaction.atomic():
            conversation.assistant_version = permissions.to_begin_with(conversation.owner, version.assistant_id, locked=True)
            conversation.save(update_fields=["assistant_version"])


def text_of(person: User, assistant_id: object) -> AssistantText:
    row = permissions.own(person, assistant_id)
    return AssistantText(row.name, row.initials, row.instructions, row.choice, row.effort, "\n".join(row.starters))


def deleted(person: User, assistant_id: object) -> ShownAssistant:
    """One that the person deleted, and may restore. Raises NotFoundError."""
    return _shown(permissions.own(person, assistant_id, is_deleted=True))


def create(person: User, text: AssistantText) -> str | None:
    """Create an assistant from a clean text; returns its id, or None if the person has MAX_ASSISTANTS already."""
    with transaction.atomic():
        # Locked, because two simultaneous requests could otherwise both create the last one.
        User.objects.select_for_update(no_key=True).get(pk=person.pk)
        if _is_full(person):
            return None
        return str(store.create(person, _columns(text)).pk)


def change(person: User, assistant_id: object, text: AssistantText) -> None:
    """Change an assistant. Conversations that began with it keep the version that they have."""
    with transaction.atomic():
        store.change(permissions.own(person, assistant_id), _columns(text))


def delete(person: User, assistant_id: object) -> ShownAssistant:
    """Delete an assistant, so that it applies nowhere. It can be restored until it is erased. One that was deleted
    before, as in another tab, stays so."""
    row = permissions.own(person, assistant_id, is_deleted=None)
    Assistant.objects.filter(pk=row.assistant_id, deleted_at=None).update(deleted_at=timezone.now())
    return _shown(row)


def restore(person: User, assistant_id: object) -> bool:
    """Undo the deletion, if it was not undone before, as in another tab. Returns False, and changes nothing, if the person has
    MAX_ASSISTANTS."""
    row = permissions.own(person, assistant_id, is_deleted=None)
    if row.assistant.deleted_at is None:
        return True
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=person.pk)
        if _is_full(person):
            return False
        Assistant.objects.filter(pk=row.assistant_id).update(deleted_at=None)
    return True


def _is_full(person: User) -> bool:
    return Assistant.objects.filter(owner=person, deleted_at=None).count() >= MAX_ASSISTANTS


def clean(text: AssistantText) -> AssistantText:
    """The texts as they are stored: names of one visible line, questions of at most STARTER_CHARS. An empty name has nothing to see."""
    name, initials = one_line(text.name)[:NAME_CHARS].strip(), one_line(text.initials)[:INITIAL_CHARS].strip()
    return replace(
        text,
        name=name if is_seen(name) else "",
        initials=initials if is_seen(initials) else "",
        starters="\n".join(starters_of(text.starters)[:MAX_STARTERS]),
    )


def starters_of(text: str) -> list[str]:
    """The visible lines of a text."""
    return [line for each in text.splitlines() if is_seen(line := one_line(each).strip())]


def _columns(text: AssistantText) -> dict[str, object]:
    alike = {name: getattr(text, name) for name in ("name", "initials", "instructions", "choice", "effort")}
    return {**alike, "starters": starters_of(text.starters)}


def _shown(row: AssistantVersion) -> ShownAssistant:
    return ShownAssistant(
        str(row.assistant_id), row.name, row.initials or _initials(row.name), row.choice, row.effort, tuple(map(str, row.starters))
    )


def _initials(name: str) -> str:
    """The first letters of the first two words; of a name without spaces the first. A letter is what people see as one: with its accents,
    an emoji with all of its parts, a conjunct."""
    return "".join(_letter(word) for word in name.split()[:2]).upper()


def _letter(word: str) -> str:
    if word.isascii():
        return word[0]
    import regex  # takes 1 MB, and most names need it not

    found = regex.match(r"\X", word)
    return found[0] if found else ""
