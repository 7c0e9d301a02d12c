"""Uploaded files that are not sent yet, and how many tokens a document has.

They are visible to their owner only, in no conversation, and deleted after a day. They wait at the message box where they were uploaded,
and never prevent other uploads.

Tokens are counted exactly if this machine has the vocabulary, otherwise by an estimate that treats tables and prose differently.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from chatui.database.faults import Refused
from chatui.model_servers import connected
from chatui.models.files import FileSource, StoredFile
from chatui.store import files as store_files
from renderer.harmony.vocabulary import VocabularyError

KEPT = timedelta(hours=24)
MAX_PENDING = 50
"""Per person. If there are more, the oldest are deleted."""
FORGOTTEN = timedelta(hours=1)
"""After this long, a file may be deleted to make room for another one."""
_BATCH = 500
"""How many are deleted at once: there may be many if earlier processes died first."""


def of_person(person_id: UUID) -> QuerySet[StoredFile]:
    """The files that wait."""
    return StoredFile.objects.filter(owner=person_id, conversation=None, turn=None, collection=None, source=FileSource.PERSON)


def or_sent(person_id: UUID, kept: Collection[UUID]) -> QuerySet[StoredFile]:
    """The files that wait, and the person's files in ``kept``."""
    sent = StoredFile.objects.filter(owner=person_id, source=FileSource.PERSON, pk__in=kept)
    return of_person(person_id) | sent if kept else of_person(person_id)


def at(person_id: UUID, conversation_id: UUID | None) -> list[StoredFile]:
    """The files that wait at the message box of a conversation, or of a new one, in order of upload, with their contents."""
    return list(rows_at(person_id, conversation_id).select_related("content").order_by("created_at", "pk")[:MAX_PENDING])


def rows_at(person_id: UUID, conversation_id: UUID | None) -> QuerySet[StoredFile]:
    """The rows of the files that wait at that message box, in no order."""
    return of_person(person_id).filter(brought_in=conversation_id, created_at__gte=timezone.now() - KEPT)


def trim(person_id: UUID) -> None:
    """Delete files that have waited too long, and the oldest if there are more than ``MAX_PENDING``."""
    rows = of_person(person_id)
    newest = rows.order_by("-created_at", "pk").values_list("pk", flat=True)
    _delete(person_id, rows.filter(created_at__lt=timezone.now() - KEPT))
    _delete(person_id, rows.filter(pk__in=list(newest[MAX_PENDING : MAX_PENDING + _BATCH])))


def forget(person_id: UUID) -> bool:
    """Delete files that have waited for an hour; returns whether there were any."""
    return _delete(person_id, of_person(person_id).filter(created_at__lt=timezone.now() - FORGOTTEN))


def _delete(person_id: UUID, files: QuerySet[StoredFile]) -> bool:
    if not files.exists():
        return False
    store_files.delete_files(person_id, files)
    return True


def sweep(refused: Refused) -> None:
    """Delete files that have waited too long. One that cannot be deleted does not stop the others."""
    old = StoredFile.objects.filter(conversation=None, turn=None, collection=None, created_at__lt=timezone.now() - KEPT)
    for key, owner in list(old.values_list("pk", "owner")):
        with refused.one(f"file {key}"):
            # Files that were sent meanwhile are no longer included.
            store_files.delete_files(owner, old.filter(pk=key))


_PIECES = re.compile(
    # Splits text as the vocabulary does before merging bytes. No two alternatives begin alike, so matching takes linear time.
    r"(?P<word>[A-Z]*[a-z]+|[A-Z]+)|(?P<digits>[0-9]+)|(?P<spaces> +)|(?P<tabs>\t+)|(?P<ends>[\r\n]+)"
    r"|(?P<signs>[^ \t\r\nA-Za-z0-9\x80-\U0010ffff]+)|(?P<near>[\x80-\u0dff]+)|(?P<other>[\u0e00-\u2e7f]+)"
    r"|(?P<far>[\u2e80-\u33ff\u4dc0-\uffff]+)|(?P<rare>[\u3400-\u4dbf\U00010000-\U0010ffff]+)"
)
_WORD_CHARS = 12
"""Longer runs are hardly words: their tokens are short."""
_PIECES_AT_ONCE = 500
"""Takes less than a millisecond."""
_STEP_CHARS = 20_000
"""How much is counted at a time if only the beginning is needed."""


def tokens_of(texts: Sequence[str]) -> tuple[list[int], bool]:
    """The number of tokens of each text, and whether it is exact. Takes about 0.1 s for 500,000 characters: not for an event loop."""
    try:
        vocabulary = connected.gpt_oss_vocabulary()
    except VocabularyError:
        return [estimated(text) for text in texts], False
    return [len(vocabulary.encode(text)) for text in texts], True


def estimated(text: str) -> int:
    """The estimated tokens of a text, rather too many than too few: tables have three times as many per character as prose."""
    tokens = 0
    for number, match in enumerate(_PIECES.finditer(text), 1):
        tokens += _TOKENS[str(match.lastgroup)](match[0])
        if not number % _PIECES_AT_ONCE:
            time.sleep(0)  # Releases the interpreter lock, so that the event loop need not wait for the forced switch every 5 ms.
    return tokens


def _of_word(word: str) -> int:
    capitals = sum(letter < "a" for letter in word[:_WORD_CHARS])
    return 1 + capitals // 2 + -(-max(0, len(word) - 7) // 5) if len(word) <= _WORD_CHARS else 2 + capitals // 2 + len(word) * 3 // 5


_TOKENS: dict[str, Callable[[str], int]] = {
    "word": _of_word,
    "digits": lambda piece: -(-len(piece) // 3),
    "spaces": lambda piece: -(-(len(piece) - 1) // 8),  # one space belongs to the next word
    "tabs": lambda piece: -(-len(piece) // 2),
    "ends": lambda piece: -(-len(piece) // 4),
    "signs": lambda piece: -(-len(piece) // 2),
    "near": lambda piece: -(-len(piece) * 10 // 22),
    "other": lambda piece: -(-len(piece) * 2 // 3),
    "far": len,
    "rare": lambda piece: 3 * len(piece),
}


def begin_of(text: str, most: int) -> tuple[str, int]:
    """The beginning of a text with at most ``most`` tokens, up to a nearby line end; and how many it has.

    Each part of it is counted about twice, however long the text is.
    """
    begin, tokens_left = 0, most
    while (tokens := _count(step := text[begin : begin + _STEP_CHARS])) <= tokens_left:
        begin, tokens_left = begin + len(step), tokens_left - tokens
        if begin >= len(text):
            return text, _count(text)
    low, high = 0, len(step)
    while high - low > 64:
        middle = (low + high) // 2
        low, high = (middle, high) if _count(step[:middle]) <= tokens_left else (low, middle)
    cut = begin + low
    end = text.rfind("\n", cut * 9 // 10, cut)
    found = text[: end if end > 0 else cut]
    return found, _count(found)


def _count(text: str) -> int:
    return tokens_of([text])[0][0]
