"""Formats a branch for download, as Markdown, OpenChatML or JSON, under a file name that is valid on every file system.

Owners get what they may see; staff with the permission get everything. File names are made from conversation titles.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import date
from enum import StrEnum
from itertools import chain
from uuid import UUID

from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext as _

from chatui.accounts import api_keys, profile
from chatui.models.assistants import AssistantVersion
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.ratings import Rating
from chatui.models.tool_sign_in import ToolSignIn
from chatui.models.user import User
from chatui.permissions import access, assistants
from chatui.store import titles, transcripts
from chatui.store.file_names import DEVICES, shortened
from chatui.transfer import collections, files, saved_prompts, shares
from renderer.characters import one_line
from renderer.frame_kinds import is_preamble
from renderer.frames import Frame, Role, Transcript
from renderer.gate import Audience, may_see, show
from renderer.ocml import document, interchange


class DownloadFormat(StrEnum):
    MARKDOWN = "markdown"
    OPENCHATML = "openchatml"
    JSON = "json"

    @property
    def extension(self) -> str:
        return {DownloadFormat.MARKDOWN: "md", DownloadFormat.OPENCHATML: "ocml", DownloadFormat.JSON: "json"}[self]


def transcript(row: Conversation, person: User, audience: Audience, file_format: DownloadFormat = DownloadFormat.OPENCHATML) -> str:
    """The open branch as a document. For the audience DEBUG, the caller must have checked ``access.view_hidden``."""
    messages = transcripts.branch(row, transcripts.active_leaf(row, person))
    whole = transcripts.transcript(row, messages, audience)
    match file_format:
        case DownloadFormat.OPENCHATML:
            return document.dump(whole)
        case DownloadFormat.JSON:
            return interchange.dump_json(whole)
        case DownloadFormat.MARKDOWN:
            return _markdown(titles.title_text(row), whole, audience)


def conversation_file_name(row: Conversation) -> str:
    """A file name for this conversation, without an extension: day, title, and enough of the id to be unique."""
    title = slugify(row.title, allow_unicode=True)[:60].strip("-") or "conversation"
    return f"{row.created_at:%Y-%m-%d}-{title}-{row.pk.hex[-8:]}"


Content = str | bytes | Iterator[str]
"""The content of a file, whole or in pieces."""


def all_files(person: User) -> Iterator[tuple[str, Content]]:
    """The names and contents of all files of a person's archive, one at a time; ``ABOUT``, the first, says what they are.

    ``folders.json`` has the name and instructions of each folder and the names of the files in it, without extensions; ``assistants.json``
    the newest version of each assistant that the person made, and ``assistants/`` their pictures; ``collections.json`` their collections,
    and ``collections/`` the documents in them; ``prompts.json`` their saved prompts; ``settings.json`` the person's settings and
    instructions, if any; ``account.json`` their account, keys and share links, without secrets.
    """
    # In the language of the request, which is over when the last files are read.
    return chain([(ABOUT, _about())], _conversations_and_folders(person), _made_by(person), _about_person(person))


def _conversations_and_folders(person: User) -> Iterator[tuple[str, Content]]:
    inside: dict[UUID | None, list[str]] = defaultdict(list)
    for row in access.all_own_conversations(person):
        inside[row.folder_id].append(conversation_file_name(row))
        yield from _files_of(row, person)
    for row in access.all_own_conversations(person, deleted=True):
        yield from ((f"bin/{name}", content) for name, content in _files_of(row, person))
    # One query for all folders, because a folder may be deleted while the archive is sent.
    if folders := access.own_folders(person, with_instructions=True):
        listed = [{"name": each.name, "instructions": each.instructions, "conversations": inside[each.pk]} for each in folders]
        yield "folders.json", _json({"folders": listed})


def _made_by(person: User) -> Iterator[tuple[str, Content]]:
    """What the person made for use in conversations."""
    if made := list(assistants.own_all(person)):
        yield "assistants.json", _json({"assistants": [_assistant(version) for version in made]})
        yield from ((_picture_name(version), bytes(version.picture.data)) for version in made if version.picture)
    described, documents = collections.for_archive(person)
    if described:
        yield "collections.json", _json({"collections": described})
    yield from documents
    if prompts := saved_prompts.written(person):
        yield "prompts.json", prompts


def _about_person(person: User) -> Iterator[tuple[str, Content]]:
    if any((own := asdict(profile.settings_of(person))).values()):
        yield "settings.json", _json(own)
    yield "account.json", _json(_account(person))


def _assistant(version: AssistantVersion) -> dict[str, object]:
    columns = ("name", "initials", "description", "instructions", "choice", "effort", "starters", "tools", "created_at")
    groups = sorted(version.assistant.groups.values_list("name", flat=True))
    files = sorted(version.collections.filter(deleted_at=None).values_list("name", flat=True))
    picture = _picture_name(version) if version.picture_id else ""
    return {**{name: getattr(version, name) for name in columns}, "picture": picture, "collections": files, "groups": groups}


def _picture_name(version: AssistantVersion) -> str:
    name = slugify(version.name, allow_unicode=True).strip("-") or "assistant"
    return f"assistants/{name}-{version.assistant_id.hex[-8:]}.png"


def conversations(person: User, keys: Iterable[UUID]) -> Iterator[tuple[str, Content]]:
    """The same files of some of the person's conversations, and nothing else. Keys of others select nothing."""
    for row in access.all_own_conversations(person, keys):
        yield from _files_of(row, person)


