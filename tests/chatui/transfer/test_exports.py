"""Exports: the formats of a download, the archive of all conversations, and the content of metrics, logs and error reports."""

import asyncio
import gc
import io
import json
import logging
import random
import sys
import tracemalloc
import zipfile
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_django
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from channels.db import aclose_old_connections
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connection
from django.test import AsyncRequestFactory, Client, RequestFactory
from django.utils import timezone
from django.views.debug import get_exception_reporter_filter

from chatui.accounts import api_keys
from chatui.accounts.api_keys import NewKeyOptions
from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.programs import ApiKey
from chatui.models.ratings import Rating
from chatui.models.user import User
from chatui.store import files as store_files
from chatui.store.files import FileDestination, NewFile
from chatui.transfer import exports, shares
from chatui.transfer.exports import DownloadFormat, attachment
from chatui.transfer.imports import import_transcript
from chatui.transfer.shares import ShareOptions
from chatui.web import downloads
from renderer.errors import Code, ParseHeaderError
from renderer.frames import Frame, Header
from renderer.gate import Audience
from renderer.ocml import document, interchange
from tests.chatui.conftest import OPENING, signed_in
from tests.support.cases import for_each
from tests.support.downloads import name_of
from tests.support.environment import change
from tests.support.log_lines import formatter, report
from tests.support.messages import add_message, open_branch

pytestmark = pytest.mark.django_db
NEW_KEY = NewKeyOptions(name="A job", for_responses=True, for_chat=True)


def say(row: Conversation, parent: Message | None, text: str, header: Header) -> Message:
    return add_message(row, parent, Frame(header, text), Author.MODEL)


@pytest.fixture
def exported(conversation: Conversation, ada: User) -> Conversation:
    question = say(conversation, None, "Why?", Header("user"))
    thought = say(conversation, question, "HIDDEN ``` and ```` fences", Header("assistant", channel="analysis"))
    plan = say(conversation, thought, "Let me look.", Header("assistant", channel="commentary", intent="preamble"))
    final = say(conversation, plan, "Because `x`.\n\n- one\n- two", Header("assistant", channel="final"))
    open_branch(conversation, ada, final)
    return conversation


