"""Implements the document search interface of tools for one turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar
from uuid import UUID

from chatui.database import pools
from chatui.database.faults import DatabaseBusyError, is_transient
from chatui.store.documents import passages
from chatui.store.documents.passages import Branch
from chatui.tools.files import Excerpt
from chatui.tools.tool import ToolError

log = logging.getLogger(__name__)

T = TypeVar("T")


class DocumentsOfTurn:
    """A ``TurnDocuments`` that finds only documents of its own conversation, above its question."""

    def __init__(self, conversation_id: UUID, question_id: UUID) -> None:
        self._branch = Branch(conversation_id, question_id)

    async def find(self, query: str, document: str, most: int) -> Sequence[Excerpt]:
        """See ``TurnDocuments``."""
        found = await _read(lambda: passages.find(self._branch, query, document, most))
        return [Excerpt(each.name, each.label, each.text, each.url) for each in found]

    async def names(self) -> Sequence[str]:
        """See ``TurnDocuments``."""
        return await _read(lambda: passages.names_in(self._branch))


async def _read(reading: Callable[[], T]) -> T:
    try:
        return await pools.turns.run(reading)
    except Exception as error:
        if not isinstance(error, DatabaseBusyError) and not is_transient(error):
            raise
        log.warning("the documents of a conversation could not be searched")
        raise ToolError("The documents cannot be searched at the moment.") from None