def _files_of(row: Conversation, person: User) -> Iterator[tuple[str, Content]]:
    """The open branch as Markdown, for reading, and as OpenChatML, for importing elsewhere; all versions as JSON; and the files, in a
    directory with the conversation's name."""
    name = conversation_file_name(row)
    for file_format in (DownloadFormat.MARKDOWN, DownloadFormat.OPENCHATML):
        yield f"{name}.{file_format.extension}", transcript(row, person, Audience.END_USER, file_format)
    yield f"{name}-versions.json", _versions(row, person)
    yield from files.for_archive(row, name)


_MESSAGES_TOGETHER = 20
"""Each may hold a document of megabytes."""


def _versions(row: Conversation, person: User) -> Iterator[str]:
    """A JSON document, in pieces, with all that its owner may see of a conversation: the messages of every branch, the oldest first.

    A message is as in OpenChatML's JSON form, with its ``id``, the time when it ended, and the ``rating`` that the person gave it.
    ``parent``: the nearest message above it that is in the document. ``open``: the last message of the open branch.
    """
    about = {name: getattr(row, name) for name in ("title", "created_at", "active_at", "archived_at", "deleted_at", "is_pinned")}
    yield _json(about).removesuffix("\n}\n") + ',\n  "messages": ['
    ratings = {rating.message_id: rating for rating in Rating.objects.filter(message__conversation=row, person=person)}
    seen: dict[UUID | None, UUID | None] = {None: None}
    separator = "\n"
    tree = list(row.messages.order_by("position").values_list("pk", "parent_id", "is_visible"))
    for start in range(0, len(tree), _MESSAGES_TOGETHER):
        part = tree[start : start + _MESSAGES_TOGETHER]
        rows = transcripts.loaded(row, [key for key, _, is_visible in part if is_visible])
        frames = {message.pk: (message, transcripts.frame_of(message)) for message in rows}
        for key, parent, _is_visible in part:
            message, frame = frames.get(key, (None, None))
            if message is None or frame is None or not may_see(frame.header, Audience.END_USER):
                seen[key] = seen.get(parent)
                continue
            seen[key] = key
            yield separator + _version(message, frame, seen.get(parent), ratings.get(key))
            separator = ",\n"
    leaf = transcripts.active_leaf(row, person)
    yield f'\n  ],\n  "open": {json.dumps(seen.get(leaf.pk) if leaf else None, default=str)}\n}}\n'


