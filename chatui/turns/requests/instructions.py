"""The instructions above a conversation: the operator's, then the person's preferences or the program's."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from chatui.models import Conversation, Folder, Turn, User
from chatui.prompts.operators import instructions_for
from chatui.prompts.preferences import format_preferences, format_program_instructions
from chatui.turns.requests.by_program import ProgramAsk
from renderer.frames import Frame, Header, Role


def frames_of(turn: Turn, program: ProgramAsk | None) -> tuple[Frame, ...]:
    """All instructions for one request. ``turn`` must come with its conversation and person. Takes one statement in a folder, and one more
    if groups have instructions."""
    operators = instructions_for(turn.asked_by.group_names)
    own = () if program else _own(turn.conversation, turn.asked_by)
    preferences = "\n\n".join(filter(None, (*own, _of_folder(turn.conversation))))
    return (
        *_developer(operators),
        *_developer(format_preferences(preferences) if preferences else ""),
        *_of_program(program.all_instructions if program else "", has_operators=bool(operators)),
    )


def today(person: User) -> date | None:
    """The date in the person's time zone; None if they have not set one."""
    try:
        return datetime.now(UTC).astimezone(ZoneInfo(person.time_zone)).date() if person.time_zone else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None  # a zone that this machine does not know


def _own(conversation: Conversation, person: User) -> tuple[str, ...]:
    """The person's instructions for all conversations; none if they are turned off in this one."""
    is_off = conversation.without_instructions or conversation.owner_id != person.pk
    return () if is_off else (person.instructions,)


def _of_folder(conversation: Conversation) -> str | None:
    """The instructions of the conversation's folder, read for each request."""
    folder = Folder.objects.filter(pk=conversation.folder_id, owner=conversation.owner_id) if conversation.folder_id else None
    return folder.values_list("instructions", flat=True).first() if folder else None


def _of_program(text: str, *, has_operators: bool) -> tuple[Frame, ...]:
    # Marked as a program's only if there are instructions of the operator, with which they could be confused.
    return _developer(format_program_instructions(text) if text and has_operators else text)


def _developer(text: str) -> tuple[Frame, ...]:
    return (Frame(Header(Role.DEVELOPER), text),) if text else ()
