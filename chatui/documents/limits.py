"""The limits of uploaded files, by kind: one table.

Readers take their numbers from here; refusals, the page with the limits and docs/files.md show them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from chatui.documents.kinds import NAMED, NoTextReason
from chatui.sandbox import ProcessLimits

MAX_BYTES = 100 << 20
"""The largest file that an operator can allow."""
TEXT_BYTES = 4_000_000
"""The most text, in UTF-8."""
MAX_PARTS = 5000
"""The most pages, sheets, slides, chapters or other parts with a label."""
MAX_PAGES = 2000
MAX_CELLS = 200_000
"""The most cells with text of a workbook, with the places of its merged cells."""
MAX_STRINGS = 500_000
"""The most texts that the cells of a workbook share."""
MAX_UNPACKED = 200_000_000
MAX_RATIO = 200
"""The largest ratio of unpacked to packed bytes, for entries longer than a megabyte."""
MAX_ENTRIES = 2000
MAX_ELEMENTS = 5_000_000
MAX_DEPTH = 400
"""Readers call themselves for each level."""
MAX_GROUPS = 500
"""The most groups of an RTF file in one another."""
MAX_MAIL_PARTS = 1000
MAX_MAIL_DEPTH = 8


class Beyond(Enum):
    """What happens to a file that exceeds a limit."""

    REFUSED = "refused"
    CUT = "cut"  # the text ends there, and the page says so
    COUNTED = "counted"  # what is beyond is not read, and counts as left out


@dataclass(frozen=True, slots=True)
class FileLimit:
    """A limit on files."""

    name: str
    """For its words; also the reason of a refusal if there is one."""
    most: int
    beyond: Beyond
    extensions: tuple[str, ...] = ()
    """The extensions of the files that it is for; empty for all."""


_OF_PROCESS = ProcessLimits()
_ARCHIVES = tuple(each for each in sum(NAMED.values(), ()) if each not in ("pdf", "rtf", "xls", "eml", "ipynb"))
_BOOKS = NAMED["workbook"]

TABLE = (
    FileLimit(NoTextReason.LATE, _OF_PROCESS.cpu_seconds, Beyond.REFUSED),
    FileLimit(NoTextReason.SLOW, _OF_PROCESS.wall_seconds, Beyond.REFUSED),
    FileLimit(NoTextReason.MEMORY, _OF_PROCESS.memory_bytes, Beyond.REFUSED),
    FileLimit("text", TEXT_BYTES, Beyond.CUT),
    FileLimit("parts", MAX_PARTS, Beyond.CUT),
    FileLimit("pages", MAX_PAGES, Beyond.CUT, NAMED["pdf"]),
    FileLimit(NoTextReason.OBJECTS, 0, Beyond.REFUSED, NAMED["pdf"]),
    FileLimit("cells", MAX_CELLS, Beyond.CUT, _BOOKS),
    FileLimit("mail-parts", MAX_MAIL_PARTS, Beyond.COUNTED, NAMED["mail"]),
    FileLimit("mail-levels", MAX_MAIL_DEPTH, Beyond.COUNTED, NAMED["mail"]),
    FileLimit(NoTextReason.UNPACKED, MAX_UNPACKED, Beyond.REFUSED, _ARCHIVES),
    FileLimit(NoTextReason.PACKED, MAX_RATIO, Beyond.REFUSED, _ARCHIVES),
    FileLimit(NoTextReason.ENTRIES, MAX_ENTRIES, Beyond.REFUSED, _ARCHIVES),
    FileLimit(NoTextReason.ELEMENTS, MAX_ELEMENTS, Beyond.REFUSED, _ARCHIVES),
    FileLimit(NoTextReason.LEVELS, MAX_DEPTH, Beyond.REFUSED, _ARCHIVES),
    FileLimit(NoTextReason.STRINGS, MAX_STRINGS, Beyond.REFUSED, ("xlsx", "xlsm")),
    FileLimit(NoTextReason.GROUPS, MAX_GROUPS, Beyond.REFUSED, ("rtf",)),
)
"""All but the size of a file, which the operator sets. ``OBJECTS``: the limits of the library that reads PDF have no single number."""

BY_REASON = {each.name: each for each in TABLE if each.beyond is Beyond.REFUSED}
"""The limits beyond which a file is refused, by the reason of the refusal."""
