"""The limits of files in words: what is refused or cut, and the sentence of each refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatui.documents.kinds import NoTextReason
from chatui.documents.limits import BY_REASON, TABLE, Beyond, FileLimit
from chatui.env import environment


@dataclass(frozen=True, slots=True)
class ShownLimits:
    """The limits of some files. ``beyond``: what happens to a file that exceeds one of them."""

    files: str
    limits: tuple[str, ...]
    beyond: str


def table() -> list[ShownLimits]:
    """All limits, those of every file first."""
    size = ShownLimits(_("Every file"), (_megabytes(environment().file_mb << 20),), _("The file is refused before it is sent."))
    rows = groupby(TABLE, lambda each: (each.extensions, each.beyond))
    return [size, *(ShownLimits(_files(names), tuple(map(words, limits)), _BEYOND[beyond]()) for (names, beyond), limits in rows)]


def refusal(reason: str) -> str:
    """The sentence for a file that exceeds one of ``BY_REASON``."""
    limit = BY_REASON[reason]
    if reason in _REFUSED:
        return _REFUSED[reason]() % {"limit": words(limit)}
    return _("There is more in this file than can be read. The limit is: %(limit)s.") % {"limit": words(limit)}


def words(limit: FileLimit) -> str:
    """The limit in words, such as "2,000 pages"."""
    return _WORDS[limit.name](limit.most) % {"count": _number(limit.most), "size": _megabytes(limit.most)}


def _files(extensions: Iterable[str]) -> str:
    return ", ".join(extensions) or _("Every file")


def _number(number: int) -> str:
    return formats.number_format(number, force_grouping=True)


def _megabytes(size: int) -> str:
    """In whole megabytes of either kind, as the limit is set."""
    return _("%(count)s MB") % {"count": _number(size // 1_000_000 if size % (1 << 20) else size >> 20)}


_WORDS: dict[str, Callable[[int], str]] = {
    NoTextReason.LATE: lambda count: ngettext("%(count)s second of a processor", "%(count)s seconds of a processor", count),
    NoTextReason.SLOW: lambda count: ngettext("%(count)s second in all", "%(count)s seconds in all", count),
    NoTextReason.MEMORY: lambda _count: _("%(size)s of memory"),
    "text": lambda _count: _("%(size)s of text"),
    "parts": lambda count: ngettext("%(count)s page, sheet, slide or chapter", "%(count)s pages, sheets, slides or chapters", count),
    "pages": lambda count: ngettext("%(count)s page", "%(count)s pages", count),
    "cells": lambda count: ngettext("%(count)s cell with text", "%(count)s cells with text", count),
    "mail-parts": lambda count: ngettext("%(count)s part", "%(count)s parts", count),
    "mail-levels": lambda count: ngettext("%(count)s mail in one another", "%(count)s mails in one another", count),
    NoTextReason.UNPACKED: lambda _count: _("%(size)s unpacked"),
    NoTextReason.PACKED: lambda count: ngettext(
        "a part that grows %(count)s time when it is unpacked", "a part that grows %(count)s times when it is unpacked", count
    ),
    NoTextReason.ENTRIES: lambda count: ngettext("%(count)s file inside it", "%(count)s files inside it", count),
    NoTextReason.ELEMENTS: lambda count: ngettext("%(count)s element", "%(count)s elements", count),
    NoTextReason.LEVELS: lambda count: ngettext("%(count)s level of elements", "%(count)s levels of elements", count),
    NoTextReason.GROUPS: lambda count: ngettext("%(count)s group in one another", "%(count)s groups in one another", count),
    NoTextReason.STRINGS: lambda count: ngettext("%(count)s different text", "%(count)s different texts", count),
    NoTextReason.OBJECTS: lambda _count: _("as many objects as the library for PDF reads"),
}

_REFUSED: dict[str, Callable[[], str]] = {
    NoTextReason.LATE: lambda: _("Reading this file takes too long. The limit is: %(limit)s."),
    NoTextReason.SLOW: lambda: _("Reading this file has taken too long: the machine may be busy. The limit is: %(limit)s."),
    NoTextReason.MEMORY: lambda: _("Reading this file takes too much memory. The limit is: %(limit)s."),
}

_BEYOND: dict[Beyond, Callable[[], str]] = {
    Beyond.REFUSED: lambda: _("The file is refused, and the limit named."),
    Beyond.CUT: lambda: _("The end is left out, and the file says so."),
    Beyond.COUNTED: lambda: _("What is beyond counts as left out."),
}
