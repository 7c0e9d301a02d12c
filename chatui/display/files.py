"""Prepares the files of a conversation for its owner: those that tools made, the documents of a question, and uploads.

The files that tools made are shown below an answer to its owner only, never through a share link. Documents are chips below a question, for
the owner only as well; no page contains their text. An upload has its share of the model's room for files, or why it was refused; nobody
is shown tokens.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Count
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatui.audit_log.record import Visitor
from chatui.display import file_limits
from chatui.documents import plain_text
from chatui.documents.kinds import NAMED, HiddenPart, NoTextReason, UnreadThing
from chatui.documents.limits import BY_REASON
from chatui.env import environment
from chatui.model_servers import choice as model_choice
from chatui.model_servers.choice import NoSuchModelError
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentPart, DocumentText, DocumentUse, SentDocument, StoredFile
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import context_use, uploads
from chatui.store import documents as store_documents
from chatui.store import files as store_files
from chatui.store.document_frames import FRAME_TOKENS, MARK_TOKENS

_VERSION_CHARS = 8
"""How many characters of the content's digest are used."""


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file below an answer."""

    id: str
    name: str = field(repr=False)
    size: int
    """In bytes."""
    version: str
    """Changes with the content, so that no browser shows an old picture from its cache."""
    is_picture: bool
    """Whether it has a format that is shown in place, and is not too large for a browser."""


def shown_file(file: StoredFile) -> ShownFile:
    """The file below an answer."""
    return ShownFile(str(file.pk), file.name, file.content.size, file.content.sha256[:_VERSION_CHARS], file.content.width is not None)


def of_turn(row: Conversation, turn_id: UUID) -> tuple[ShownFile, ...]:
    """The files of a turn in this conversation."""
    turn = access.turn_of(row, turn_id)
    return tuple(map(shown_file, store_files.of_turns([turn.pk]).get(turn.pk, ())))


def of_ended(turn: Turn) -> tuple[ShownFile, ...]:
    """The files of an answer that has just ended: those of its last turn, and of the turns that it continued."""
    if turn.continued_message is None:
        return tuple(map(shown_file, store_files.of_turns([turn.pk]).get(turn.pk, ())))
    if not (files := store_files.of_question(turn.question_id)):
        return ()
    rows = Turn.objects.filter(question=turn.question_id).select_related("continued_message").defer("request")
    before = list(_before(turn.continued_message, {row.pk: row for row in rows}))
    return tuple(shown_file(file) for key in (*reversed(before), turn.pk) for file in files.get(key, ()))


def _before(cut: Message, turns: Mapping[UUID, Turn]) -> Iterable[UUID]:
    """The turns that wrote an answer up to this message, last one first."""
    at: Message | None = cut
    while at is not None and (turn := turns.get(at.turn_id) if at.turn_id else None) is not None:
        yield turn.pk
        at = turn.continued_message


@dataclass(frozen=True, slots=True)
class DocumentChip:
    """A document chip."""

    id: str
    """That of its file; empty if its owner has deleted it."""
    name: str = field(repr=False)
    size: int = 0
    """In bytes."""
    use_text: str = ""
    """Which part of it the model got, in words; empty for all of it."""
    tool_server: str = ""
    """From which it was attached; empty for a file of the person's own."""


def shown(row: SentDocument) -> DocumentChip:
    """The chip of a document. ``row`` must come with its file and the file's content."""
    if row.file is None:
        return DocumentChip("", "")
    return DocumentChip(str(row.file.pk), row.file.name, row.file.content.size, _use_text(row), row.file.tool_server)


def _use_text(row: SentDocument) -> str:
    match row.use:
        case DocumentUse.PLACES:
            return _("%(places)s only") % {"places": row.places}
        case DocumentUse.FIRST:
            return _("the beginning")
        case DocumentUse.SEARCH:
            return _("search only")
    return ""


_MAX_PLACES = 300
"""The most pages of one file to list."""


_Place = tuple[int, str, int]
"""Number, label and tokens."""


@dataclass(frozen=True, slots=True)
class ReadingModel:
    """The model that will read the files: its ``room`` for the files of one question, and whether it ``can_search`` in them."""

    room: context_use.Room
    can_search: bool