def unzipped(data: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as held:
        assert held.testzip() is None
        return {name: held.read(name).decode() for name in held.namelist()}


def test_markdown_reads_like_the_page(exported: Conversation, ada: User) -> None:
    response = signed_in(ada).get(f"/c/{exported.pk}/download/?format=markdown")
    assert response.content.decode() == (
        "# Ada's conversation\n\n## Question\n\nWhy?\n\nLet me look.\n\n## Answer\n\nBecause `x`.\n\n- one\n- two\n"
    )


def test_json_and_openchatml_hold_the_same_visible_frames(exported: Conversation, ada: User) -> None:
    client = signed_in(ada)
    as_text, as_json = (client.get(f"/c/{exported.pk}/download/?format={form}").content.decode() for form in ("openchatml", "json"))
    assert document.parse(as_text).frames == interchange.parse_json(as_json).frames
    assert json.loads(as_json)["messages"][0]["content"] == "Why?"
    assert as_text == client.get(f"/c/{exported.pk}/download/").content.decode(), "OpenChatML is the default"


def test_a_download_that_is_imported_is_the_same_download_but_that_it_says_so(exported: Conversation, ada: User) -> None:
    for form in (DownloadFormat.OPENCHATML, DownloadFormat.JSON):
        read = document.parse if form is DownloadFormat.OPENCHATML else interchange.parse_json
        text = exports.transcript(exported, ada, Audience.END_USER, form)
        again = exports.transcript(import_transcript(ada, text.encode()).conversation, ada, Audience.END_USER, form)
        before, after = read(text), read(again)
        assert after.frames == before.frames and len(before.frames) == 3
        assert again.replace("imported: true\n", "").replace(',\n    "imported": true', "") == text


def test_a_whole_download_is_the_branch_that_its_reader_has_open(exported: Conversation, ada: User, grace: User) -> None:
    question = exported.messages.get(position=0)
    other = say(exported, question, "Another answer.", Header("assistant", channel="final"))
    assert "Because" in exports.transcript(exported, grace, Audience.DEBUG), "the premise: who has opened none reads the owner's"
    open_branch(exported, grace, other)
    assert "Another answer." in exports.transcript(exported, grace, Audience.DEBUG)
    assert "Because" in exports.transcript(exported, ada, Audience.END_USER)


def test_whole_markdown_shows_every_frame_unambiguously(exported: Conversation, ada: User) -> None:
    whole = exports.transcript(exported, ada, Audience.DEBUG, DownloadFormat.MARKDOWN)
    assert "## assistant · analysis\n\n`````text\nHIDDEN ``` and ```` fences\n`````" in whole
    assert "HIDDEN" not in exports.transcript(exported, ada, Audience.END_USER, DownloadFormat.MARKDOWN)


def test_a_header_in_whole_markdown_is_text(conversation: Conversation, ada: User) -> None:
    odd = say(conversation, None, "HIDDEN reply", Header("tool", name="[x](http://a.example)`<b>*_\\"))
    open_branch(conversation, ada, odd)
    whole = exports.transcript(conversation, ada, Audience.DEBUG, DownloadFormat.MARKDOWN)
    assert whole.splitlines()[2] == "## tool · name x (http://a.example) b" and "HIDDEN" in whole
    assert "HIDDEN" not in exports.transcript(conversation, ada, Audience.END_USER, DownloadFormat.MARKDOWN)


@pytest.mark.parametrize("name", ["markdown", "json"])
def test_a_link_of_an_earlier_version_that_says_form_still_works(name: str, exported: Conversation, ada: User) -> None:
    old, new = (signed_in(ada).get(f"/c/{exported.pk}/download/?{word}={name}") for word in ("form", "format"))
    assert old.status_code == 200 and old.content == new.content
    assert old["Content-Disposition"] == new["Content-Disposition"]


def test_the_archive_has_all_conversations_of_a_person_in_two_formats(exported: Conversation, ada: User, bela: User) -> None:
    other = Conversation.objects.create(owner=bela, title="Bela's")
    open_branch(other, bela, say(other, None, "Not Ada's", Header("user")))
    gone = Conversation.objects.create(owner=ada, title="Gone", deleted_at=exported.created_at)
    say(gone, None, "Gone", Header("user"))
    erased = Conversation.objects.create(owner=ada, title="Erased", deleted_at=exported.created_at, unfinished_until=exported.created_at)
    say(erased, None, "Erased", Header("user"))
    response = signed_in(ada).get("/download/")
    held = unzipped(b"".join(response.streaming_content))  # type: ignore[attr-defined]
    day, key = f"{exported.created_at:%Y-%m-%d}", exported.pk.hex[-8:]
    kinds = ("-versions.json", ".md", ".ocml")
    own = [f"{day}-adas-conversation-{key}{kind}" for kind in kinds]
    binned = [f"bin/{gone.created_at:%Y-%m-%d}-gone-{gone.pk.hex[-8:]}{kind}" for kind in kinds]
    assert sorted(held) == sorted([*own, *binned, "READ-ME.txt", "account.json"])
    assert "Because `x`." in "".join(held.values()) and "HIDDEN" not in "".join(held.values()) and "Erased" not in "".join(held.values())
    assert response["Content-Type"] == "application/zip" and response["Content-Disposition"].startswith("attachment; filename=")


def test_people_without_conversations_get_their_account_and_what_is_left_out(bela: User) -> None:
    response = signed_in(bela).get("/download/", headers={"accept-language": "de"})
    held = unzipped(b"".join(response.streaming_content))  # type: ignore[attr-defined]
    assert set(held) == {"READ-ME.txt", "account.json"}
    assert "Was fehlt" in held["READ-ME.txt"], "in the language of the page, which has been answered before the file is read"


def versions_of(person: User) -> str:
    """The document with all versions of the person's only conversation."""
    [pieces] = [content for name, content in exports.all_files(person) if name.endswith("-versions.json")]
    assert not isinstance(pieces, str | bytes), "it is written in pieces"
    return "".join(pieces)


def test_all_versions_are_in_it_with_ratings_and_without_a_trace_of_hidden_messages(exported: Conversation, ada: User, bela: User) -> None:
    question, final = exported.messages.get(position=0), exported.messages.get(position=3)
    other = say(exported, question, "HIDDEN too", Header("assistant", channel="analysis"))
    second = say(exported, other, "Another answer. }", Header("assistant", channel="final"))
    Conversation.objects.update(title='A "title" }')
    Rating.objects.create(message=final, person=ada, verdict="down", reason="wrong", note="No!", rated_at=exported.created_at)
    Rating.objects.create(message=final, person=bela, verdict="up", rated_at=exported.created_at)
    text = versions_of(ada)
    found = json.loads(text)
    assert "HIDDEN" not in text and "analysis" not in text
    told = [(each["id"], each["parent"], each["content"]) for each in found["messages"]]
    plan = exported.messages.get(position=2)
    assert told == [
        (str(question.pk), None, "Why?"),
        (str(plan.pk), str(question.pk), "Let me look."),
        (str(final.pk), str(plan.pk), "Because `x`.\n\n- one\n- two"),
        (str(second.pk), str(question.pk), "Another answer. }"),
    ]
    assert (found["title"], found["open"], found["deleted_at"]) == ('A "title" }', str(final.pk), None)
    rated = {"verdict": "down", "reason": "wrong", "note": "No!", "rated_at": exported.created_at.isoformat()}
    assert [each.get("rating") for each in found["messages"]] == [None, None, rated, None]


def test_a_conversation_without_messages_is_a_document_too(conversation: Conversation, ada: User) -> None:
    found = json.loads(versions_of(ada))
    assert (found["messages"], found["open"]) == ([], None)


def test_the_account_is_in_it_and_no_secret(exported: Conversation, ada: User, bela: User) -> None:
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    ada.refresh_from_db()
    visitor = Visitor(ada, "", "page")
    with_key = [api_keys.create(Visitor(person, "", "page"), NEW_KEY) for person in (ada, bela)]
    link = shares.create(visitor, exported.pk, exported.messages.get(position=3).pk, 7, ShareOptions())
    response = signed_in(ada).get("/download/")
    held = unzipped(b"".join(response.streaming_content))  # type: ignore[attr-defined]
    account = json.loads(held["account.json"])
    assert account["account"]["address"] == "ada@example.org" and account["shared_links"][0]["title"] == "Ada's conversation"
    [key] = account["api_keys"]
    assert (key["name"], key["prefix"], key["per_minute"]) == ("A job", with_key[0].text[:11], 60) and key["expires_at"]
    everything = "".join(held.values())
    secrets = (with_key[0].text[11:], ApiKey.objects.get(owner=ada).digest, link.token, ada.password)
    assert all(secrets) and not any(secret in everything for secret in secrets)


def test_the_archive_has_the_files_of_a_conversation_in_a_folder_of_its_name(exported: Conversation, ada: User) -> None:
    for name, data in (("plot.png", b"\x89PNG"), ("a.csv", b"old"), ("a.csv", b"new")):
        store_files.save(FileDestination(ada.pk, exported.pk), NewFile.of(name, data))
    response = signed_in(ada).get("/download/")
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as held:  # type: ignore[attr-defined]
        files = {name: held.read(name) for name in held.namelist() if "/" in name}
    folder = f"{exported.created_at:%Y-%m-%d}-adas-conversation-{exported.pk.hex[-8:]}"
    assert files == {f"{folder}/plot.png": b"\x89PNG", f"{folder}/a.csv": b"new"}


@pytest.mark.parametrize("is_one_file", [False, True])
def test_an_archive_is_made_one_file_or_piece_at_a_time(is_one_file: bool) -> None:
    positions: list[int] = []

    def texts():
        for number in range(200):
            positions.append(number)
            yield random.Random(number).randbytes(25_000).hex()

    pieces = downloads.zipped([("all.json", texts())] if is_one_file else ((f"{len(positions)}.txt", text) for text in texts()))
    first = next(pieces)
    assert len(positions) < 5 and first.startswith(b"PK")
    tracemalloc.start()
    size = sum(len(piece) for piece in pieces)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 4_000_000 and peak < 1_500_000, f"{peak} bytes at most for an archive of {size} bytes"


@pytest.mark.django_db(transaction=True)
async def test_a_slow_reader_of_an_archive_holds_no_connection_to_the_database(ada: User, exported: Conversation) -> None:
    held: list[bool] = []
    pieces: list[bytes] = []
    # A separate thread: another test may have left the shared thread's connection in the middle of something.
    async with ThreadSensitiveContext():
        gone = await Conversation.objects.acreate(owner=ada, title="Gone meanwhile")
        async for piece in downloads.in_threads(downloads.zipped(exports.all_files(ada))):
            pieces.append(piece)
            held.append(await sync_to_async(lambda: connection.connection is not None)())
            await Conversation.objects.filter(pk=gone.pk).aupdate(deleted_at=gone.created_at)
            await aclose_old_connections()
    assert held == [False] * 9
    assert len(unzipped(b"".join(pieces))) == 8, "what is deleted meanwhile is in the bin"


@pytest.mark.parametrize(("token", "header"), [("", ""), ("", "Bearer "), ("secret", "Bearer wrong"), ("secret", "Basic secret")])
def test_without_the_operators_token_there_are_no_metrics(token: str, header: str, settings: pytest_django.Settings) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"metrics_token": token})
    assert Client().get("/metrics", headers={"authorization": header}).status_code == 404


