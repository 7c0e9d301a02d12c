"""The planted leaks: ways to break the product, each with what ``manage.py canary`` must say of it and a test that must fail because of it.

One list for both. ``manage.py`` of a served product that is broken is ``tests/chatui/operations/canary/broken.py``; as a plugin of pytest
(``-p tests.support.planted_leaks``) this module breaks the product for the length of each test that a leak names, and for no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import pytest

Fault = tuple[Any, str, Callable[..., Any]]
"""A module or class, a name in it, and what stands there in the product that leaks."""

CONVERSATION = "c/<uuid:conversation_id>/"
_STREAMING, _STORED, _LEAVING = (f"tests/canary/leaks/test_{name}.py" for name in ("streaming", "stored", "leaving"))
_SCRIPTS = "tests/chatui/operations/canary/test_scripts.py::test_nothing_that_a_script_hides_becomes_visible"
_PROGRAMS = "tests/canary/surface/test_programs.py::test_no_api_address_returns_anything_hidden"


@dataclass(frozen=True)
class PlantedLeak:
    """``faults`` are made when Django is set up. ``found``: what a run of the command reports: the place, who sees it there, and words of
    what was found or of the part that it was in. ``caught_by``: the test that fails, and is named by no other leak."""

    faults: Callable[[], Iterator[Fault]]
    found: frozenset[tuple[str, str, str]]
    caught_by: str


LEAKS: dict[str, PlantedLeak] = {}


def _leak(
    name: str, caught_by: str, *found: tuple[str, str, str]
) -> Callable[[Callable[[], Iterator[Fault]]], Callable[[], Iterator[Fault]]]:
    def kept(faults: Callable[[], Iterator[Fault]]) -> Callable[[], Iterator[Fault]]:
        LEAKS[name] = PlantedLeak(faults, frozenset(found), caught_by)
        return faults

    return kept


def _hidden_of(person: Any) -> str:
    """Hidden text of a person's, as one line that a header can hold."""
    from chatui.models.message import Message

    hidden = Message.objects.filter(conversation__owner=person, is_visible=False).exclude(role__in=("system", "developer"))
    return "; ".join(message.text[-200:] for message in hidden[:60]).replace("\n", " ").encode("ascii", "ignore").decode()


def _answered(put: Callable[[Any, Any], None]) -> Fault:
    """``put`` gets each request and its response."""
    from chatui.web.middleware import HeadersMiddleware

    sound = HeadersMiddleware.process_response

    def leaking(middleware: Any, request: Any, response: Any) -> Any:
        answer = sound(middleware, request, response)
        _off_the_loop(lambda: put(request, answer))
        return answer

    return HeadersMiddleware, "process_response", leaking


def _off_the_loop(read: Callable[[], None]) -> None:
    """A served product answers on its event loop, where no row may be read."""
    from django.db import connections

    def closing() -> None:
        try:
            read()
        finally:
            connections.close_all()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        read()
    else:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(closing).result()


def _is_signed_in(request: Any) -> bool:
    return bool(getattr(getattr(request, "user", None), "is_authenticated", False))


# Analysis passes the gate: streams, pages and everything that is made from stored rows.
@_leak(
    "gate",
    f"{_STORED}::test_every_branch_that_the_owner_opens_has_no_marker",
    ("socket", "owner", "chat: reasoning_content"),
    (CONVERSATION, "owner", "chat: arguments of a call"),
    (f"{CONVERSATION}download/", "owner", "responses: content of a reasoning item"),
    ("s/…/", "holder of a share link", "chat: reasoning"),
    ("search", "owner", "a search tells that a hidden word is there"),
)
def _gate() -> Iterator[Fault]:
    from renderer import gate

    yield gate, "why_hidden", lambda header: None


