"""Reads entries of a document's zip archive, with size limits. Nothing is written to disk, so entry names are harmless."""

from __future__ import annotations

import codecs
import io
import zipfile
import zlib
from collections.abc import Iterator
from posixpath import join, normpath

from chatui.documents.inside.text_collector import RefusedError
from chatui.documents.kinds import Reason

MAX_ENTRIES = 2000
MAX_UNPACKED = 200_000_000
MAX_RATIO = 200
"""The largest ratio of unpacked to packed bytes, for entries longer than ``SMALL``."""
SMALL = 1_000_000
_BLOCK = 65_536
_IS_ENCRYPTED = 0x1


def prepare(data: bytes) -> None:
    """Load the codec for the names of entries."""
    codecs.lookup("cp437")


class Archive:
    """A zip archive, whose entries are read by their exact names. The size limit applies to all entries together."""

    def __init__(self, data: bytes) -> None:
        """
        Raises:
            RefusedError: the archive is broken or encrypted, or exceeds a limit.
        """
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            raise RefusedError(Reason.BROKEN) from None
        entries = self._zip.infolist()
        if len(entries) > MAX_ENTRIES:
            raise RefusedError(Reason.LIMIT)
        self._entries = {entry.filename: entry for entry in entries}
        if len(self._entries) != len(entries):
            # With duplicate names, programs differ in which entry they use: the text read here might not be what other programs show.
            raise RefusedError(Reason.BROKEN)
        if any(entry.flag_bits & _IS_ENCRYPTED for entry in entries):
            raise RefusedError(Reason.ENCRYPTED)
        self._left = MAX_UNPACKED

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def blocks(self, name: str) -> Iterator[bytes]:
        """The bytes of an entry, one block after the other.

        Raises:
            RefusedError: there is no such entry, or it is broken or exceeds a limit.
        """
        entry = self._entries.get(name)
        if entry is None or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise RefusedError(Reason.BROKEN)
        # The sizes in the archive may be wrong; then reading ends earlier, or fails.
        if entry.file_size > SMALL and entry.file_size > entry.compress_size * MAX_RATIO:
            raise RefusedError(Reason.LIMIT)
        try:
            with self._zip.open(entry) as opened:
                while block := opened.read(_BLOCK):
                    self._left -= len(block)
                    if self._left < 0:
                        raise RefusedError(Reason.LIMIT)
                    yield block
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError):
            raise RefusedError(Reason.BROKEN) from None


def resolve_name(part: str, target: str) -> str:
    """The name of the entry that the entry ``part`` refers to as ``target``. For a target outside the archive, no entry has that name."""
    return target.lstrip("/") if target.startswith("/") else normpath(join(part.rpartition("/")[0], target))
