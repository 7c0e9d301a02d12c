"""A person's assistants: prepares them for pages, and creates, changes, offers, deletes and restores them for their owner.

``turns.opening`` reads the instructions with each turn, and ``chatui.prompts`` formats them, so that no line can pass for the operator's.
They are not stored in transcripts, and nobody but the owner is shown them, also where others use the assistant. What is done with one that
is offered to groups is recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chatui.audit_log.record import Visitor, record
from chatui.models.assistants import Assistant, AssistantVersion
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import assistants as permissions
from chatui.permissions import offers
from chatui.permissions.access import person_of
from chatui.permissions.collections import lendable
from chatui.store import assistants as store
from renderer.characters import is_seen, one_line

NAME_CHARS, INITIAL_CHARS, DESCRIPTION_CHARS, INSTRUCTION_CHARS = 60, 8, 160, 8_000
MAX_STARTERS, STARTER_CHARS = 6, 200
MAX_ASSISTANTS = 100
"""The most assistants of one person, without deleted ones."""


@dataclass(frozen=True, slots=True)
class ShownAssistant:
    """An assistant as everybody sees it who may use it."""

    id: str
    name: str
    initials: str
    choice: str = ""
    """What a new conversation begins with; empty if that does not depend on the assistant."""
    effort: str = ""
    """What a new conversation begins with; empty if that does not depend on the assistant."""
    starters: Sequence[str] = ()
    """Questions to begin with."""
    maker: str = ""
    """Whose it is, if that is somebody else."""
    groups: Sequence[str] = ()
    """To which its owner offers it, for the owner's list."""
    description: str = ""
    """What it is for, in one line."""
    picture: str = ""
    """The id of the picture that stands instead of the initials; empty if it has none."""
    tools: Collection[str] | None = None
    """The names of those that are on where a conversation begins with it; None if that does not depend on it."""


@dataclass(frozen=True, slots=True)
class AssistantHere:
    """The assistant of a conversation."""

    shown: ShownAssistant | None
    """None if its owner may not use it any more."""
    is_newer: bool = False
    """Whether there is a newer version than the one that applies."""


@dataclass(frozen=True, slots=True)
class AssistantText:
    """What an assistant is, for its owner's form."""

    name: str = ""
    initials: str = ""
    description: str = ""
    instructions: str = field(default="", repr=False)
    choice: str = ""
    effort: str = ""
    starters: str = ""
    """One in each line."""
    tools: Sequence[str] | None = None
    """As for ``ShownAssistant``."""
    collections: Sequence[str] = ()
    """The ids of its files."""
    picture: str = ""
    """The id of its picture, which is not changed by this."""


def listed(person: User) -> list[ShownAssistant]:
    """The assistants with which the person may begin a conversation, by name, without makers. One statement."""
    return _by_name(permissions.usable(person), person)


def _by_name(rows: QuerySet[AssistantVersion], person: User) -> list[ShownAssistant]:
    return sorted((_shown(row, person) for row in rows.defer("instructions")), key=lambda each: (each.name.casefold(), each.id))


def with_groups(person: User) -> list[ShownAssistant]:
    """The same, with makers, and with the groups of the person's own. Two statements."""
    offers = Assistant.groups.through.objects.filter(assistant__owner=person).order_by("group__name")
    groups: dict[str, list[str]] = {}
    for key, name in offers.values_list("assistant", "group__name"):
        groups.setdefault(str(key), []).append(name)
    return [replace(each, groups=groups.get(each.id, ())) for each in _by_name(permissions.with_makers(permissions.usable(person)), person)]


def to_begin_with(person: User, assistant_id: str) -> ShownAssistant:
    return _shown(permissions.to_begin_with(person, assistant_id), person)


def picture(person: User, picture_id: object) -> bytes:
    """A PNG, of pixels alone. Raises NotFoundError if the person is shown no assistant with this picture."""
    return permissions.picture(person, picture_id)


