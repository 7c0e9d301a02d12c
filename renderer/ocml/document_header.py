"""The YAML header of a document (specification section 2): read safely and within bounds, and written so that every reader sees the same.

Values are what JSON has: mappings with text as keys, lists, text, numbers, true, false, null, typed as YAML 1.2 types them. ``version``
and ``model`` are taken digit by digit (``2.10`` is not ``2.1``). Anchors, aliases, tags, a key twice and infinite numbers are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from renderer.errors import ParseHeaderError, Place
from renderer.frames import Channel, Transcript
from renderer.tokens import TOKEN_RUN

DOCUMENT_HEADER_LIMIT = 64 * 1024
"""The longest document header that is read, in bytes."""

DEPTH_LIMIT = 32
VERSION = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}")
KNOWN_KEYS = ("version", "model", "generation_settings")

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"


@dataclass(frozen=True, slots=True)
class Profile:
    """What ``profiles.harmony`` demands where it is enabled; None: nothing is demanded."""

    require_channels: frozenset[str] | None = None
    tool_calls_in: frozenset[str] | None = None
    builtins_in: frozenset[str] | None = None


STRICTEST = Profile(require_channels=frozenset(channel.value for channel in Channel))
"""What is assumed where a document header could not be read: a reply that names no channel is hidden."""


@dataclass(frozen=True, slots=True)
class DocumentHeader:
    """What a document says before its first frame. ``settings`` is ``generation_settings``; ``extra`` every other key, kept as it is."""

    version: str = "2.2"
    model: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)
    profile: Profile = field(default_factory=Profile)

    @property
    def is_version_1(self) -> bool:
        """Whether this is a legacy transcript, all of whose messages are final."""
        return self.version.startswith("1.")


LEGACY = DocumentHeader(version="1.0")
"""What a document without any header is read as."""


class FutureVersionError(ParseHeaderError):
    """The document is of a major version that is not known yet: nothing in it can be trusted to mean what it seems to mean."""


def read(text: str) -> DocumentHeader:
    """Read a document header. ``text`` is everything before the first frame; a ``---`` line may stand at its beginning and its end.

    Raises:
        FutureVersionError: the version's first number is greater than 2.
        ParseHeaderError: the header is too long, is no YAML that is read here, or breaks a rule. ``place`` says where.
    """
    if len(text.encode("utf-8")) > DOCUMENT_HEADER_LIMIT:
        raise ParseHeaderError("the document header is too long", Place(0, 1, 1))
    values, digits = _load(_without_fences(text), text)
    version = digits.get("version")
    if version is None:
        raise ParseHeaderError("the document header has no version", Place(0, 1, 1))
    return from_values({**values, **digits}, Place(0, 1, 1))


def from_values(values: Mapping[str, object], place: Place | None = None) -> DocumentHeader:
    """The header that these values make: ``version`` and ``model`` are text. Raises as ``read`` does."""
    rest = dict(values)
    version, model, settings = (rest.pop(key, None) for key in KNOWN_KEYS)
    if not isinstance(version, str) or not VERSION.fullmatch(version) or version.startswith("0"):
        raise ParseHeaderError("the version is not major.minor", place)
    if version.split(".")[0] not in ("1", "2"):
        raise FutureVersionError("this major version of the format is not known", place)
    if not isinstance(model, str | None):
        raise ParseHeaderError("the model is not a name", place)
    if not isinstance(settings, dict | None):
        raise ParseHeaderError("generation_settings is not a mapping", place)
    try:
        _plain_mapping(values)
    except ParseHeaderError as error:
        raise ParseHeaderError(error.hint, place) from None
    return DocumentHeader(version, model, settings or {}, rest, _profile(rest, place))


def write(transcript: Transcript) -> str:
    """The canonical header of a document, with the empty line behind it. Raises ParseHeaderError where it could not be read again."""
    if not VERSION.fullmatch(transcript.version) or transcript.version[0] not in "12" or transcript.version[1] != ".":
        raise ParseHeaderError("the version is not one that is written")
    if any(key in transcript.extra for key in KNOWN_KEYS):
        raise ParseHeaderError("a known key among the unknown ones")
    known: dict[str, object] = {}
    if transcript.model is not None:
        known["model"] = transcript.model
    if transcript.settings:
        known["generation_settings"] = transcript.settings
    known.update(transcript.extra)
    plain = _plain_mapping(known)
    # ASCII with escapes and no folded lines: YAML readers differ about some of Unicode's line breaks.
    rest = yaml.dump(plain, Dumper=_Dumper, sort_keys=False, width=math.inf) if plain else ""
    # Text that spells a control token is in double quotes (see _Dumper), where a character may be written by its number.
    rest = TOKEN_RUN.sub(lambda match: match[0].replace("<", "\\x3C"), rest)
    text = f"version: {transcript.version}\n{rest}\n"
    if len(text) > DOCUMENT_HEADER_LIMIT:
        raise ParseHeaderError("the document header is too long")
    _profile(plain, None)
    return text


def _profile(values: Mapping[str, object], place: Place | None) -> Profile:
    profiles = values.get("profiles")
    harmony = profiles.get("harmony") if isinstance(profiles, dict) else None
    if not isinstance(harmony, dict) or harmony.get("enabled") in (None, False):
        return Profile()
    if harmony["enabled"] is not True:
        raise ParseHeaderError("profiles.harmony.enabled is neither true nor false", place)
    names = [_channels(harmony.get(key), place) for key in ("require_channels", "tool_calls_in", "builtins_in")]
    return Profile(*names)


def _channels(value: object, place: Place | None) -> frozenset[str] | None:
    """One channel or a list of them; nothing, false and an empty list demand nothing."""
    channels = [value] if isinstance(value, str) else value
    if channels in (None, False, []):
        return None
    if not isinstance(channels, list) or not all(isinstance(channel, str) and channel in set(Channel) for channel in channels):
        raise ParseHeaderError("a rule of profiles.harmony does not name channels", place)
    return frozenset(channels)


def _plain_mapping(values: Mapping[str, object], depth: int = 1) -> dict[str, Value]:
    """The same values in plain containers. What is no JSON value is refused: it would not come back as it went."""
    if not all(isinstance(key, str) and not _SURROGATE.search(key) for key in values):
        raise ParseHeaderError("a key that is no text")
    return {str(key): _plain(item, depth + 1) for key, item in values.items()}


def _plain(value: object, depth: int) -> Value:
    if depth > DEPTH_LIMIT:
        raise ParseHeaderError("the document header is nested too deeply")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and not _SURROGATE.search(value):
        return str(value)
    if isinstance(value, int) and abs(value) < 10**4000:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return _plain_mapping(value, depth)
    raise ParseHeaderError("a value that a document header cannot hold")


_SURROGATE = re.compile("[\ud800-\udfff]")
_FENCE_BEFORE = re.compile(r"\A\s*+---[ \t]*+(?:\r?\n|\Z)")
_FENCE_BEHIND = re.compile(r"(?:\A|\n)---\s*+\Z")


def _without_fences(text: str) -> str:
    """The text with ``---`` lines at its ends blanked out, so that every place in it stays what it was."""
    for fence in (_FENCE_BEFORE, _FENCE_BEHIND):
        if match := fence.search(text):
            text = text[: match.start()] + match[0].replace("-", " ") + text[match.end() :]
    return text


def _load(text: str, original: str) -> tuple[dict[str, Value], dict[str, str]]:
    """The mapping, and of ``version`` and ``model`` the characters as they stand there."""
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise ParseHeaderError("the document header is not a mapping", Place(0, 1, 1))
        digits = {key.value: value.value for key, value in node.value if _is_name(key) and isinstance(value, yaml.ScalarNode)}
        values = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise ParseHeaderError("the document header is no YAML that is read here", _place(original, error.problem_mark)) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ParseHeaderError("the document header is no YAML that is read here", Place(0, 1, 1)) from None
    finally:
        if loader is not None:
            loader.dispose()
    # A null stays a null: an empty "model:" names no model.
    return values, {key: value for key, value in digits.items() if values.get(key) is not None}


def _is_name(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value in ("version", "model")


def _place(text: str, mark: yaml.Mark | None) -> Place:
    if mark is None:
        return Place(0, 1, 1)
    return Place(len(text[: mark.index].encode("utf-8", "surrogatepass")), mark.line + 1, mark.column + 1)


_STRING_TAG = "tag:yaml.org,2002:str"
_TYPES: dict[str, tuple[str, str]] = {
    "null": (r"~|null|Null|NULL|", "~nN"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.0123456789"),
}
"""How YAML 1.2 (core schema) types a plain word: by type, its pattern and the characters that it can begin with."""


class _Loader(yaml.SafeLoader):
    """A safe loader of JSON values: no anchors (they let a short header grow without bound), no tags, no key twice, bounded depth."""

    yaml_implicit_resolvers = {}
    depth = 0

    def compose_node(self, parent: object, index: object) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _refused("anchors and aliases are not read", event.start_mark)
        if event.tag is not None:
            raise _refused("tags are not read", event.start_mark)
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise _refused("the nesting is too deep", event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)  # type: ignore[arg-type]
        self.depth -= 1
        return node

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """``<<`` is a key like any other: nothing is merged."""

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in mapping:
                raise _refused("a key that is no text, or stands twice", key_node.start_mark)
            mapping[key] = self.construct_object(value_node, deep=deep)
        return mapping


def _refused(reason: str, mark: yaml.Mark) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, reason, mark)


class _Dumper(yaml.SafeDumper):
    """Writes text in quotes wherever some reader of YAML, of version 1.1 or 1.2, would take it for something else."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    digits = node.value
    return int(digits, 0) if digits[:2] in ("0o", "0x") else int(digits)


def _float(loader: _Loader, node: yaml.ScalarNode) -> float:
    value = float(node.value) if node.value.lstrip("+-")[:2].lower() not in (".i", ".n") else math.inf
    if not math.isfinite(value):
        raise _refused("a number that is not finite", node.start_mark)
    return value


def _write_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(_STRING_TAG, text, style='"' if TOKEN_RUN.search(text) or not text.isascii() else None)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)
_Dumper.add_representer(str, _write_text)
for _name, (_pattern, _first) in _TYPES.items():
    _tag, _whole = f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})\Z")
    _Loader.add_implicit_resolver(_tag, _whole, [*_first, ""])
    _Dumper.add_implicit_resolver(_tag, _whole, [*_first, ""])