def scraped() -> str:
    """What the operator's monitoring is answered."""
    with pytest.MonkeyPatch.context() as patch:
        change(patch, {"metrics_token": "secret"})
        answer = Client().get("/metrics", headers={"authorization": "Bearer secret"})
    assert answer.status_code == 200
    return answer.content.decode()


def test_metrics_are_counts_in_the_text_format(exported: Conversation) -> None:
    lines = scraped().splitlines()
    assert 'chatui_turns{state="completed"} 0.0' in lines and "chatui_turns_alive 0.0" in lines and "chatui_refused_looks 0.0" in lines
    assert all(line.startswith("#") or float(line.rsplit(" ", 1)[1]) >= 0 for line in lines)
    assert scraped().endswith("\n")


@pytest.mark.usefixtures("exported")
def test_without_its_database_a_process_still_tells_its_own_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "chatui_database_up 1.0" in scraped().splitlines()

    def away() -> None:
        raise OperationalError("SECRET")

    monkeypatch.setattr("chatui.store.transcripts.problem_counts", away)
    found = scraped()
    assert "chatui_database_up 0.0" in found.splitlines() and "chatui_turns" not in found.replace("chatui_turns_", "")
    assert "chatui_error_pages" in found and "SECRET" not in found


@pytest.mark.django_db(transaction=True)
def test_frames_with_problems_are_counted_by_code(ada: User) -> None:
    broken = "<|start|>robot<|message|>SECRET<|end|>\n<|start|>tool name=functions.x<|message|>{}<|end|>\n"
    import_transcript(ada, f"version: 2.2\n<|start|>user<|message|>Hi<|end|>\n{broken}{broken}".encode())
    lines = scraped().splitlines()
    assert 'chatui_frames_with_problems{code="E-PARSE-HEADER"} 2.0' in lines
    assert 'chatui_frames_with_problems{code="E-CALL-SCHEMA"} 2.0' in lines
    assert 'chatui_frames_with_problems{code="E-X-WITHHELD"} 0.0' in lines


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except type(error) as caught:
        return caught