def _version(message: Message, frame: Frame, parent: UUID | None, rating: Rating | None) -> str:
    values: dict[str, object] = {"id": message.pk, "parent": parent, "ended_at": message.created_at, **interchange.message_of(frame)}
    if not message.is_complete:
        values["is_complete"] = False
    if rating is not None:
        values["rating"] = {name: getattr(rating, name) for name in ("verdict", "reason", "note", "rated_at")}
    return "    " + json.dumps(values, ensure_ascii=False, default=_plain)


def _account(person: User) -> dict[str, object]:
    """What is known about a person besides what they wrote. No secret is in it: of a key only its public beginning."""
    columns = ("name", "prefix", "formats", "choices", "tools", "per_minute", "at_once", "made_by_name")
    times = ("created_at", "expires_at", "last_used_on", "revoked_at")
    return {
        "account": {
            "name": person.get_username(),
            "address": person.email,
            "created_at": person.date_joined,
            "last_sign_in_at": person.last_login,
        },
        "api_keys": [{name: getattr(key, name) for name in (*columns, *times)} for key in api_keys.keys_of(person)],
        "connected_accounts": [
            {"tool_server": server.partition(" ")[0], "connected_at": connected_at}
            for server, connected_at in ToolSignIn.objects.filter(person=person).order_by("server").values_list("server", "connected_at")
        ],
        "shared_links": [{"title": link.title, "created_at": link.made_at, "expires_at": link.ends_at} for link in shares.links(person)],
    }


def _json(values: Mapping[str, object]) -> str:
    return json.dumps(values, ensure_ascii=False, indent=2, default=_plain) + "\n"


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


ABOUT = "READ-ME.txt"


def _about() -> str:
    """What is in the archive, and what is not. Of hidden text nothing is said but that it is left out."""
    inside = (
        ("….md", _("a conversation to read, in the versions that you have open")),
        ("….ocml", _("the same, as one file that “Import conversations” reads, as it reads this whole archive")),
        ("…-versions.json", _("every version of its questions and answers, with your ratings")),
        ("…/", _("its files")),
        ("bin/", _("the same of the conversations in the bin")),
        ("folders.json", _("your folders")),
        ("assistants.json", _("the assistants that you made")),
        ("assistants/", _("their pictures")),
        ("collections.json", _("your collections of documents, and the files of your folders")),
        ("collections/", _("their documents, in the newest version")),
        ("prompts.json", _("your saved prompts, which “Import” on their page reads")),
        ("settings.json", _("your settings and instructions, if you have any")),
        ("account.json", _("your account, your API keys, your shared links and your connected accounts")),
    )
    left_out = (
        _("hidden text, such as the private reasoning of models"),
        _("temporary chats"),
        _("files that you uploaded and did not send, and earlier files of the same name in one conversation"),
        _("secrets: your password, passkeys, codes, the keys themselves, and the addresses of shared links"),
        _("the records of your usage, which are on the page “Usage”, and the audit log"),
        _("conversations whose permanent deletion has begun"),
    )
    lines = [_("What is in this archive"), *(f"- {name}: {words}" for name, words in inside), ""]
    return "\n".join([*lines, _("What it leaves out"), *(f"- {words}" for words in left_out), ""])


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


def file_name(title: str, ending: str) -> str:
    """The title as a file name that ends with ``ending``; ``conversation`` if no character of the title is allowed in one. Invisible
    characters are removed, too.
    """
    name = one_line(_RESERVED.sub(" ", title)).strip(". ")
    name = shortened(name, len(name.encode()[:_MAX_BYTES].decode(errors="ignore"))).strip(". ")
    if not name or DEVICES.match(name):
        name = f"conversation {name}".strip()
    return name + ending


def attachment(title: str, ending: str) -> str:
    """The ``Content-Disposition`` header of a download with that name (RFC 6266, RFC 8187)."""
    return str(content_disposition_header(True, file_name(title, ending)))