def groups_to_offer(person: User) -> list[tuple[int, str]]:
    """The keys and names of the groups to which the person may offer assistants of theirs: all or none."""
    return list(offers.groups_to_offer(person).values_list("pk", "name"))


def offered_to(person: User, assistant_id: object) -> list[int]:
    """The keys of the groups to which the person's own assistant is offered. Raises NotFoundError."""
    return list(permissions.own(person, assistant_id).assistant.groups.values_list("pk", flat=True))


def here(conversation: Conversation) -> AssistantHere | None:
    """The assistant of a conversation; None if it began without one. At most one statement."""
    if not conversation.began_with_assistant:
        return None
    version = permissions.applying(conversation)
    if version is None:
        return AssistantHere(None)
    return AssistantHere(_shown(version, conversation.owner), version.number < version.assistant.newest)


def use_newest(conversation: Conversation) -> None:
    """Let the newest version of its assistant apply in this conversation, from the next question on. Nothing if none applies."""
    if version := permissions.applying(conversation):
        with transaction.atomic():
            conversation.assistant_version = permissions.to_begin_with(conversation.owner, version.assistant_id, locked=True)
            conversation.save(update_fields=["assistant_version"])


def text_of(person: User, assistant_id: object) -> AssistantText:
    row = permissions.own(person, assistant_id)
    files = [str(key) for key in row.collections.values_list("pk", flat=True)]
    return replace(_text_in(row), collections=files, picture=_picture_of(row))


def own_texts(person: User) -> list[AssistantText]:
    """What the person's own assistants are, without their files and pictures. One statement."""
    return [_text_in(row) for row in permissions.own_all(person)]


def _text_in(row: AssistantVersion) -> AssistantText:
    return AssistantText(**{name: getattr(row, name) for name in _ALIKE}, starters="\n".join(row.starters), tools=row.tools)


def deleted(person: User, assistant_id: object) -> ShownAssistant:
    """An assistant that the person deleted, and may restore. Raises NotFoundError."""
    return _shown(permissions.own_deleted(person, assistant_id), person)


def create(visitor: Visitor, text: AssistantText, groups: Collection[int] = (), picture: bytes = b"") -> str | None:
    """Create an assistant from a clean text, and offer it to groups if the visitor may; returns its id, or None if the visitor has
    MAX_ASSISTANTS already. ``picture``: a PNG that ``chatui.pictures`` wrote; empty for none."""
    with transaction.atomic():
        row = add(person_of(visitor), text, picture)
        if row is None:
            return None
        _offer(visitor, row, text.name, groups)
        return str(row.pk)


def add(person: User, text: AssistantText, picture: bytes = b"") -> Assistant | None:
    """Create an assistant that is offered to nobody; None if the person has MAX_ASSISTANTS already. Parameters are as of ``create``."""
    with transaction.atomic():
        lock(person)
        return store.create(person, _columns(text), _files(person, text), picture) if room(person) else None


def lock(person: User) -> None:
    """Let no other request change how many assistants the person has, until the transaction ends."""
    User.objects.select_for_update(no_key=True).get(pk=person.pk)


def change(
    visitor: Visitor,
    assistant_id: object,
    text: AssistantText,
    groups: Collection[int] | None = None,
    picture: bytes | None = None,
) -> None:
    """Change an assistant. Conversations that began with it keep the version that they have. ``groups``: to which it is offered from now
    on, if the visitor may offer it; None: as before. ``picture``: as for ``create``; None: as before."""
    with transaction.atomic():
        version = permissions.own(person := person_of(visitor), assistant_id)
        if store.change(version, _columns(text), _files(person, text), picture) and version.assistant.groups.exists():
            record("offered assistant changed", visitor, detail=f"assistant {text.name}")
        if groups is not None:
            _offer(visitor, version.assistant, text.name, groups)


def _offer(visitor: Visitor, row: Assistant, name: str, groups: Collection[int]) -> None:
    before = set(row.groups.values_list("pk", flat=True))
    if before == set(groups) or not offers.may_offer(visitor.user):
        return
    row.groups.set(Group.objects.select_for_update(no_key=True).filter(pk__in=groups))
    _record_offer(visitor, row, name)