def traceback_of(error: BaseException) -> str:
    """How a line of the log ends that reports the exception."""
    return line_of("Failed", exc_info=(type(error), error, error.__traceback__))


def test_an_exception_is_reported_by_its_type_and_location() -> None:
    text = traceback_of(raised(ValueError("SECRET")))
    assert "builtins.ValueError" in text and "in raised" in text and "SECRET" not in text


def test_causes_and_members_of_exception_groups_are_reported_in_the_same_way() -> None:
    error = raised(RuntimeError("SECRET"))
    error.__cause__ = raised(KeyError("SECRET"))
    error.__cause__.__context__ = error
    text = traceback_of(error) + traceback_of(BaseExceptionGroup("SECRET", [error, KeyboardInterrupt("SECRET")]))
    assert "builtins.KeyError" in text and "which led to" in text and "KeyboardInterrupt" in text and "SECRET" not in text


def test_our_codes_and_messages_about_files_and_settings_are_reported() -> None:
    assert str(Code.PARSE_HEADER) in traceback_of(raised(ParseHeaderError("SECRET")))
    assert "SECRET" not in traceback_of(raised(ParseHeaderError("SECRET")))
    assert "No such file" in traceback_of(raised(FileNotFoundError(2, "No such file")))
    assert "CHATUI_X" in traceback_of(raised(ImproperlyConfigured("CHATUI_X is wrong")))


