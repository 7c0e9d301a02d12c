"""Detects which product an export is from by its contents, and reads it one conversation at a time.

JSON files are extracted from an uploaded zip with a limit on the unpacked size that is enforced while unpacking. A JSON list is split into
its items without parsing them, so that only one of them is in parsed form at a time.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import islice
from pathlib import PurePosixPath

from django.utils.translation import gettext

from chatui.codes import ProductCode
from chatui.transfer import upload
from chatui.transfer.other_products import chatgpt, claude, deepseek, librechat, open_webui, own_archive
from chatui.transfer.other_products.conversation_tree import DroppedKind, ExportedConversation, Object
from chatui.transfer.upload import refuse
from renderer import strict_json
from renderer.strict_json import JsonValue, list_of, object_of, text_of

MAX_UNPACKED = 64 * 1024 * 1024
MAX_ENTRIES = 20_000


def is_zip(data: bytes) -> bool:
    return data.startswith(b"PK\x03\x04")


def json_files(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the files with conversations in an export's zip; if there are none, of all its JSON files. They end when
    ``MAX_UNPACKED`` bytes are unpacked, and the last one may be truncated. Raises ImportRefusedError if it is not a zip, has too many
    entries, cannot be unpacked, or contains no such file."""
    # zipfile allocates memory for each directory entry before anything can be checked.
    if data.count(b"PK\x01\x02") > MAX_ENTRIES:
        refuse(ProductCode.TOO_LARGE, gettext("the archive contains more than %(count)d files") % {"count": MAX_ENTRIES})
    room = MAX_UNPACKED
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            for entry in _wanted(archive.infolist()):
                with archive.open(entry) as file:
                    unpacked = file.read(room)
                room -= len(unpacked)
                yield entry.filename, unpacked
                if not room:
                    return
    except _BROKEN:
        refuse(ProductCode.EMPTY, gettext("the archive is damaged or encrypted"))


def _count_others(data: bytes) -> int:
    """How many other JSON files an export's zip has, such as projects. Those that hold nothing do not count."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        entries = archive.infolist()
    wanted = {entry.filename for entry in _wanted(entries)}
    if _is_ours(entries):
        wanted |= {_FOLDERS, ASSISTANTS, PROMPTS}
    return sum(entry.filename.endswith(".json") and entry.filename not in wanted and entry.file_size > len("[{}]") for entry in entries)


def _count_attached(data: bytes) -> int:
    """How many files of conversations an archive has that was made here: each is in a folder with the name of its conversation."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        names = archive.namelist()
    conversations = {name.removesuffix(_VERSIONS) for name in names if name.endswith(_VERSIONS)}
    return sum(str(PurePosixPath(name).parent) in conversations for name in names)


