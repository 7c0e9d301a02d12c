"""Extracts the JSON files from an uploaded zip, with a limit on the unpacked size that is enforced while unpacking."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO

from django.utils.translation import gettext as _

from chatui.codes import ProductCode
from chatui.transfer.upload import refuse

MAX_UNPACKED = 64 * 1024 * 1024
MAX_ENTRIES = 20_000


def is_zip(data: bytes) -> bool:
    """Whether these bytes begin like a zip."""
    return data.startswith(b"PK\x03\x04")


def json_files(data: bytes) -> Iterator[bytes]:
    """The files with conversations in an export's zip; if there are none, all its JSON files. They end when ``MAX_UNPACKED`` bytes are
    unpacked, and the last one may be truncated.

    Raises:
        ImportRefusedError: it is not a zip, has too many entries, cannot be unpacked, or contains no such file.
    """
    # zipfile allocates memory for each directory entry before anything can be checked.
    if data.count(b"PK\x01\x02") > MAX_ENTRIES:
        refuse(ProductCode.TOO_LARGE, _("the archive contains more than %(count)d files") % {"count": MAX_ENTRIES})
    room = MAX_UNPACKED
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            for entry in _wanted(archive.infolist()):
                with archive.open(entry) as file:
                    unpacked = file.read(room)
                room -= len(unpacked)
                yield unpacked
                if not room:
                    return
    except _BROKEN:
        refuse(ProductCode.EMPTY, _("the archive is damaged or encrypted"))


def _wanted(entries: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    # Other compression methods may need unbounded memory.
    usable = [entry for entry in entries if entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)]
    found = [entry for entry in usable if _CONVERSATIONS.search(entry.filename)] or [
        entry for entry in usable if entry.filename.lower().endswith(".json")
    ]
    if not found:
        refuse(ProductCode.EMPTY, _("the archive contains no JSON file with conversations"))
    return sorted(found, key=lambda entry: entry.filename)[:100]


_CONVERSATIONS = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$", re.IGNORECASE)
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError, NotImplementedError, IndexError)