def line_of(message: object, *args: object, exc_info: object = None) -> str:
    record = logging.LogRecord("daphne", logging.ERROR, __file__, 1, message, args, exc_info)  # type: ignore[arg-type]
    record.exc_text = "SECRET, as another handler put it" if exc_info else None
    return formatter(form="%(levelname)s %(name)s: %(message)s").format(record)


def test_log_lines_never_contain_messages_of_exceptions() -> None:
    error = raised(ValueError("SECRET"))
    whole = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g("SECRET")\nValueError: SECRET\nSECRET'
    lines = [
        line_of("Exception inside application: %s", error, exc_info=(ValueError, error, error.__traceback__)),
        line_of(whole),
        line_of("Cannot build protocol: " + whole),
        line_of(error),
    ]
    assert "SECRET" not in "\n".join(lines)
    assert "Exception inside application: ValueError" in lines[0] and "in raised" in lines[0] and 'File "a.py", line 3, in f' in lines[1]


def test_asyncios_message_about_an_unawaited_task_quotes_no_exception() -> None:
    async def fails() -> None:
        raise ValueError("SECRET")

    logged: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(formatter(form="%(name)s: %(message)s").format(record))  # type: ignore[method-assign]
    log = logging.getLogger("asyncio")
    log.addHandler(handler)
    try:
        loop = asyncio.new_event_loop()
        task = loop.create_task(fails())
        loop.run_until_complete(asyncio.wait([task]))
        assert "SECRET" in repr(task), "the premise: a task's repr quotes its exception"
        del task
        gc.collect()
        loop.call_exception_handler({"message": "Fatal error on transport", "transport": "<SECRET>", "exception": ValueError("SECRET")})
        loop.close()
    finally:
        log.removeHandler(handler)
    assert len(logged) == 2 and "SECRET" not in "".join(logged)
    assert "Task exception was never retrieved" in logged[0] and "in fails" in logged[0] and "Fatal error on transport" in logged[1]


def test_no_token_of_a_share_link_is_logged() -> None:
    assert line_of("%s: %s", "Too Many Requests", "/s/Zm9vLWJhcl9iYXo_-a/") == "ERROR daphne: Too Many Requests: /s/(token)/"
    assert line_of("Not Found: /shares/x/ /c/s/x") == "ERROR daphne: Not Found: /shares/x/ /c/s/x"
    reporter = report(RequestFactory().get("/s/Zm9vLWJhcl9iYXo_-a/"))
    assert "Zm9v" not in reporter.get_traceback_text() and "GET /s/(token)/" in reporter.get_traceback_text()