@_leak(
    "guard",
    f"{_SCRIPTS}[chat]",
    ("socket", "owner", "chat: think-tag in the answer"),
    ("socket", "owner", "responses: think tag in a message"),
)
def _guard() -> Iterator[Fault]:
    from chatui.backends.leaks.guard import Judgement, TextSpan
    from chatui.backends.leaks.scanner import LeakGuard
    from chatui.backends.responses import speech

    yield LeakGuard, "feed", lambda guard, text: [TextSpan(True, text)]
    yield LeakGuard, "finish", lambda guard, complete: []
    yield speech, "judged", lambda text, **_: Judgement([TextSpan(True, text)])


# A late label, or a late sign, takes nothing back. Whether it was also sent on a socket depends on when the tab subscribed.
@_leak(
    "not withdrawn",
    "tests/backends/test_table.py::test_what_is_said_becomes_what_the_row_tells[chat]",
    ("database", "owner", "Message.text"),
)
def _not_withdrawn() -> Iterator[Fault]:
    from chatui.backends.raw_frames import FrameWriter

    yield FrameWriter, "withdraw", lambda writer: []


@_leak("label", f"{_SCRIPTS}[chat-shapes]", ("socket", "owner", "on a part"), ("database", "owner", "on a part"))
def _label() -> Iterator[Fault]:
    from chatui.backends.chat import deltas

    yield deltas, "other_label", lambda part, **_: None


@_leak("index", f"{_LEAVING}::test_the_search_index_has_only_visible_words_and_no_marker", ("database", "owner", "SearchEntry.terms"))
def _index() -> Iterator[Fault]:
    from chatui.models.message import Message
    from chatui.store import search_index

    sound = search_index.terms_of

    def indexes_everything(row: Any, text: Any) -> str:
        hidden = Message.objects.filter(conversation=row, is_visible=False).values_list("text", flat=True)
        return f"{sound(row, text)} {' '.join(hidden)[-5000:]}"

    yield search_index, "terms_of", indexes_everything


# Summary lines that name all reasoning so far.
@_leak(
    "summary",
    "tests/chatui/turns/test_summarized_turns.py::test_a_line_is_shown_while_the_model_thinks_and_stored_before_the_answer",
    ("socket", "owner", "summarized: reasoning that a summarizer copies"),
)
def _summary() -> Iterator[Fault]:
    from renderer.activities.activity import Activity
    from renderer.activities.lines import ActivityLines

    sound, heard = ActivityLines.feed, WeakKeyDictionary[Any, str]()

    def feed(lines: Any, text: str) -> None:
        heard[lines] = heard.get(lines, "") + text
        sound(lines, text)

    yield ActivityLines, "feed", feed
    yield ActivityLines, "judge", lambda lines, seconds: Activity("meaning", (heard[lines],)) if lines in heard else None


@_leak(
    "archive",
    f"{_LEAVING}::test_an_export_of_everything_has_no_marker_and_nothing_of_others",
    ("download/", "owner", "harmony: analysis before the final"),
)
def _archive() -> Iterator[Fault]:
    from chatui.permissions import access
    from chatui.transfer import exports
    from renderer.gate import Audience

    def everything(person: Any) -> Iterator[tuple[str, str]]:
        for row in access.all_own_conversations(person):
            yield f"{row.pk}.ocml", exports.transcript(row, person, Audience.DEBUG)

    yield exports, "all_files", everything


@_leak(
    "notice",
    f"{_STORED}::test_no_response_to_anybody_without_permission_has_a_marker[owner]",
    (CONVERSATION, "owner", "responses: body of a refusal"),
    (f"{CONVERSATION}turns/<uuid:turn_id>/", "owner", "chat: body of a refusal"),
)
def _notice() -> Iterator[Fault]:
    from chatui.display import conversation
    from chatui.display.failures import Notice, ShownCause

    def quotes(turn: Any, _: object) -> Notice | None:
        said = turn.error_detail
        return Notice("E-X", said, "", True, ShownCause(said, "", "")) if turn.error_code else None

    yield conversation, "_notice", quotes


@_leak(
    "search",
    f"{_LEAVING}::test_searching_hidden_words_looks_and_costs_the_same_as_searching_nothing[owner]",
    ("search", "owner", "a search tells that a hidden word is there"),
)
def _search() -> Iterator[Fault]:
    from chatui.display import search
    from chatui.models.message import Message

    def counts_hidden(person: Any, text: str, before: int | None = None) -> search.Results:
        there = Message.objects.filter(conversation__owner=person, text__contains=text).exists()
        return search.Results((), None, is_empty_query=there)

    yield search, "search", counts_hidden


