"""Reads and writes the YAML header of a document (specification section 2), and compares its ``capabilities`` with what is used.

Values are those of JSON: mappings with text as keys, lists, text, numbers, true, false, null, typed as in YAML 1.2. ``version`` and
``model`` are taken literally (``2.10`` is not ``2.1``). Anchors, aliases, tags, duplicate keys and infinite numbers are refused.

Capabilities are compared with those that we support, and with those that the document's frames use. Each list states what writer and reader
agreed on; a missing list states nothing. Nothing is refused because of them: anything unknown is hidden where it occurs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from renderer.errors import Location, ParseHeaderError
from renderer.frames import Channel, Frame, Role, Transcript
from renderer.ocml.plain_values import plain_mapping
from renderer.tokens import Token

DOCUMENT_HEADER_LIMIT = 64 * 1024
"""The longest document header that is read, in bytes."""

VERSION = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}")
KNOWN_KEYS = ("version", "model", "generation_settings")


@dataclass(frozen=True, slots=True)
class Profile:
    """The rules of ``profiles.harmony``, if it is enabled. None means no rule."""

    require_channels: frozenset[str] | None = None
    tool_calls_in: frozenset[str] | None = None
    builtins_in: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class DocumentHeader:
    """The header of a document."""

    version: str = "2.2"
    model: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    """``generation_settings``."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """Every other key, unchanged."""
    profile: Profile = field(default_factory=Profile)

    @property
    def is_version_1(self) -> bool:
        """Whether this is a legacy transcript, in which all messages are final."""
        return self.version.startswith("1.")


LEGACY = DocumentHeader(version="1.0")
"""The header assumed for a document that has none."""

UNREADABLE = DocumentHeader(profile=Profile(require_channels=frozenset(channel.value for channel in Channel)))
"""The header assumed if that of a document cannot be read: a message without a channel is hidden."""


class FutureVersionError(ParseHeaderError):
    """The document has a major version that is not known yet: nothing in it can be relied on."""


def read(text: str) -> DocumentHeader:
    """Read a document header. ``text`` is everything before the first frame; it may begin and end with a ``---`` line.

    Raises:
        FutureVersionError: the version's first number is greater than 2.
        ParseHeaderError: the header is too long, is not supported YAML, or breaks a rule. ``location`` says where.
    """
    if len(text.encode("utf-8", "surrogatepass")) > DOCUMENT_HEADER_LIMIT:
        raise ParseHeaderError("the document header is too long", Location(0, 1, 1))
    from renderer.ocml.yaml_values import load  # takes 1 MB, and a chat neither reads nor writes documents

    values, digits = load(_without_fences(text), text)
    version = digits.get("version")
    if version is None:
        raise ParseHeaderError("the document header has no version", Location(0, 1, 1))
    return from_values({**values, **digits}, Location(0, 1, 1))


def from_values(values: Mapping[str, object], location: Location | None = None) -> DocumentHeader:
    """The header with these values, where ``version`` and ``model`` are text. Raises as ``read`` does."""
    rest = dict(values)
    version, model, settings = (rest.pop(key, None) for key in KNOWN_KEYS)
    if not isinstance(version, str) or not VERSION.fullmatch(version) or version.startswith("0"):
        raise ParseHeaderError("the version is not major.minor", location)
    if version.split(".")[0] not in ("1", "2"):
        raise FutureVersionError("this major version of the format is not known", location)
    if not isinstance(model, str | None):
        raise ParseHeaderError("the model is not a name", location)
    if not isinstance(settings, dict | None):
        raise ParseHeaderError("generation_settings is not a mapping", location)
    try:
        plain_mapping(values)
    except ParseHeaderError as error:
        raise ParseHeaderError(error.hint, location) from None
    return DocumentHeader(version, model, settings or {}, rest, _profile(rest, location))


def of_transcript(transcript: Transcript) -> DocumentHeader:
    """The header of a transcript. Raises ParseHeaderError where ``write`` does, except for its length."""
    return from_values(plain_mapping(keys_of(transcript)))


def keys_of(transcript: Transcript) -> dict[str, object]:
    """All keys of the header of a document, in the order in which they are written."""
    values: dict[str, object] = {"version": transcript.version}
    if transcript.model is not None:
        values["model"] = transcript.model
    if transcript.settings:
        values["generation_settings"] = dict(transcript.settings)
    return values | dict(transcript.extra)


def write(transcript: Transcript) -> str:
    """The canonical header of a document, with the empty line after it. Raises ParseHeaderError if it could not be read again."""
    if not VERSION.fullmatch(transcript.version) or transcript.version[0] not in "12" or transcript.version[1] != ".":
        raise ParseHeaderError("this version cannot be written")
    if any(key in transcript.extra for key in KNOWN_KEYS):
        raise ParseHeaderError("a known key among the extra keys")
    plain = plain_mapping(keys_of(transcript))
    del plain["version"]
    from renderer.ocml.yaml_values import dump  # as above

    text = f"version: {transcript.version}\n{dump(plain)}\n"
    if len(text) > DOCUMENT_HEADER_LIMIT:
        raise ParseHeaderError("the document header is too long")
    _profile(plain, None)
    return text


def _profile(values: Mapping[str, object], location: Location | None) -> Profile:
    profiles = values.get("profiles")
    harmony = profiles.get("harmony") if isinstance(profiles, dict) else None
    if not isinstance(harmony, dict) or harmony.get("enabled") in (None, False):
        return Profile()
    if harmony["enabled"] is not True:
        raise ParseHeaderError("profiles.harmony.enabled must be true or false", location)
    names = [_channels(harmony.get(key), location) for key in ("require_channels", "tool_calls_in", "builtins_in")]
    return Profile(*names)


def _channels(value: object, location: Location | None) -> frozenset[str] | None:
    """One channel or a list of channels. Null, false and an empty list mean no rule."""
    channels = [value] if isinstance(value, str) else value
    if channels in (None, False, []):
        return None
    if not isinstance(channels, list) or not all(isinstance(channel, str) and channel in set(Channel) for channel in channels):
        raise ParseHeaderError("a rule of profiles.harmony must list channels", location)
    return frozenset(channels)


_FENCE_BEFORE = re.compile(r"\A\s*+---[ \t]*+(?:\r?\n|\Z)")
_FENCE_AFTER = re.compile(r"(?:\A|\n)---\s*+\Z")


def _without_fences(text: str) -> str:
    """The text with the first and last ``---`` lines blanked out, so that all other positions stay the same."""
    for fence in (_FENCE_BEFORE, _FENCE_AFTER):
        if match := fence.search(text):
            text = text[: match.start()] + match[0].replace("-", " ") + text[match.end() :]
    return text


KNOWN: dict[str, tuple[str, ...]] = {
    "roles": (*Role, "functions.*"),
    "channels": tuple(Channel),
    "tokens": tuple(Token),
    "streaming": ("response.delta", "response.delta.flush", "response.cancel", "tool.cancel"),
}
"""The capabilities that are known here, by list. ``*`` stands for any characters."""


def hints(header: Mapping[str, object]) -> list[str]:
    """Descriptions of what is wrong with the capabilities in a document header's keys; empty if nothing is."""
    listing = header.get("capabilities")
    if listing is None:
        return []
    if not isinstance(listing, Mapping):
        return ["the capabilities are not a mapping"]
    found = []
    for name, known in KNOWN.items():
        listed = listing.get(name)
        if listed is not None and not _is_list(listed):
            found.append(f"the {name} of the capabilities are not a list of names")
        elif any(not _is_among(each, known) for each in listed or ()):
            found.append(f"the capabilities list {name} that are not known here")
    return found


def with_used_names(header: Mapping[str, object], frames: Iterable[Frame]) -> dict[str, object]:
    """The keys of a document header, with the roles and channels that frames use and its capabilities do not list added to them."""
    listing = header.get("capabilities")
    if not isinstance(listing, Mapping):
        return dict(header)
    headers = [frame.header for frame in frames]
    used = {"roles": [each.role for each in headers], "channels": [each.channel for each in headers if each.channel is not None]}
    lists = dict(listing)
    for name, values in used.items():
        listed = listing.get(name)
        if listed is not None and _is_list(listed):
            lists[name] = [*listed, *(value for value in dict.fromkeys(values) if not _is_among(value, listed))]
    return {**header, "capabilities": lists}


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_among(value: str, names: Iterable[str]) -> bool:
    return any(value == name or fnmatchcase(value, name) for name in names)
