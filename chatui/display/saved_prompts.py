"""Saved prompts: prepares them for pages and the message box, and creates, changes, deletes and restores them for their owner.

A text of somebody else has no invisible characters when it comes to a message box: nothing in it goes to a model unseen.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction
from django.utils import timezone

from chatui.audit_log.record import Visitor, record
from chatui.display.folders import clean_instructions
from chatui.models.saved_prompts import SavedPrompt
from chatui.models.user import User
from chatui.permissions import offers
from chatui.permissions import saved_prompts as permissions
from chatui.permissions.access import person_of
from renderer.characters import drop, is_seen, one_line

NAME_CHARS, TEXT_CHARS = 60, 8_000
MAX_PROMPTS = 200
"""The most prompts of one person, without deleted ones."""
_BEGINNING_CHARS = 100
_MOST_OFFERED = 1_000
OFFERED, WITHDRAWN = "prompt offered to group", "prompt not offered to group any more"
CHANGED = "offered prompt changed"


class GroupGoneError(Exception):
    """The group was deleted, or the person may not offer anything to it any more, since they chose it in the form."""


class PromptNameTakenError(Exception):
    """The person has another prompt of that name, in whatever case: in the list after a slash they could not be told apart."""


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt for its owner's form. ``group``: the id of the group to which it is offered; empty for none."""

    name: str = ""
    text: str = field(default="", repr=False)
    group: str = ""


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """A prompt in a list."""

    id: str
    name: str
    begins: str
    """The beginning of its text, in one line."""
    group: str
    """The name of the group to which it is offered."""
    maker: str = ""
    """Whose it is, if that is somebody else."""

    @property
    def is_own(self) -> bool:
        return not self.maker


def listed(person: User) -> list[ShownPrompt]:
    """The prompts that the person may use, by name. One statement."""
    rows = permissions.with_makers(permissions.usable(person)).select_related("group").order_by("-created_at")[:_MOST_OFFERED]
    return sorted((_shown(row, person) for row in rows), key=lambda each: (each.name.casefold(), each.id))


def to_insert(person: User, prompt_id: object) -> str:
    """The text of a prompt that the person may use. Raises NotFoundError."""
    row = permissions.to_use(person, prompt_id)
    return row.text if row.owner_id == person.pk else drop(row.text)


def own_texts(person: User) -> list[PromptText]:
    """The person's own prompts, the oldest first."""
    return [PromptText(*each) for each in permissions.own_all(person).order_by("pk").values_list("name", "text")]


def text_of(person: User, prompt_id: object) -> PromptText:
    row = permissions.own(person, prompt_id)
    return PromptText(row.name, row.text, str(row.group_id or ""))


def deleted(person: User, prompt_id: object) -> ShownPrompt:
    """A saved prompt that the person deleted, and may restore. Raises NotFoundError."""
    return _shown(permissions.own_deleted(person, prompt_id), person)


def groups(person: User, chosen: str = "") -> list[tuple[str, str]]:
    """The ids and names of the groups to which the person may offer a prompt, and of the one to which they did."""
    offered = {str(group.pk): group.name for group in offers.groups_to_offer(person)}
    if chosen and (row := Group.objects.filter(pk=chosen).first()):
        offered.setdefault(chosen, row.name)
    return list(offered.items())


def create(visitor: Visitor, text: PromptText) -> str | None:
    """Create a prompt from a clean text; returns its id, or None if the person has MAX_PROMPTS already. Raises GroupGoneError, or
    PromptNameTakenError."""
    with transaction.atomic():
        lock(person_of(visitor))
        if text.name.casefold() in taken_names(person_of(visitor)):
            raise PromptNameTakenError
        if not add(person_of(visitor), [replace(text, group="")]):
            return None
        row = SavedPrompt.objects.filter(owner=person_of(visitor)).latest("pk")
        _offer(visitor, row, text.group)
    return str(row.pk)


def add(person: User, texts: Iterable[PromptText]) -> bool:
    """Create prompts that are offered to no group, all of them, or none if the person would have more than MAX_PROMPTS: then False."""
    rows = [SavedPrompt(owner=person, name=each.name, text=each.text) for each in texts]
    with transaction.atomic():
        if _room(person) < len(rows):
            return False
        SavedPrompt.objects.bulk_create(rows)
    return True