def reader(person: User, choice: str) -> ReadingModel:
    """The reader for the model that is chosen at the message box."""
    try:
        chosen = model_choice.validated(person, choice)
    except NoSuchModelError:
        chosen = ""
    return ReadingModel(context_use.room(person, context_use.context_of(person, chosen)), context_use.can_search(chosen))


def are_any(person: User, conversation_id: UUID | None) -> bool:
    """Whether any files wait at this message box."""
    return uploads.rows_at(person.pk, conversation_id).exists()


def waiting_at(person: User, conversation_id: UUID | None, choice: str) -> dict[str, Any]:
    """The files that wait at a message box, each as in ``as_json``."""
    files, asked = uploads.at(person.pk, conversation_id), reader(person, choice)
    return {"ok": True, "files": [chip for chip in _all_as_json(files, asked) if chip is not None]}


def of_question(visitor: Visitor, conversation_id: object, question_id: object, choice: str) -> dict[str, Any]:
    """The files of a question that its owner is editing, without deleted ones. Each is as in ``as_json``, with how the model got it, and
    cannot be deleted from there."""
    question = access.visible_message(visitor, conversation_id, question_id, action="files of a question")
    rows = store_documents.of_questions([question]).get(question.pk, ()) if question.is_question else ()
    asked = reader(access.person_of(visitor), choice)
    there = [(row, row.file) for row in rows if row.file is not None]
    chips = [(row, chip) for (row, _), chip in zip(there, _all_as_json([file for _, file in there], asked), strict=True)]
    return {"ok": True, "files": [{**chip, "delete": "", "use": row.use, "chosen": row.places} for row, chip in chips if chip]}


def as_json(file: StoredFile, asked: ReadingModel) -> dict[str, Any] | None:
    """A file that waits to be sent, for its chip; None if its text was removed, or is not read yet. ``room``: how many tokens the files
    of one question may have; ``places``: number, label and tokens of each page, if there are several; ``search``: whether it can be
    searched."""
    return _all_as_json([file], asked)[0]


def _all_as_json(files: Sequence[StoredFile], asked: ReadingModel) -> list[dict[str, Any] | None]:
    """As ``as_json``, for several files. Three statements, however many files there are."""
    contents = {file.content_id for file in files}
    texts = DocumentText.objects.in_bulk(contents)
    counted = DocumentPart.objects.filter(content__in=contents).values("content_id").annotate(count=Count("pk"))
    counts: dict[int, int] = dict(counted.values_list("content_id", "count"))
    places: dict[int, list[_Place]] = defaultdict(list)
    few = [content for content, count in counts.items() if count <= _MAX_PLACES]
    rows = DocumentPart.objects.filter(content__in=few).exclude(label="").order_by("content", "number")
    for content, number, label, tokens in rows.values_list("content_id", "number", "label", "tokens"):
        places[content].append((number, label, tokens + MARK_TOKENS))
    found = [(file, texts.get(file.content_id)) for file in files]
    return [_as_json(file, text, (counts.get(text.pk, 0), places[text.pk]), asked) if text else None for file, text in found]


def _as_json(file: StoredFile, text: DocumentText, parts: tuple[int, list[_Place]], asked: ReadingModel) -> dict[str, Any]:
    count, places = parts
    room = asked.room
    encoding, can_choose = _encoding(file, text)
    tokens = FRAME_TOKENS + text.tokens + MARK_TOKENS * count
    return {
        "id": str(file.pk),
        "name": file.name,
        "size": file.content.size,
        "tokens": tokens,
        "room": room.documents,
        "description": " · ".join(filter(None, [from_server(file.tool_server), _size_text(tokens, room)])),
        "note": _note(text),
        "places": places if len(places) > 1 else [],
        "search": asked.can_search,
        "text": reverse("file_text", args=[file.pk]),
        "delete": reverse("file_delete", args=[file.pk]),
        "encoding": encoding,
        "encodings": list(plain_text.ENCODINGS.items()) if can_choose else [],
        "recode": reverse("file_encoding", args=[file.pk]) if can_choose else "",
    }