@_leak(
    "find",
    f"{_LEAVING}::test_finding_hidden_words_in_a_conversation_finds_nothing",
    ("find", "owner", "a find tells that a hidden word is there"),
)
def _find() -> Iterator[Fault]:
    from chatui.display import search
    from chatui.models.message import Message

    def finds_hidden(row: Any, person: Any, text: str) -> list[Any]:
        return [message.pk for message in Message.objects.filter(conversation=row, text__contains=text)]

    yield search, "matching_messages", finds_hidden


@_leak(
    "not recorded",
    "tests/canary/leaks/test_sockets.py::test_each_person_gets_the_reviewed_replies_and_audit_lines[watch]",
    ("audit log", "owner", "attempts were not recorded"),
    ("audit log", "stranger", "attempts were not recorded"),
)
def _not_recorded() -> Iterator[Fault]:
    from chatui.permissions import attempts

    yield attempts, "record_attempt", lambda *args: None


@_leak(
    "not refused",
    f"{_STORED}::test_every_forced_error_page_has_no_marker",
    (f"{CONVERSATION}debug/", "owner", "not refused, but answered 200"),
)
def _not_refused() -> Iterator[Fault]:
    from chatui.permissions import access

    yield access, "can_see_hidden", lambda user: True


@_leak(
    "not owned",
    "tests/canary/leaks/test_sockets.py::test_not_found_and_not_yours_are_the_same_bytes_on_the_socket",
    (CONVERSATION, "stranger", "what the owner may read"),
    ("socket", "stranger", "subscribe was not refused"),
    *(("socket", "stranger", f"{unanswered} was not refused in no answer") for unanswered in ("see", "stop", "answer_now", "make_way")),
)
def _not_owned() -> Iterator[Fault]:
    from chatui.database.statements import read
    from chatui.models.conversation import Conversation
    from chatui.permissions import access

    def anybodys(user: object, key: object, where: str, *also: str) -> Any:
        anyones = where.replace("owner_id = %s AND ", "")
        return access.existing(next(iter(read(Conversation, anyones, access.key_of(key), also=also)), None))

    yield access, "_own", anybodys


@_leak(
    "not revoked",
    "tests/canary/surface/test_matrix.py::"
    "test_each_person_gets_the_reviewed_response_with_its_headers_and_audit_lines_and_no_marker_on_every_route[holder-conversations]",
    ("s/…/", "holder of a share link", "a share link that was taken back still opens"),
)
def _not_revoked() -> Iterator[Fault]:
    from chatui.models.shares import ShareLink
    from chatui.permissions import shares

    yield shares, "_readable", ShareLink.objects.all


@_leak(
    "header",
    f"{_LEAVING}::test_the_owners_exports_have_no_marker_but_the_complete_one_of_staff_does[json]",
    (f"{CONVERSATION}download/", "owner", "header x-thoughts"),
)
def _header() -> Iterator[Fault]:
    def put(request: Any, response: Any) -> None:
        if _is_signed_in(request) and request.path.endswith("/download/"):
            response.headers["X-Thoughts"] = _hidden_of(request.user)

    yield _answered(put)


@_leak("secret", f"{_STREAMING}::test_the_operators_secrets_do_not_leak", ("sign-in/", "anonymous", "instructions"))
def _secret() -> Iterator[Fault]:
    from chatui.env import environment

    def put(request: Any, response: Any) -> None:
        response.headers["X-Instructions"] = environment().instructions

    yield _answered(put)


