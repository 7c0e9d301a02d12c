"""Compiled SQL statements that store a message and find its place in the tree."""

from __future__ import annotations

from django.db.models import Q, QuerySet, UUIDField

from chatui.database.compiled_statements import CompiledInsert, CompiledQuery, CompiledUpdate, Parameter
from chatui.models import ActiveLeaf, Message, SearchEntry, SentDocument
from renderer.frames import Role

MESSAGES = CompiledInsert(Message)
FOUND_BY = CompiledInsert(SearchEntry)
OPEN_LEAVES = CompiledInsert(ActiveLeaf, unique=("conversation", "person"), update=("message",))


def _moved() -> tuple[QuerySet[ActiveLeaf], dict[str, Parameter]]:
    conversation, person, end, other, leaf = (_key(name) for name in ("conversation", "person", "end", "other", "leaf"))
    at_an_end = Q(message=end) | Q(message=other)
    return ActiveLeaf.objects.filter(at_an_end, conversation=conversation, person=person), {"message": leaf}


def _versions(base: Parameter | None) -> QuerySet[Message, tuple[object, ...]]:
    conversation = _key("conversation")
    ends = SentDocument.objects.filter(message__parent=base, message__conversation=conversation).values("end")
    questions = Message.objects.filter(Q(parent=base) | Q(parent__in=ends), conversation=conversation, role=Role.USER, is_visible=True)
    return questions.order_by("position").values_list("pk")


def _key(name: str) -> Parameter:
    return Parameter(name, UUIDField())


MOVED_LEAF = CompiledUpdate(_moved)
"""An open branch that ends in ``end`` or ``other`` moves on to ``leaf``."""
VERSIONS = CompiledQuery(lambda: _versions(_key("base")))
"""The keys of the visible questions below the message ``base``, or below its documents, in the order in which they were stored."""
FIRST_VERSIONS = CompiledQuery(lambda: _versions(None))
"""The same for questions without a parent."""
WRITTEN = CompiledQuery(lambda: Message.objects.filter(turn=_key("turn")).order_by("position").defer("raw", "text"))
"""The messages that a turn has written, without their text."""
