"""``manage.py`` of a product that is broken in the ways that the file named by CANARY_BREAK lists, one to a line; in none if it is empty.

A test changes the file while the server runs; every patched function looks at it each time.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

SETTING = "CANARY_BREAK"


def is_broken(way: str) -> bool:
    place = os.environ[SETTING]
    # Asked several times for each request: an empty file need not be opened.
    return bool(os.stat(place).st_size) and way in Path(place).read_text(encoding="utf-8").splitlines()


class ThoughtsInAHeader:
    """Middleware: the way ``header`` puts hidden text into a response header, ``secret`` the operator's instructions."""

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        from chatui import instructions as operators
        from chatui.env import environment
        from chatui.models.message import Message

        response = self._get_response(request)
        if is_broken("header") and request.user.is_authenticated and request.path.endswith("/download/"):
            hidden = Message.objects.filter(conversation__owner=request.user, is_visible=False, text__contains="what nobody may read")
            response.headers["X-Thoughts"] = "; ".join(message.text[-200:] for message in hidden[:20]).replace("\n", " ")
        if is_broken("group's secret") and request.user.is_authenticated:
            # A member's instructions are put into a header, without their first line.
            instructions = operators.instructions_for(lambda: request.user.groups.values_list("name", flat=True))
            response.headers["X-Group"] = " ".join(instructions.removeprefix(environment().instructions).strip().splitlines()[1:])
        if is_broken("secret"):
            response.headers["X-Instructions"] = os.environ["CHATUI_INSTRUCTIONS"]
        return response


def naming_what_they_heard() -> Callable[..., Any]:
    """Summary lines that name all reasoning so far."""
    from renderer.activities.activity import Activity
    from renderer.activities.lines import ActivityLines

    sound_feed, sound_judge, heard = ActivityLines.feed, ActivityLines.judge, WeakKeyDictionary[Any, str]()

    def feed(lines: Any, text: str) -> None:
        heard[lines] = heard.get(lines, "") + text
        sound_feed(lines, text)

    def judge(lines: Any, seconds: float) -> Activity | None:
        sound_judge(lines, seconds)
        return Activity("meaning", (heard[lines],)) if lines in heard else None

    place: Any = ActivityLines
    place.feed = feed
    return judge


def anybodys(user: object, key: object, where: str, *also: str) -> Any:
    from chatui.database.statements import read
    from chatui.models.conversation import Conversation
    from chatui.permissions import access

    anyones = where.replace("owner_id = %s AND ", "")
    return access.existing(next(iter(read(Conversation, anyones, access.key_of(key), also=also)), None))


def patch() -> None:
    """Make every way of being broken possible."""
    from django.conf import settings

    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "tests.chatui.operations.canary.broken.ThoughtsInAHeader"]
    import django

    django.setup()
    from chatui.backends.chat import deltas
    from chatui.backends.leaks.guard import Judgement, TextSpan
    from chatui.backends.leaks.scanner import LeakGuard
    from chatui.backends.raw_frames import FrameWriter
    from chatui.backends.responses import speech
    from chatui.display import conversation, search
    from chatui.display.failures import Notice, ShownCause
    from chatui.models.conversation import Conversation
    from chatui.models.message import Message
    from chatui.models.shares import ShareLink
    from chatui.permissions import access, debug_views, shares
    from chatui.store import search_index
    from chatui.transfer import exports
    from renderer import gate
    from renderer.activities.lines import ActivityLines
    from renderer.gate import Audience

    def while_broken(way: str, place: Any, name: str, broken: Callable[..., Any]) -> None:
        sound = getattr(place, name)
        setattr(place, name, lambda *args, **kwargs: (broken if is_broken(way) else sound)(*args, **kwargs))

    def everything(person: Any) -> Iterator[tuple[str, str]]:
        for row in access.all_own_conversations(person):
            yield f"{row.pk}.ocml", exports.transcript(row, person, Audience.DEBUG)

    sound_terms = search_index.terms_of

    def indexes_everything(row: Conversation, text: Any) -> str:
        hidden = Message.objects.filter(conversation=row, is_visible=False).values_list("text", flat=True)
        return f"{sound_terms(row, text)} {' '.join(hidden)[-5000:]}"

    def counts_hidden(person: Any, text: str, before: int | None = None) -> search.Results:
        there = Message.objects.filter(conversation__owner=person, text__contains=text).exists()
        return search.Results((), None, is_empty_query=there)

    def quotes(turn: Any, _: object) -> Notice | None:
        said = turn.error_detail
        return Notice("E-X", said, "", True, ShownCause(said, "", "")) if turn.error_code else None

    def finds_hidden(row: Conversation, person: Any, text: str) -> list[Any]:
        return [message.pk for message in Message.objects.filter(conversation=row, text__contains=text)]

    # Analysis passes the gate: streams, pages and everything that is made from stored rows.
    while_broken("gate", gate, "why_hidden", lambda header: None)
    while_broken("guard", LeakGuard, "feed", lambda guard, text: [TextSpan(True, text)])
    while_broken("guard", LeakGuard, "finish", lambda guard, complete: [])
    while_broken("guard", speech, "judged", lambda text, **_: Judgement([TextSpan(True, text)]))
    # A late label, or a late sign, takes nothing back; and a label in the answer field is not looked at.
    while_broken("not withdrawn", FrameWriter, "withdraw", lambda writer: [])
    while_broken("label", deltas, "other_label", lambda part, **_: None)
    while_broken("index", search_index, "terms_of", indexes_everything)
    while_broken("summary", ActivityLines, "judge", naming_what_they_heard())
    while_broken("archive", exports, "all_files", everything)
    while_broken("notice", conversation, "_notice", quotes)
    while_broken("search", search, "search", counts_hidden)
    while_broken("find", search, "matching_messages", finds_hidden)
    while_broken("not recorded", debug_views, "record_attempt", lambda *args: None)
    while_broken("not refused", access, "can_see_hidden", lambda user: True)
    while_broken("not owned", access, "_own", anybodys)
    while_broken("not revoked", shares, "_readable", ShareLink.objects.all)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatui.settings")
    patch()
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *sys.argv[1:]])