def change(visitor: Visitor, prompt_id: object, text: PromptText) -> None:
    """Raises NotFoundError, GroupGoneError, or PromptNameTakenError, unless it has that name already."""
    with transaction.atomic():
        lock(person_of(visitor))
        row = permissions.own(person_of(visitor), prompt_id)
        if (name := text.name.casefold()) != row.name.casefold() and name in taken_names(person_of(visitor)):
            raise PromptNameTakenError
        if row.group is not None and (row.name, row.text) != (text.name, text.text):
            record(CHANGED, visitor, detail=row.group.name)
        row.name, row.text = text.name, text.text
        row.save(update_fields=["name", "text"])
        _offer(visitor, row, text.group)


def delete(visitor: Visitor, prompt_id: object) -> ShownPrompt:
    """Delete a prompt, so that nobody is offered it. It can be restored until it is erased."""
    person = person_of(visitor)
    row = permissions.own(person, prompt_id)
    with transaction.atomic():
        is_gone = SavedPrompt.objects.filter(pk=row.pk, deleted_at=None).update(deleted_at=timezone.now())
        if is_gone and row.group is not None:
            record(WITHDRAWN, visitor, detail=row.group.name)
    return _shown(row, person)


def restore(visitor: Visitor, prompt_id: object) -> bool:
    """Undo the deletion; if another has its name meanwhile, with a number. Returns False, and changes nothing, if the person has
    MAX_PROMPTS."""
    person = person_of(visitor)
    row = permissions.own_deleted(person, prompt_id)
    with transaction.atomic():
        if _room(person) < 1:
            return False
        name = free_name(row.name, taken_names(person))
        is_back = SavedPrompt.objects.filter(pk=row.pk, deleted_at__isnull=False).update(deleted_at=None, name=name)
        if is_back and row.group is not None:
            record(OFFERED, visitor, detail=row.group.name)
    return True


def clean(text: PromptText) -> PromptText:
    """The texts as they are stored. One without anything to see is empty."""
    name, long = one_line(text.name).strip(), clean_instructions(text.text, len(text.text))
    return replace(text, name=name if is_seen(name) else "", text=long if is_seen(long) else "")


def lock(person: User) -> None:
    """Let no other request change how many prompts the person has, and their names, until the transaction ends."""
    User.objects.select_for_update(no_key=True).get(pk=person.pk)


def taken_names(person: User) -> set[str]:
    """The names of the person's own prompts, case-folded."""
    return {name.casefold() for name in permissions.own_all(person).values_list("name", flat=True)}


def free_name(name: str, taken: Container[str]) -> str:
    """The name, or, if it is ``taken``, the name with the first number that is not, in at most NAME_CHARS."""
    return next(each for each in numbered(name) if each.casefold() not in taken)


def numbered(name: str) -> Iterator[str]:
    """The name, and the name with the numbers from 2 on."""
    yield name
    for number in count(2):
        end = f" ({number})"
        yield name[: NAME_CHARS - len(end)].rstrip() + end


def _room(person: User) -> int:
    """How many prompts the person may still make. Locked, because two simultaneous requests could otherwise both make the last one."""
    lock(person)
    return MAX_PROMPTS - permissions.own_all(person).count()


def _offer(visitor: Visitor, row: SavedPrompt, group: str) -> None:
    """Offer a prompt to a group that the form let the person choose, or to none any more. Recorded. Raises GroupGoneError."""
    if group == str(row.group_id or ""):
        return
    if row.group is not None:
        record(WITHDRAWN, visitor, detail=row.group.name)
    # Locked, so that it is not deleted before the prompt is stored.
    chosen = offers.groups_to_offer(person_of(visitor)).select_for_update(no_key=True).filter(pk=group).first() if group else None
    if group and chosen is None:
        raise GroupGoneError
    row.group = chosen
    row.save(update_fields=["group"])
    if row.group is not None:
        record(OFFERED, visitor, detail=row.group.name)


def _shown(row: SavedPrompt, person: User) -> ShownPrompt:
    begins = one_line(row.text[: _BEGINNING_CHARS * 2])[:_BEGINNING_CHARS].strip()
    maker = "" if row.owner_id == person.pk else vars(row)["maker"]
    return ShownPrompt(str(row.pk), row.name, begins, row.group.name if row.group else "", maker)


def as_json(shown: ShownPrompt) -> dict[str, Any]:
    """For the message box. Two that one is offered may have the same name and group, so ``from`` says whose each is."""
    return {"id": shown.id, "name": shown.name, "begins": shown.begins, "from": "" if shown.is_own else f"{shown.group} · {shown.maker}"}