def _wanted(entries: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    usable = [entry for entry in entries if entry.compress_type in _METHODS]
    wanted = [entry for entry in usable if _CONVERSATIONS.search(entry.filename)] or [
        entry for entry in usable if entry.filename.lower().endswith(".json")
    ]
    if _is_ours(entries):
        # Its other files, such as those of a folder, would be read as conversations that are damaged.
        own = [entry for entry in usable if entry.filename.endswith(_VERSIONS) and "/" not in entry.filename]
        if not own and not any(entry.filename in (ASSISTANTS, PROMPTS) for entry in usable):
            refuse(ProductCode.EMPTY, gettext("the archive has no conversation outside the bin"))
        return sorted(own, key=lambda entry: entry.filename)
    if entries and all(entry.filename.startswith(_TAKEOUT) for entry in entries):
        refuse(
            ProductCode.EMPTY,
            upload.gemini()
            if any("Gemini" in entry.filename for entry in entries)
            else gettext("this is an export of Google’s, which has no conversations that can be imported"),
        )
    if not wanted:
        refuse(ProductCode.EMPTY, gettext("the archive contains no JSON file with conversations"))
    return sorted(wanted, key=lambda entry: entry.filename)[:100]


_TRANSCRIPT, _VERSIONS = ".ocml", "-versions.json"
"""The files of each conversation in what “Download everything” makes. Those in the bin and in folders of files are further down."""
_FOLDERS = "folders.json"
ASSISTANTS, PROMPTS = "assistants.json", "prompts.json"
_ALWAYS = {"READ-ME.txt", "account.json"}
"""What it has without any conversation, too."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Other compression methods may need unbounded memory."""
MAX_LIST_BYTES = 8 * 1024 * 1024
MAX_LIST_MARKS = 100_000
"""The most strings, commas and opening brackets of a list of folders, assistants or prompts."""

MAX_LISTED = 400
"""The most assistants or prompts of an archive that are looked at. Nobody has as many."""


def _is_ours(entries: list[zipfile.ZipInfo]) -> bool:
    """Whether “Download everything” seems to have made the archive."""
    names = {entry.filename for entry in entries}
    return names >= _ALWAYS or any(name.endswith((_TRANSCRIPT, _VERSIONS)) for name in names)


class OwnFiles:
    """The files of an archive that was made here, by name. Any other file has none."""

    def __init__(self, data: bytes) -> None:
        self._archive: zipfile.ZipFile | None = None
        if is_zip(data) and data.count(b"PK\x01\x02") <= MAX_ENTRIES:
            with suppress(*_BROKEN):
                archive = zipfile.ZipFile(BytesIO(data))
                self._archive = archive if _is_ours(archive.infolist()) else None

    def read(self, name: str, most: int) -> bytes | None:
        """None if there is no such file, or it cannot be unpacked, or has more than ``most`` bytes."""
        with suppress(KeyError, *_BROKEN):
            entry = self._archive.getinfo(name) if self._archive else None
            if self._archive and entry and entry.compress_type in _METHODS:
                with self._archive.open(entry) as file:
                    content = file.read(most + 1)
                return content if len(content) <= most else None
        return None

    def listed(self, name: str, key: str) -> list[JsonValue] | None:
        """The list with that key in a JSON file; empty if there is no such file, None if it cannot be read."""
        if self._archive is None or name not in self._archive.namelist():
            return []
        content = self.read(name, MAX_LIST_BYTES)
        if content is None or strict_json.has_more_marks(content, MAX_LIST_MARKS):
            return None
        found = (_value(content) or {}).get(key)
        return found if isinstance(found, list) else None


def _own_folders(data: bytes) -> dict[str, str]:
    """By the name of the file with a conversation's versions, the name of its folder, in an archive that was made here."""
    folders = [object_of(folder) for folder in OwnFiles(data).listed(_FOLDERS, "folders") or ()]
    return {
        text_of(conversation) + _VERSIONS: text_of(folder.get("name"))
        for folder in folders
        for conversation in list_of(folder.get("conversations"))
    }


_CONVERSATIONS = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$", re.IGNORECASE)
_TAKEOUT = "Takeout/"
"""The folder of everything in an export of Google's, in every language."""
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError, IndexError, OverflowError)
"""NotImplementedError is a RuntimeError."""


MAX_BRACKETS = 4_000_000
"""The most brackets of a file that are examined. A message of ChatGPT has about thirty."""

MAX_ITEMS = 50_000


class TooMuchError(Exception):
    """The file has too much: the rest of it is not read."""


def begins_list(data: bytes) -> bool:
    return _LIST_BEGINS.match(data) is not None


