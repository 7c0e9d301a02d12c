"""Claude's artifacts: documents that were shown beside the conversation, written by one call and changed by others.

An answer shows an artifact as it was after that answer. A change of which the file does not have the artifact is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chatui.transfer.other_products import frames
from chatui.transfer.other_products.conversation_tree import Counts, DroppedKind, Object
from renderer.strict_json import list_of, object_of, text_of

MAX_ARTIFACTS = 50
MAX_CHANGES = 300
"""The most artifacts and changes of a conversation that are followed: each change copies the artifact."""
MAX_SHOWN_CHARS = 1_000_000
"""The most text of all changed artifacts of a conversation. Beyond it, the older versions are left out."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """``language``: of code; empty for text."""

    title: str
    language: str
    content: str

    def written(self) -> str:
        return frames.document(self.title, self.content, self.language)


ChangedArtifacts = Mapping[tuple[int, int], Artifact | DroppedKind | None]
"""What a change of an artifact gives, by the numbers of its message and part: the artifact, if it is shown there; nothing, if another
change in the same message follows; or why it is not shown."""


def is_call(part: Object) -> bool:
    """Whether a part of a message writes or changes an artifact, and is not hidden."""
    return part.get("type") == "tool_use" and part.get("name") == "artifacts" and not frames.is_labelled(part)


def put(part: Object, changed: Artifact | DroppedKind | None, texts: list[str], counts: Counts) -> None:
    """Add to the texts of a message what a call gives. A new and a rewritten artifact is shown as it is."""
    if content := _written(part):
        texts.append(content.written())
    elif isinstance(changed, Artifact):
        texts.append(changed.written())
    elif changed is not None:
        counts[changed] += 1


def changed(messages: Sequence[Object], keys: Sequence[str], parents: Sequence[str | None]) -> ChangedArtifacts:
    """What the changes of a conversation give. A branch begins with what is above it, and a hidden message changes nothing."""
    changes: dict[tuple[int, int], Artifact | DroppedKind | None] = {}
    known: dict[str, dict[str, Artifact]] = {}
    for number, message in enumerate(messages):
        here = known[keys[number]] = dict(known.get(parents[number] or "", {}))
        if frames.is_labelled(message):
            continue
        before: dict[str, tuple[int, int]] = {}
        for at, part in enumerate(map(object_of, list_of(message.get("content")))):
            if not is_call(part):
                continue
            key, written = text_of(object_of(part.get("input")).get("id")), _written(part)
            place, old = (number, at), here.pop(key, None)
            artifact = written or (_change(old, object_of(part.get("input"))) if old and len(changes) < MAX_CHANGES else None)
            if artifact and len(here) < MAX_ARTIFACTS and (written is None or _may_change(artifact.content)):
                here[key] = artifact
            if written is None:
                changes[place] = here.get(key, DroppedKind.DOCUMENT_CHANGE)
                if key in before and key in here:
                    changes[before[key]] = None
                before[key] = place
    return _newest(changes)


def _written(part: Object) -> Artifact | None:
    given = object_of(part.get("input"))
    if not (content := text_of(given.get("content"))):
        return None
    kind = text_of(given.get("type"))
    language = "" if "markdown" in kind or kind == "text/plain" else text_of(given.get("language")) or kind.rpartition(".")[2]
    return Artifact(text_of(given.get("title")), language, content)


def _change(artifact: Artifact, given: Object) -> Artifact | None:
    """The artifact with a passage replaced; None if the passage is not there, or more than once."""
    old, new = text_of(given.get("old_str")), text_of(given.get("new_str"))
    if not old or artifact.content.count(old) != 1 or not _may_change(new):
        return None
    content = artifact.content.replace(old, new)
    return replace(artifact, content=content) if len(content) <= frames.MAX_ANSWER_CHARS else None


def _may_change(text: str) -> bool:
    """Whether later changes of a text can be shown: a change of a text with hidden parts could take away the marks that hide them."""
    return len(text) <= frames.MAX_ANSWER_CHARS and frames.is_all_visible(text)


def _newest(found: dict[tuple[int, int], Artifact | DroppedKind | None]) -> ChangedArtifacts:
    room = MAX_SHOWN_CHARS
    for place in reversed(found):
        if isinstance(artifact := found[place], Artifact):
            room -= len(artifact.content)
            found[place] = artifact if room >= 0 else DroppedKind.DOCUMENT_VERSION
    return found