def _encoding(file: StoredFile, text: DocumentText) -> tuple[str, bool]:
    """The encoding of a text file, and whether the person can choose another one: where it is not certain, and the file is not sent."""
    encoding, _ = store_documents.encoding_of(text)
    is_certain = not encoding or (encoding.startswith("utf") and UnreadThing.CHARACTER not in dict(store_documents.unread(text)))
    return encoding, not is_certain and file.conversation_id is None and not store_documents.is_sent(file.content)


def earlier_as_json(file: StoredFile) -> dict[str, Any]:
    """A file that was sent before, for the list of earlier files. ``again``: the address that attaches it again."""
    day = formats.date_format(timezone.localtime(file.created_at), "DATE_FORMAT")
    return {
        "name": file.name,
        "description": " · ".join(filter(None, [from_server(file.tool_server), filesizeformat(file.content.size), day])),
        "again": reverse("file_again", args=[file.pk]),
    }


def from_server(name: str) -> str:
    """From which tool server a file was attached; empty for a file of the person's own."""
    return _("from the tool server %(server)s") % {"server": name} if name else ""


def sentence(why: str, places: int = 0) -> str:
    """The sentence that tells a person why a file is refused."""
    if why == NoTextReason.SCANNED and places:
        words = ngettext(
            "No text on %(count)d of %(count)d page: it is a picture.",
            "No text on %(count)d of %(count)d pages: they are pictures.",
            places,
        )
        return words % {"count": places}
    if why.startswith("as-"):
        words = _("Files of this type cannot be read. Open it in the program that made it, save it as .%(type)s, and attach that file.")
        return words % {"type": why.removeprefix("as-")}
    if why in BY_REASON:
        return file_limits.refusal(why)
    return _SENTENCES[why]() if why in _SENTENCES else _("This file could not be read. It may be damaged.")


def accepted() -> str:
    """The sentence that tells which files can be attached."""
    words = _(
        "You can attach text, PDF, office documents (%(text)s), slides (%(slides)s), workbooks (%(workbook)s), mails (%(mail)s), books "
        "(%(book)s) and notebooks (%(notebook)s) of up to %(count)d MB each."
    )
    return words % {"count": environment().file_mb, **{name: ", ".join(extensions) for name, extensions in NAMED.items()}}


def _size_text(tokens: int, room: context_use.Room) -> str:
    """How much of a message's room for files a file takes. People have no measure for tokens, so these are not named; and unlike files do
    not look alike, so small shares have a decimal."""
    percent = room.percent(tokens)
    if not room.fits(tokens):
        return _("over the limit")
    if percent < LEAST_PERCENT:
        return _("less than %(percent)s%% of the limit") % {"percent": formats.number_format(LEAST_PERCENT)}
    return _("%(percent)s%% of the limit") % {"percent": formats.number_format(percent, 0 if percent >= _WHOLE_PERCENT else 1)}


LEAST_PERCENT, _WHOLE_PERCENT = 0.1, 10
"""Smaller shares are not told exactly; from the latter on, no decimal is."""


def _note(text: DocumentText) -> str:
    values = {"count": text.places_without_text, "all": text.places}
    without_text = _("No text on %(count)d of %(all)d pages.") % values if text.places_without_text else ""
    end = _("The file is too long to be read completely: its end is missing.") if text.is_cut else without_text
    hidden = [_LEFT_OUT[kind]() % {"names": names} for kind, names in store_documents.left_out(text).items()]
    counts = [_UNREAD[kind](count) % {"count": count} for kind, count in store_documents.unread(text)]
    unread = _("Left out: %(things)s.") % {"things": ", ".join(counts)} if counts else ""
    encoding, is_doubtful = store_documents.encoding_of(text)
    name = plain_text.ENCODINGS.get(encoding, "")
    doubt = _("Its encoding is not certain: it was read as %(name)s.") % {"name": name} if is_doubtful else ""
    return " ".join(filter(None, [doubt, end, *hidden, unread]))