def items(data: bytes) -> Iterator[bytes]:
    """The objects and lists in a JSON list. Text after the list is ignored; an unterminated item is returned as it is. Raises TooMuchError
    after the items found so far, if there is too much to examine."""
    found = _LIST_BEGINS.match(data)
    position, begin, depth, given = found.end() if found else len(data), 0, 1, 0
    for _ in range(MAX_BRACKETS):
        step = _TO_BRACKET.match(data, position)
        if step is None:
            break
        position = step.end()
        if data[position - 1] in b"[{":
            begin = position - 1 if depth == 1 else begin
            depth += 1
            continue
        depth -= 1
        if depth == 0:
            return
        if depth == 1:
            if (given := given + 1) > MAX_ITEMS:
                raise TooMuchError
            yield data[begin:position]
    else:
        raise TooMuchError
    if depth > 1:
        yield data[begin:]


_LIST_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+\[")
# Everything up to the next bracket outside a string, in one step. An unterminated string has none.
_TO_BRACKET = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+[\[\]{}]', re.DOTALL)


MAX_CONVERSATION_BYTES = 16 * 1024 * 1024
MAX_CONVERSATION_MARKS = 600_000
"""The most strings, commas and opening brackets of one conversation. A message of ChatGPT has about a hundred."""

_PRODUCTS = (own_archive, deepseek, chatgpt, open_webui, librechat, claude)
"""DeepSeek before ChatGPT, whose ``mapping`` it has, too."""


@dataclass(frozen=True, slots=True)
class RawConversation:
    """One conversation of an export, as unparsed JSON."""

    key: str
    """The SHA-256 of its bytes, in hexadecimal."""
    data: bytes
    folder: str = ""
    """The name of its folder, if another file of the export has it."""

    def read(self) -> ExportedConversation | DroppedKind:
        """Parse it. Returns the reason as a Kind if it cannot be read."""
        if _is_too_large(self.data):
            return DroppedKind.CONVERSATION_TOO_LARGE
        value = _value(self.data)
        product = next((product for product in _PRODUCTS if value and product.is_conversation(value)), None)
        if product is None or value is None:
            return DroppedKind.CONVERSATION_UNREADABLE
        found: ExportedConversation = product.read(value)
        return replace(found, folder=self.folder) if self.folder else found


def is_export(data: bytes) -> bool:
    """Whether an upload is an export of another product: a zip, or JSON in the format of one of these products."""
    if is_zip(data):
        return True
    if _OBJECT_BEGINS.match(data):
        return not _is_too_large(data) and _is_known(data)
    # Checks several conversations, because one of them may be damaged.
    with suppress(TooMuchError):
        return any(not _is_too_large(item) and _is_known(item) for item in islice(items(data), 20))
    return False


def conversations(data: bytes) -> Iterator[RawConversation | DroppedKind]:
    """All conversations of an export, in the order of the file; a Kind takes the place of what was not read. Raises ImportRefusedError if
    the archive cannot be read."""
    room = MAX_UNPACKED
    folders = _own_folders(data) if is_zip(data) else {}
    for name, file in json_files(data) if is_zip(data) else [("", data)]:
        if begins_list(file):
            try:
                yield from map(_raw, items(file))
            except TooMuchError:
                yield DroppedKind.FILE_CUT
        else:
            yield replace(_raw(file), folder=folders.get(name, ""))
        room -= len(file)
    if room <= 0:
        yield DroppedKind.FILE_CUT
    if is_zip(data):
        yield from [DroppedKind.OTHER_FILE] * _count_others(data)
        yield from [DroppedKind.FILE] * _count_attached(data)


def _raw(data: bytes) -> RawConversation:
    return RawConversation(hashlib.sha256(data).hexdigest(), data)


def _is_known(data: bytes) -> bool:
    value = _value(data)
    return value is not None and any(product.is_conversation(value) for product in _PRODUCTS)


def _is_too_large(data: bytes) -> bool:
    return len(data) > MAX_CONVERSATION_BYTES or strict_json.has_more_marks(data, MAX_CONVERSATION_MARKS)


_OBJECT_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+\{")


def _value(data: bytes) -> Object | None:
    try:
        value = strict_json.loads(data.decode("utf-8-sig", "replace"))
    except strict_json.JsonError:
        return None
    return value if isinstance(value, dict) else None