def test_other_log_lines_are_unchanged() -> None:
    assert line_of("turn %s: %d of %d", "x", 1, 2) == "ERROR daphne: turn x: 1 of 2"
    assert line_of("100 %") == "ERROR daphne: 100 %"
    assert line_of("%(a)s", {"a": 1}) == "ERROR daphne: 1"


def test_an_error_report_has_no_variables_form_fields_or_messages() -> None:
    secret = "SECRET"
    request = RequestFactory().post("/c/x/?q=SECRET", {"text": secret}, HTTP_COOKIE="SECRET=SECRET")
    try:
        raise ValueError(secret)
    except ValueError:
        reporter = report(request, sys.exc_info())
    for text in (reporter.get_traceback_text(), reporter.get_traceback_html()):
        assert "SECRET" not in text and "ValueError" in text and "POST /c/x/" in text


def test_djangos_own_reporter_has_no_variables_either() -> None:
    found = get_exception_reporter_filter(RequestFactory().get("/"))
    request = RequestFactory().post("/", {"text": "SECRET"})
    assert list(found.get_traceback_frame_variables(request, sys._getframe())) == []
    assert "SECRET" not in str(found.get_post_parameters(request)) and found.is_active(request)


def test_the_settings_log_with_it() -> None:
    handlers = [handler for handler in logging.getLogger().handlers if type(handler) is logging.StreamHandler]
    assert [type(handler.formatter) for handler in handlers] == [type(formatter())]


@for_each(
    [
        ("Planning the launch", "Planning the launch.md"),
        ("量子コンピュータとは？", "量子コンピュータとは？.md"),
        ("ما هو الطقس اليوم؟", "ما هو الطقس اليوم؟.md"),
        ("../../etc/passwd", "etc passwd.md"),
        ('a<b>c:"d"|e?f*g', "a b c d e f g.md"),
        ("line\nbreak\r\ttab\x00nul", "line break tabnul.md"),
        ("harmless \u202efdp.exe", "harmless fdp.exe.md"),
        ("zero\u200bwidth\ufeff", "zerowidth.md"),
        ("half a \ud83dsurrogate", "half a surrogate.md"),
        ("un\u0378assigned", "unassigned.md"),
        ("...hidden...", "hidden.md"),
        ("", "conversation.md"),
        ("NUL", "conversation NUL.md"),
        ("com1.txt", "conversation com1.txt.md"),
        ("Our \U0001f469\u200d\U0001f469\u200d\U0001f467 trip", "Our \U0001f469\u200d\U0001f469\u200d\U0001f467 trip.md"),
        ("\u200dzero\u200dwidth\u200d \U0001f469\u200d", "zerowidth \U0001f469.md"),
    ]
)
def test_a_title_becomes_a_file_name(title: str, expected: str) -> None:
    assert name_of(title, ".md") == expected


@for_each(["x" * 500, "ü" * 500, "漢" * 500, "🙂" * 500])
def test_a_long_title_is_cut_between_characters(title: str) -> None:
    name = name_of(title, "-whole.json")
    assert name.endswith("-whole.json")
    assert len(name.encode()) <= 140
    assert set(name.removesuffix("-whole.json")) == {title[0]}


@for_each(
    [
        ("Launch", 'attachment; filename="Launch.md"'),
        ("Größe", "attachment; filename*=utf-8''Gr%C3%B6%C3%9Fe.md"),
        ('say "hi"\r\nSet-Cookie: a=b', 'attachment; filename="say hi Set-Cookie a=b.md"'),
    ]
)
def test_the_header_follows_the_rfcs(title: str, expected: str) -> None:
    assert attachment(title, ".md") == expected