_LEFT_OUT: dict[HiddenPart, Callable[[], str]] = {
    HiddenPart.SHEET: lambda: _("Hidden sheets were left out: %(names)s."),
    HiddenPart.CELLS: lambda: _("Hidden rows or columns were left out of these sheets: %(names)s."),
    HiddenPart.SLIDE: lambda: _("Hidden slides were left out: %(names)s."),
    HiddenPart.OBJECTS: lambda: _("Hidden objects were left out of these slides: %(names)s."),
    HiddenPart.TEXT: lambda: _("Hidden text was left out."),
}


_UNREAD: dict[UnreadThing, Callable[[int], str]] = {
    UnreadThing.PICTURE: lambda count: ngettext("%(count)d picture", "%(count)d pictures", count),
    UnreadThing.CHART: lambda count: ngettext("%(count)d chart", "%(count)d charts", count),
    UnreadThing.DIAGRAM: lambda count: ngettext("%(count)d diagram", "%(count)d diagrams", count),
    UnreadThing.SHAPE: lambda count: ngettext("%(count)d drawn shape", "%(count)d drawn shapes", count),
    UnreadThing.EQUATION: lambda count: ngettext("%(count)d equation", "%(count)d equations", count),
    UnreadThing.COMMENT: lambda count: ngettext("%(count)d comment", "%(count)d comments", count),
    UnreadThing.NOTE: lambda count: ngettext("%(count)d note", "%(count)d notes", count),
    UnreadThing.HEADER: lambda count: ngettext("%(count)d header or footer", "%(count)d headers or footers", count),
    UnreadThing.TEXT_BOX: lambda count: ngettext("%(count)d text box", "%(count)d text boxes", count),
    UnreadThing.LINK: lambda count: ngettext("%(count)d link", "%(count)d links", count),
    UnreadThing.FIELD: lambda count: ngettext("%(count)d form field", "%(count)d form fields", count),
    UnreadThing.FILE: lambda count: ngettext("%(count)d file inside it", "%(count)d files inside it", count),
    UnreadThing.MEDIA: lambda count: ngettext("%(count)d sound or film", "%(count)d sounds or films", count),
    UnreadThing.PIVOT: lambda count: ngettext("%(count)d pivot table", "%(count)d pivot tables", count),
    UnreadThing.SCRIPT: lambda count: ngettext("%(count)d script", "%(count)d scripts", count),
    UnreadThing.CHANGE: lambda count: ngettext("%(count)d tracked change", "%(count)d tracked changes", count),
    UnreadThing.LAYER: lambda count: ngettext("%(count)d layer that is off", "%(count)d layers that are off", count),
    UnreadThing.PART: lambda count: ngettext("%(count)d part", "%(count)d parts", count),
    UnreadThing.CHARACTER: lambda count: ngettext("%(count)d unreadable character", "%(count)d unreadable characters", count),
    UnreadThing.OTHER: lambda count: ngettext("%(count)d other thing", "%(count)d other things", count),
}


_SENTENCES: dict[str, Callable[[], str]] = {
    NoTextReason.PICTURE: lambda: " ".join([_("The model reads text only, and cannot see pictures."), accepted()]),
    NoTextReason.TYPE: lambda: " ".join([_("Files of this type cannot be read, or the file does not match its name."), accepted()]),
    NoTextReason.BLANK: lambda: _("There is no text in this file."),
    NoTextReason.HIDDEN: lambda: _("All text of this file is hidden in it, and hidden text is not read."),
    NoTextReason.SCANNED: lambda: _("Its pages are pictures and contain no text."),
    NoTextReason.ENCRYPTED: lambda: _("This file is protected by a password."),
    NoTextReason.UNAVAILABLE: lambda: _("Files of this type cannot be read at the moment."),
    NoTextReason.TOO_LONG: lambda: _("The file is larger than %(count)d MB.") % {"count": environment().file_mb},
    "quota": lambda: _("Your files already use your limit of %(count)d MB.") % {"count": environment().files_of_person_mb},
    "gone": lambda: _("This file was removed while it was being read."),
    "busy": lambda: _("Too many of your files are being read at the moment. Try again when some are done."),
    "infected": lambda: _("This site's scanner found harmful content in this file."),
    "unchecked": lambda: _("This file could not be checked for harmful content, so it was not accepted. Try again in a moment."),
}