def _record_offer(visitor: Visitor, row: Assistant, name: str) -> None:
    if names := sorted(row.groups.values_list("name", flat=True)):
        record("assistant offered", visitor, detail=f"assistant {name}; groups is now {', '.join(names)}")
    else:
        record("assistant not offered any more", visitor, detail=f"assistant {name}")


def delete(visitor: Visitor, assistant_id: object) -> ShownAssistant:
    """Delete an assistant, so that it applies nowhere. It can be restored until it is erased. One that was deleted
    before, as in another tab, stays so."""
    row = permissions.own_or_deleted(person_of(visitor), assistant_id)
    with transaction.atomic():
        is_gone = Assistant.objects.filter(pk=row.assistant_id, deleted_at=None).update(deleted_at=timezone.now())
        if is_gone and row.assistant.groups.exists():
            record("assistant not offered any more", visitor, detail=f"assistant {row.name}")
    return _shown(row, person_of(visitor))


def restore(visitor: Visitor, assistant_id: object) -> bool:
    """Undo the deletion, if it was not undone before, as in another tab. Returns False, and changes nothing, if the person has
    MAX_ASSISTANTS."""
    person = person_of(visitor)
    row = permissions.own_or_deleted(person, assistant_id)
    if row.assistant.deleted_at is None:
        return True
    with transaction.atomic():
        lock(person)
        if not room(person):
            return False
        is_back = Assistant.objects.filter(pk=row.assistant_id, deleted_at__isnull=False).update(deleted_at=None)
        if is_back and row.assistant.groups.exists():
            _record_offer(visitor, row.assistant, row.name)
    return True


def room(person: User) -> int:
    """How many assistants the person may still make."""
    return max(0, MAX_ASSISTANTS - Assistant.objects.filter(owner=person, deleted_at=None).count())


def clean(text: AssistantText) -> AssistantText:
    """The texts as they are stored: names and descriptions of one visible line, questions of at most STARTER_CHARS. An empty name has
    nothing to see."""
    return replace(
        text,
        name=_line(text.name, NAME_CHARS),
        initials=_line(text.initials, INITIAL_CHARS),
        description=_line(text.description, DESCRIPTION_CHARS),
        starters="\n".join(starters_of(text.starters)[:MAX_STARTERS]),
    )


def _line(text: str, chars: int) -> str:
    line = one_line(text)[:chars].strip()
    return line if is_seen(line) else ""


def starters_of(text: str) -> list[str]:
    """The visible lines of a text."""
    return [line for each in text.splitlines() if is_seen(line := one_line(each).strip())]


def starters_fit(lines: Sequence[str]) -> bool:
    return len(lines) <= MAX_STARTERS and all(len(line) <= STARTER_CHARS for line in lines)


_ALIKE = ("name", "initials", "description", "instructions", "choice", "effort")
"""The texts that are columns of the same name."""


def _columns(text: AssistantText) -> dict[str, object]:
    alike = {name: getattr(text, name) for name in _ALIKE}
    return {**alike, "starters": starters_of(text.starters), "tools": None if text.tools is None else sorted(text.tools)}


def _files(person: User, text: AssistantText) -> set[UUID]:
    """Nobody puts another's documents into an assistant, nor the files of a folder, which are asked in it alone."""
    return set(lendable(person).filter(pk__in=text.collections).values_list("pk", flat=True))


def _shown(row: AssistantVersion, person: User) -> ShownAssistant:
    return ShownAssistant(
        str(row.assistant_id),
        row.name,
        row.initials or _initials(row.name),
        row.choice,
        row.effort,
        tuple(map(str, row.starters)),
        "" if row.assistant.owner_id == person.pk else vars(row).get("maker", ""),
        description=row.description,
        picture=_picture_of(row),
        tools=row.tools,
    )


def _picture_of(row: AssistantVersion) -> str:
    return str(row.picture_id or "")


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
