"""Attaches what a person picked of a tool server's resources to a message box, exactly as files that they upload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from chatui.audit_log.record import Visitor, record
from chatui.display import files as display_files
from chatui.display import tool_resources
from chatui.models.files import StoredFile
from chatui.permissions.access import person_of
from chatui.tools import resources
from chatui.tools.mcp.resources import Content
from chatui.tools.picks import NoSuchPickError
from chatui.tools.remote.offers import ServerError
from chatui.transfer import files
from chatui.transfer.files import FileDestination, UploadRefusedError

ATTACHED = "tool server resource attached"


@dataclass(frozen=True, slots=True)
class Pick:
    """What a person picked at a server: the ``token`` of what they were shown, with the ``values`` for the fields of a template."""

    server: str
    token: str = field(repr=False)
    values: Mapping[str, str] = field(default_factory=dict, repr=False)


def attach(visitor: Visitor, pick: Pick, brought_in: UUID | None, choice: str) -> dict[str, Any]:
    """Attach each content of what the visitor picked (``tools.resources``) to the message box of ``brought_in``. Recorded, without its
    address. Returns the ``files`` as for a chip, and a ``message`` if something was not attached. Raises as ``tool_resources.check``."""
    person = person_of(visitor)
    tool_resources.check(person, pick.server)
    try:
        contents = resources.contents(pick.server, person.pk, pick.token, pick.values)
    except (NoSuchPickError, ServerError) as error:
        return tool_resources.failure(pick.server, error)
    place = FileDestination(person.pk, None, brought_in=brought_in, tool_server=pick.server)
    asked, chips, problem = display_files.reader(person, choice), [], ""
    for content in contents:
        try:
            chips.append(display_files.as_json(_accepted(place, content), asked))
        except UploadRefusedError as error:
            problem = display_files.sentence(error.why, error.reading.places if error.reading else 0)
    if chips:
        record(ATTACHED, visitor, detail=pick.server)
    return {"ok": bool(chips), "files": [chip for chip in chips if chip], "message": problem}


def _accepted(place: FileDestination, content: Content) -> StoredFile:
    return files.accept(place, content.name, lambda: content.data)