@pytest.mark.parametrize(("title", "expected"), [("A – b", "a-b"), ("a" * 59 + " b", "a" * 59), ("Zoë", "zoë")])
def test_a_name_in_an_archive_has_the_words_of_the_title_between_single_hyphens(title: str, expected: str, ada: User) -> None:
    row = Conversation.objects.create(owner=ada, title=title)
    Conversation.objects.update(created_at=datetime(2026, 11, 20, tzinfo=UTC))
    assert f"2026-11-20-{expected}-{row.pk.hex[-8:]}.md" in [name for name, _ in exports.all_files(ada)]


@pytest.mark.parametrize(("name", "extension"), [("markdown", "md"), ("openchatml", "ocml"), ("json", "json")])
def test_an_owner_downloads_visible_text_as_a_plain_text_file(name: str, extension: str, exported: Conversation, ada: User) -> None:
    response = signed_in(ada).get(f"/c/{exported.pk}/download/?format={name}")
    assert "Because `x`." in response.content.decode() and "HIDDEN" not in response.content.decode()
    assert response["Content-Disposition"] == f'attachment; filename="Ada\'s conversation.{extension}"'
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert not AuditEvent.objects.exists()


def test_staff_download_the_whole_transcript_under_another_name_and_it_is_recorded(
    exported: Conversation, grace: User, ada: User, bela: User
) -> None:
    client, path = signed_in(grace), f"/c/{exported.pk}/download/whole/"
    assert client.get(path).status_code == 403, "without opening the debug view"
    client.post(f"/c/{exported.pk}/debug/open/", OPENING)
    for name, extension in (("markdown", "md"), ("openchatml", "ocml"), ("json", "json")):
        response = client.get(f"{path}?format={name}")
        assert "HIDDEN" in response.content.decode() and response["Content-Type"] == "text/plain; charset=utf-8"
        assert response["Content-Disposition"] == f'attachment; filename="Ada\'s conversation-whole.{extension}"'
    last = AuditEvent.objects.order_by("-number")[0]
    assert (last.action, last.conversation_id, last.actor, last.code) == ("whole download", exported.pk, grace, "")
    assert client.get(f"{path}?format=x").status_code == 404
    for person in (ada, bela):
        refused = signed_in(person).get(path)
        assert refused.status_code == 403 and "HIDDEN" not in refused.content.decode()


def of_conversations(person: User) -> list[str]:
    """The names of the files of conversations in the archive of all."""
    return [name for name, _ in exports.all_files(person) if name not in ("READ-ME.txt", "account.json")]


def test_nobody_else_downloads_a_conversation_nor_the_owner_a_temporary_or_deleted_one(
    exported: Conversation, ada: User, bela: User, grace: User
) -> None:
    path = f"/c/{exported.pk}/download/"
    assert [signed_in(person).get(path).status_code for person in (ada, bela, grace)] == [200, 404, 404]
    assert Client().get(path).status_code == 302 == Client().get("/download/").status_code
    assert signed_in(ada).post(path).status_code == 405 == signed_in(ada).post("/download/").status_code
    assert len(of_conversations(ada)) == 3 and not of_conversations(bela)
    for state in ("temporary_until", "deleted_at"):
        Conversation.objects.update(**{state: timezone.now() + timedelta(hours=1)})
        assert signed_in(ada).get(path).status_code == 404, state
        assert all(name.startswith("bin/") for name in of_conversations(ada)) and bool(of_conversations(ada)) == (state == "deleted_at")
        Conversation.objects.update(**{state: None})
    assert signed_in(ada).get(path).status_code == 200


@pytest.mark.parametrize(("requests", "is_async"), [(RequestFactory(), False), (AsyncRequestFactory(), True)])
def test_a_server_with_an_event_loop_is_sent_a_file_in_threads(requests: Any, is_async: bool) -> None:
    assert downloads.streamed(requests.post("/ratings/"), iter([b"line"])).is_async is is_async