# A member's instructions are put into a header, without their first line.
@_leak(
    "group's secret",
    f"{_STREAMING}::test_the_instructions_of_a_group_do_not_leak",
    (f"{CONVERSATION}download/", "owner", "instructions of the group sworn, line 2 in header x-group"),
)
def _groups_secret() -> Iterator[Fault]:
    from chatui import instructions
    from chatui.env import environment

    def put(request: Any, response: Any) -> None:
        if _is_signed_in(request):
            found = instructions.instructions_for(lambda: request.user.groups.values_list("name", flat=True))
            response.headers["X-Group"] = " ".join(found.removeprefix(environment().instructions).strip().splitlines()[1:])

    yield _answered(put)


@_leak("cookie", f"{_STORED}::test_a_restored_conversation_has_no_marker", ("home", "owner", "header set-cookie"))
def _cookie() -> Iterator[Fault]:
    def put(request: Any, response: Any) -> None:
        if _is_signed_in(request) and request.path == "/":
            response.set_cookie("thoughts", _hidden_of(request.user)[:3000])

    yield _answered(put)


@_leak(
    "error page",
    f"{_STORED}::test_static_files_and_error_addresses_have_no_marker",
    (f"{CONVERSATION}at/<uuid:message_id>/", "owner", "in body"),
)
def _error_page() -> Iterator[Fault]:
    def put(request: Any, response: Any) -> None:
        if _is_signed_in(request) and response.status_code == 404 and not response.streaming:
            response.content += _hidden_of(request.user).encode()
            response.headers["Content-Length"] = str(len(response.content))

    yield _answered(put)


@_leak(
    "copy",
    f"{_STREAMING}::test_nothing_hidden_leaks_from_edits_and_regenerations",
    (f"{CONVERSATION}messages/<uuid:message_id>/text/", "owner", "chat: reasoning"),
)
def _copy() -> Iterator[Fault]:
    from chatui.models.message import Message
    from chatui.web import conversations

    def any_text(visitor: Any, conversation_id: object, message_id: object) -> str:
        return Message.objects.get(pk=message_id, conversation__owner=visitor.user).text  # type: ignore[misc]

    yield conversations, "visible_text", any_text


@_leak(
    "debug events",
    f"{_STREAMING}::test_nothing_hidden_leaks_while_streaming_and_staff_see_all_of_it",
    ("socket", "owner", "event of the debug view"),
)
def _debug_events() -> Iterator[Fault]:
    from chatui.wire import bus
    from renderer.gate import Audience

    sound = bus.audience
    yield bus, "audience", lambda conversation, audience: sound(conversation, Audience.END_USER)


# Programs get what only those with the permission may ask for.
@_leak("raw reasoning", f"{_PROGRAMS}[owner]", ("POST v1/responses", "program", "in body"))
def _raw_reasoning() -> Iterator[Fault]:
    from chatui.api import reasoning_access

    for name in ("stream_for", "audience_of"):
        yield reasoning_access, name, _for_trusted(getattr(reasoning_access, name))


def _for_trusted(sound: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with every key taken for one that may read raw reasoning."""

    def broken(*args: Any) -> Any:
        return sound(*(replace(each, views_hidden=True) if hasattr(each, "views_hidden") else each for each in args))

    return broken


@_leak(
    "another's response",
    f"{_PROGRAMS}[other]",
    ("v1/responses/…", "trusted program", "somebody else's response was read"),
)
def _anothers_response() -> Iterator[Fault]:
    from chatui.models.programs import ProgramAnswer
    from chatui.permissions import programs

    yield programs, "_answers", lambda person, only_key: ProgramAnswer.objects.filter(is_kept=True)


@_leak("revoked key", f"{_PROGRAMS}[revoked]", ("POST v1/responses", "program with a revoked key", "not refused"))
def _revoked_key() -> Iterator[Fault]:
    from chatui.accounts import key_admission

    yield key_admission, "_why_invalid", lambda row: ""


_CAUGHT = {leak.caught_by: name for name, leak in LEAKS.items()}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """If this module is loaded as a plugin: plant the leak that names the test, before any of its fixtures is made."""
    with pytest.MonkeyPatch.context() as patch:
        if name := _CAUGHT.get(item.nodeid):
            for place, attribute, broken in LEAKS[name].faults():
                patch.setattr(place, attribute, broken)
        return (yield)  # type: ignore[misc]
