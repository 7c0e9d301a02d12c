"""Prepares what a turn sent to the model and got from it for the debug view: the request, and the token ids with their text.

The request is exact or formatted, in parts that fit on a page. The token ids come one page at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.message import Author
from chatui.models.turn import Turn
from chatui.permissions import access
from chatui.program import command
from chatui.store import hidden_text, requests, transcripts
from chatui.store.requests import StoredRequest
from renderer import history
from renderer.characters import is_invisible
from renderer.errors import OpenChatMLError
from renderer.frames import Frame
from renderer.gate import VisibleText, as_debug_text
from renderer.harmony import hip1
from renderer.harmony.vocabulary import ORDINARY_IDS, Vocabulary, VocabularyError, marker_name

PART_CHARS = 50_000


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One part of a request."""

    turn_id: str
    path: str
    size: int
    is_laid_out: bool
    part: int
    """Counts from 1."""
    parts: int
    """How many there are; 0 if nothing was stored."""
    text: VisibleText = field(repr=False)


def part(row: Conversation, turn_id: object, number: int, *, laid_out: bool) -> PromptPart:
    """Part ``number`` of the request, or the nearest one."""
    turn = access.turn_of(row, turn_id)
    sent = sent_for(turn)
    body = sent.body if sent else None
    if sent is None or body is None:
        return PromptPart(str(turn.pk), sent.path if sent else "", sent.size if sent else 0, laid_out, 1, 0, as_debug_text(""))
    text = _laid_out(body) if laid_out else body
    parts = max(1, -(-len(text) // PART_CHARS))
    number = min(max(number, 1), parts)
    piece = text[(number - 1) * PART_CHARS : number * PART_CHARS]
    return PromptPart(str(turn.pk), sent.path, sent.size, laid_out, number, parts, as_debug_text(piece))


def whole(row: Conversation, turn_id: object) -> VisibleText:
    """The exact request that was sent."""
    sent = sent_for(access.turn_of(row, turn_id))
    if sent is None or sent.body is None:
        raise access.NotFoundError
    return as_debug_text(sent.body)


def sent_for(turn: Turn) -> StoredRequest | None:
    return requests.unpack(bytes(turn.request)) if turn.request else None


def one_value_a_line(text: str) -> str:
    """JSON that is laid out; a text that is no JSON as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _laid_out(body: str) -> str:
    """The request with one value per line, except that a list of numbers only (token ids) stays on one line."""
    # A line break inside a string is written as \\n, so a match over several lines is never text of a message.
    return _NUMBERS.sub(lambda found: " ".join(found[0].split()), one_value_a_line(body))


_NUMBERS = re.compile(r"\[\n\s+-?\d+(?:,\n\s+-?\d+)*\n\s*\]")


PAGE_TOKENS = 500
PROMPT, OUTPUT = "prompt", "output"
_SENT_IDS = ("prompt", "input_ids")
"""The JSON fields for token ids, in requests to servers that accept them."""
_MARKS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍"}


@dataclass(frozen=True, slots=True)
class ShownToken:
    """One token. White space is made visible; bytes that are not a complete character are shown in ⟨⟩, in hexadecimal."""

    number: int
    text: VisibleText = field(repr=False)
    is_special: bool


@dataclass(frozen=True, slots=True)
class TokenPage:
    """One page of the tokens of a text."""

    turn_id: str
    of: str
    note: str
    """Where they come from, or why there are none."""
    tokens: tuple[ShownToken, ...] = ()
    start: int = 0
    """The index of the first one on the page."""
    total: int = 0
    """How many there are on all pages."""

    @property
    def previous(self) -> int | None:
        """Where the previous page starts; None on the first."""
        return self.start - PAGE_TOKENS if self.start else None

    @property
    def next(self) -> int | None:
        """Where the next page starts; None on the last."""
        return self.start + PAGE_TOKENS if self.start + PAGE_TOKENS < self.total else None


def page(row: Conversation, turn_id: object, of: str, start: int) -> TokenPage:
    """A page of tokens. ``of`` is PROMPT or OUTPUT."""
    turn = access.turn_of(row, turn_id)
    try:
        vocabulary = connected.gpt_oss_vocabulary()
        ids, note = _prompt(row, turn, vocabulary) if of == PROMPT else _output(turn, vocabulary)
    except VocabularyError:
        words = _("The vocabulary of gpt-oss is not on this machine. Run: %(command)s")
        return TokenPage(str(turn.pk), of, words % {"command": command("fetch_vocabulary")})
    except OpenChatMLError as error:
        return TokenPage(str(turn.pk), of, _("These frames cannot be written as Harmony: %(reason)s.") % {"reason": error.hint})
    start = min(max(start, 0), max(len(ids) - 1, 0)) // PAGE_TOKENS * PAGE_TOKENS
    tokens = tuple(_shown(number, vocabulary) for number in ids[start : start + PAGE_TOKENS])
    return TokenPage(str(turn.pk), of, note, tokens, start, len(ids))


def _prompt(row: Conversation, turn: Turn, vocabulary: Vocabulary) -> tuple[list[int], str]:
    if ids := _sent_ids(turn):
        return ids, _("These are the exact ids that were sent.")
    messages = transcripts.branch(row, turn.question)
    stored = [transcripts.frame_of(message) for message in messages]
    written, *_rest = hip1.to_tokens(history.frames_for_prompt(stored), vocabulary)
    note = _("No ids were sent: the server built its own prompt. This is how this product would encode the same frames.")
    return written, _with_warning(note, stored)


def _sent_ids(turn: Turn) -> list[int]:
    sent = sent_for(turn)
    try:
        body = json.loads(sent.body) if sent and sent.body else {}
    except (ValueError, RecursionError):
        return []
    for name in _SENT_IDS:
        ids = body.get(name) if isinstance(body, dict) else None
        if isinstance(ids, list) and ids and all(type(number) is int for number in ids):
            return ids
    return []


def _output(turn: Turn, vocabulary: Vocabulary) -> tuple[list[int], str]:
    messages = turn.messages.filter(author=Author.MODEL).order_by("position")
    stored = [transcripts.frame_of(message) for message in messages]
    written, *_rest = hip1.to_tokens(stored, vocabulary)
    return written, _with_warning(
        _("Encoded again from the stored frames: the model may have sampled the same text as different ids."), stored
    )


def _with_warning(note: str, frames: Sequence[Frame]) -> str:
    """The note, with a warning if the text of frames was removed: the text that replaces it was never sampled."""
    count = sum(hidden_text.is_emptied(frame) for frame in frames)
    if not count:
        return note
    emptied = ngettext(
        "The text of %(count)d hidden frame was not kept, so its tokens are missing here.",
        "The text of %(count)d hidden frames was not kept, so their tokens are missing here.",
        count,
    )
    return f"{note} {emptied % {'count': count}}"


def _shown(number: int, vocabulary: Vocabulary) -> ShownToken:
    if number not in ORDINARY_IDS:
        return ShownToken(number, as_debug_text(marker_name(number) or _("(no such token)")), is_special=True)
    try:
        text = "".join(_visible(character) for character in vocabulary.bytes_of[number].decode())
    except UnicodeDecodeError:
        text = f"⟨{vocabulary.bytes_of[number].hex(' ')}⟩"
    return ShownToken(number, as_debug_text(text), is_special=False)


def _visible(character: str) -> str:
    return _MARKS.get(character) or (f"⟨U+{ord(character):04X}⟩" if is_invisible(character) or character.isspace() else character)
