"""Formats a branch for download, as Markdown, OpenChatML or JSON, under a file name that is valid on every file system.

Owners get what they may see; staff with the permission get everything. File names are made from conversation titles.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from uuid import UUID

from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext as _

from chatui.accounts import profile
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import transcripts
from chatui.store.file_names import shortened
from chatui.transfer import files
from renderer.characters import one_line
from renderer.frame_kinds import is_preamble
from renderer.frames import Frame, Role, Transcript
from renderer.gate import Audience, show
from renderer.ocml import document, interchange


class DownloadFormat(StrEnum):
    """The format of a download."""

    MARKDOWN = "markdown"
    OPENCHATML = "openchatml"
    JSON = "json"

    @property
    def extension(self) -> str:
        """The file name extension."""
        return {DownloadFormat.MARKDOWN: "md", DownloadFormat.OPENCHATML: "ocml", DownloadFormat.JSON: "json"}[self]


def transcript(row: Conversation, person: User, audience: Audience, file_format: DownloadFormat = DownloadFormat.OPENCHATML) -> str:
    """The open branch as a document. For the audience DEBUG, the caller must have checked ``access.view_hidden``."""
    messages = transcripts.branch(row, transcripts.active_leaf(row, person))
    found = transcripts.transcript(row, messages, audience)
    match file_format:
        case DownloadFormat.OPENCHATML:
            return document.dump(found)
        case DownloadFormat.JSON:
            return interchange.dump_json(found)
        case DownloadFormat.MARKDOWN:
            return _markdown(transcripts.title_text(row), found, audience)


def conversation_file_name(row: Conversation) -> str:
    """A file name for this conversation, without an extension: day, title, and enough of the id to be unique."""
    title = slugify(row.title, allow_unicode=True)[:60].strip("-") or "conversation"
    return f"{row.created_at:%Y-%m-%d}-{title}-{row.pk.hex[-8:]}"


def all_files(person: User) -> Iterator[tuple[str, str | bytes]]:
    """The file names and texts of all the person's conversations, one at a time: Markdown for reading, OpenChatML for importing elsewhere.
    Uploaded and generated files of a conversation are in a directory with its name.

    The last files are ``folders.json``, with the name and instructions of each folder and the names of the files in it, without extensions;
    and ``settings.json``, with the person's settings and instructions, if any.
    """
    inside: dict[UUID | None, list[str]] = defaultdict(list)
    for row in access.all_own_conversations(person):
        inside[row.folder_id].append(conversation_file_name(row))
        for file_format in (DownloadFormat.MARKDOWN, DownloadFormat.OPENCHATML):
            yield f"{conversation_file_name(row)}.{file_format.extension}", transcript(row, person, Audience.END_USER, file_format)
        yield from files.for_archive(row, conversation_file_name(row))
    # One query for all folders, because a folder may be deleted while the archive is sent.
    if folders := access.own_folders(person, with_instructions=True):
        listed = [{"name": each.name, "instructions": each.instructions, "conversations": inside[each.pk]} for each in folders]
        yield "folders.json", json.dumps({"folders": listed}, ensure_ascii=False, indent=2) + "\n"
    if any((own := asdict(profile.settings_of(person))).values()):
        yield "settings.json", json.dumps(own, ensure_ascii=False, indent=2) + "\n"


def _markdown(title: str, found: Transcript, audience: Audience) -> str:
    # Not in f-strings, in which Babel finds no sentences with Python 3.11.
    parts = ["# " + (title or _("Conversation"))]
    for frame in found.frames:
        body = show(frame, audience)
        if audience is Audience.DEBUG:
            parts += [f"## {_heading(frame)}", _fenced(body)]
        elif frame.header.role == Role.USER:
            parts += ["## " + _("Question"), body]
        else:
            parts += [body] if is_preamble(frame.header) else ["## " + _("Answer"), body]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _heading(frame: Frame) -> str:
    """The header of a frame as a plain-text heading."""
    words = [f"{name} {value}" if name not in ("role", "channel") else value for name, value in frame.header.as_written().items()]
    return re.sub(r"[`<>\[\]*_\\\s]+", " ", " · ".join(words)).strip()


def _fenced(text: str) -> str:
    """Escape text, so that Markdown readers show it as plain text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


_MAX_BYTES = 120
"""The longest title in a name, in bytes of UTF-8. File systems allow 255 for the whole name, and people add to it."""
_RESERVED = re.compile(r'[<>:"/\\|?*]+')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


def file_name(title: str, ending: str) -> str:
    """The title as a file name that ends with ``ending``; ``conversation`` if no character of the title is allowed in one. Invisible
    characters are removed, too.
    """
    name = one_line(_RESERVED.sub(" ", title)).strip(". ")
    name = shortened(name, len(name.encode()[:_MAX_BYTES].decode(errors="ignore"))).strip(". ")
    if not name or _DEVICES.match(name):
        name = f"conversation {name}".strip()
    return name + ending


def attachment(title: str, ending: str) -> str:
    """The ``Content-Disposition`` header of a download with that name (RFC 6266, RFC 8187)."""
    return str(content_disposition_header(True, file_name(title, ending)))
