"""The document header of a conversation: an import's header, stored as text, and the settings of the answers written here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from chatui.models.conversation import Conversation
from renderer.errors import OpenChatMLError, ParseHeaderError
from renderer.frames import Channel, Frame, Header, Role, Terminator, Transcript
from renderer.ocml import document_header
from renderer.ocml.calls import Pairing
from renderer.ocml.document_header import DocumentHeader

MAX_STORED = 48 * 1024
"""The longest header that is stored, in written characters: later additions must fit below the format's limit."""

IMPORTED = "imported"
"""The key that marks downloads of imported text. A file cannot set it to another value."""

IMPORTED_FROM = "imported_from"
"""The key that names the product that the export came from."""

SAMPLING_SETTINGS = frozenset(
    {
        "reasoning_effort",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "stop",
        "max_tokens",
        "max_output_tokens",
        "max_completion_tokens",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
    }
)
"""Keys of ``generation_settings`` for sampling. Imported values are dropped unless the answers here used them, too."""


_HELD: Mapping[str, Callable[[float], bool]] = {"temperature": lambda value: 0 <= value <= 2, "top_p": lambda value: 0 < value <= 1}
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
_MAX_UNHELD = 12


def sampling_of(row: Conversation) -> dict[str, float]:
    """The sampling parameters that an import's header asks for in the whole conversation (specification section 2), as far as a stranger
    may choose them. A value of another type or outside the parameter's range is left out."""
    settings, found = _imported_header(row).settings, dict[str, float]()
    for name, is_possible in _HELD.items():
        value = settings.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and is_possible(value):
            found[name] = float(value)
    return found


def unheld_settings(row: Conversation) -> list[str]:
    """The names of the other settings that the header has, as far as they are words that a page can show."""
    settings = _imported_header(row).settings
    held = {*sampling_of(row), *(["reasoning_effort"] if settings.get("reasoning_effort") == row.effort else [])}
    return sorted(name for name in settings.keys() - held if _WORD.fullmatch(name))[:_MAX_UNHELD]


def text_of(header: DocumentHeader) -> str:
    """The header in its stored form. Raises ParseHeaderError if it could not be written again, or is too long."""
    text = document_header.write(Transcript((), model=header.model, settings=header.settings, extra=header.extra))
    if len(text) > MAX_STORED:
        raise ParseHeaderError("the document header is too long to be kept")
    return text


def header_of(row: Conversation) -> DocumentHeader:
    header = _imported_header(row)
    if row.sampled_with is not None:
        rest = {key: value for key, value in header.settings.items() if key not in SAMPLING_SETTINGS}
        header = replace(header, model=row.model or header.model, settings={**rest, **row.sampled_with})
    if not row.imported_at:
        return header
    origin = {IMPORTED_FROM: str(row.imported_from)} if row.imported_from else {}
    return replace(header, extra={**header.extra, IMPORTED: True, **origin})


def transcript(row: Conversation, frames: Iterable[Frame]) -> Transcript:
    header, found = header_of(row), tuple(_with_unique_calls(frames))
    extra = header.extra if _keep_to(header, found) else _without_profile(header)
    if row.sampled_with is not None:
        extra = document_header.with_used_names(extra, found)
    return Transcript(found, model=header.model, settings=header.settings, extra=extra)


def unmet_capabilities(row: Conversation) -> list[str]:
    """Capabilities that an imported transcript requires and that are unknown here, or that it does not list and an answer here uses."""
    header = _imported_header(row).extra
    hints = document_header.hints(header)
    if document_header.with_used_names(header, _AN_ANSWER) != header:
        hints.append("an answer uses roles or channels that the capabilities do not list")
    return hints


_AN_ANSWER = [Frame(Header(Role.USER), ""), *(Frame(Header(Role.ASSISTANT, channel), "") for channel in Channel)]


def _with_unique_calls(frames: Iterable[Frame]) -> Iterator[Frame]:
    """The frames, in which a call with the id of an earlier one is no call: model servers may reuse an id in a conversation, but a document
    may not, and its parser would not read the second as a call either."""
    pairing = Pairing(document_header.Profile())
    for frame in frames:
        yield replace(frame, terminator=Terminator.END) if pairing.closed(frame.header, frame.terminator) else frame


def _imported_header(row: Conversation) -> DocumentHeader:
    if not row.document_header:
        return DocumentHeader(model=row.model or None, settings={"reasoning_effort": row.effort})
    try:
        return document_header.read(row.document_header)
    except OpenChatMLError:
        return DocumentHeader(model=row.model or None)


def _keep_to(header: DocumentHeader, frames: tuple[Frame, ...]) -> bool:
    """Whether frames conform to the header's profile: frames that were repaired on import, or written here, may not."""
    profile = document_header.from_values({"version": header.version, **header.extra}).profile
    pairing = Pairing(profile)
    return profile == document_header.Profile() or not any(fault.is_refused for frame in frames for fault in pairing.opened(frame.header))


def _without_profile(header: DocumentHeader) -> dict[str, object]:
    """The header with its Harmony profile disabled: a document must never break its own rules."""
    profiles = header.extra["profiles"]
    assert isinstance(profiles, dict)  # noqa: S101 - only called for a header with a profile
    return {**header.extra, "profiles": {**profiles, "harmony": {**profiles["harmony"], "enabled": False}}}
