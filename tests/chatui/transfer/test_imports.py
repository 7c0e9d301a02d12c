"""Uploaded transcripts: what is imported, what is hidden, and what is refused, with the exact position of the problem."""

import json

import pytest
from channels.db import database_sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from hypothesis import given, settings

from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.user import User
from chatui.transfer import exports
from chatui.transfer import upload as transfer_upload
from chatui.transfer.imports import import_transcript
from chatui.transfer.upload import ImportRefusedError
from renderer.frames import Frame
from renderer.gate import Audience
from renderer.ocml import document as ocml
from renderer.ocml import interchange
from tests.chatui.conftest import signed_in
from tests.chatui.transfer.other_products import samples
from tests.renderer.any_transcripts import any_frames, visible_words, words
from tests.support.cases import example_count
from tests.support.scripted import ScriptedBackend
from tests.support.turns import ask, run

pytestmark = pytest.mark.django_db

DOCUMENT = """version: 2.2
model: gpt-oss-20b
generation_settings:
  reasoning_effort: high

<|start|>system<|message|>CANARY-SYSTEM<|end|>
<|start|>developer<|message|>CANARY-DEVELOPER<|end|>
<|start|>user<|message|>What is the weather?<|end|>
<|start|>assistant<|channel|>analysis<|message|>CANARY-ANALYSIS<|end|>
<|start|>assistant to=functions.weather call_id=w1<|channel|>commentary<|constrain|>json<|message|>{"q":"CANARY-CALL"}<|call|>
<|start|>tool name=functions.weather call_id=w1 to=assistant<|channel|>commentary<|message|>{"ok":true,"content":"CANARY-REPLY"}<|end|>
<|start|>assistant<|channel|>final<|message|>It is *sunny*.<|return|>
"""


def upload(person: User, text: str | bytes, name: str = "talk.ocml", **fields: str):  # type: ignore[no-untyped-def]
    data = text if isinstance(text, bytes) else text.encode()
    return signed_in(person).post("/import/", {"file": SimpleUploadedFile(name, data), **fields}, follow=True)


def test_a_transcript_becomes_a_conversation_of_the_person_who_uploads_it(ada: User) -> None:
    response = upload(ada, DOCUMENT)
    conversation = Conversation.objects.get()
    assert response.redirect_chain[-1][0] == f"/c/{conversation.pk}/"
    assert (conversation.owner, conversation.title, conversation.model, conversation.effort) == (
        ada,
        "What is the weather?",
        "gpt-oss-20b",
        "high",
    )
    page = response.content.decode()
    assert "What is the weather?" in page and "It is <em>sunny</em>." in page and "CANARY" not in page
    assert set(Message.objects.values_list("author", flat=True)) == {"import"}


@pytest.mark.parametrize(
    ("text", "expected", "details"),
    [
        ("", "neither a transcript nor an export", "Line 1, column "),
        ("hello SECRET-WORDS", "neither a transcript nor an export", "Line 1, column "),
        ("# SECRET-WORDS\n\n## Question\n\nHi", "This is Markdown", "Line 1, column 1: the document header is not a mapping (E-"),
        ("<!DOCTYPE html>\n<title>SECRET-WORDS</title>", "This is a web page", "Line 1, column "),
        ("%PDF-1.7 SECRET-WORDS", "a document or a picture", "Line 1, column "),
        ("\x89PNG\r\n\x1a\n\x00\x00", "a document or a picture", "Line 1, column "),
        ("version: 3.0\n<|start|>user<|message|>x<|end|>", "a transcript, but it cannot be read here", "Line 1, column "),
        ('{"header": {"version": "2.2"}, "messages": [{"role": "user", "content": SECRET-WORDS}]}', "This is JSON", "Line 1, column "),
        ("{", "This is JSON", "Line 1, column "),
        ("version: 2.2\n<|start|>assistant<|channel|>analysis<|message|>SECRET-WORDS<|end|>", "no message that you may see", "E-X-EMPTY"),
    ],
)
def test_a_bad_file_is_told_by_what_it_is_with_the_place_in_the_details(text: str, expected: str, details: str, ada: User) -> None:
    response = upload(ada, text or " ")
    shown, _, folded = response.content.decode().partition("<details")
    assert response.status_code == 400 and "Nothing was imported" in shown and expected in shown and details in folded
    assert "E-" not in shown.partition("<main")[2] and "SECRET" not in shown + folded and not Conversation.objects.exists()


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"version: 2.2\n<|start|>user<|message|>\xff\x80<|end|>", b"\x00" * 100, b"[" * 50_000])
def test_unusual_bytes_cause_no_exception(data: bytes, ada: User) -> None:
    assert upload(ada, data).status_code in (200, 400)


def test_a_broken_transcript_is_imported_with_its_broken_part_hidden(ada: User) -> None:
    broken = "<|start|>robot<|message|>CANARY<|end|>\n<|start|>assistant<|channel|>final<|message|>Ho"
    imported = import_transcript(ada, f"version: 2.2\n<|start|>user<|message|>Hi<|end|>\n{broken}".encode())
    assert imported.findings.problems > 0
    page = signed_in(ada).get(f"/c/{imported.conversation.pk}/").content.decode()
    assert "Hi" in page and "CANARY" not in page


def test_a_look_says_what_is_in_a_file_and_stores_nothing(ada: User) -> None:
    broken = "<|start|>robot<|message|>CANARY<|end|>\n<|start|>assistant<|channel|>final<|message|>Ho"
    text = f"version: 2.2\n<|start|>user<|message|>Hi<|end|>\n{broken}"
    page = upload(ada, text, look="1").content.decode()
    assert "3 messages, 2 of them visible." in page and "Message 2, line 3" in page and "(E-PARSE-HEADER)" in page
    assert "CANARY" not in page and not Conversation.objects.exists()
    refused = upload(ada, "x", look="1")
    assert refused.status_code == 400 and "Nothing was imported" in refused.content.decode()
    export = upload(ada, samples.as_json([samples.OPEN_WEBUI]).decode(), look="1").content.decode()
    assert "This is an export." in export and not Conversation.objects.exists()


def test_broken_json_is_imported_with_its_broken_part_hidden(ada: User) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "robot", "content": "CANARY"}, {"role": "assistant", "content": ["CANARY"]}]
    imported = import_transcript(ada, json.dumps({"header": {"version": "2.2"}, "messages": messages}).encode())
    assert (imported.findings.frames, imported.findings.visible, imported.findings.problems) == (3, 1, 2)
    page = signed_in(ada).get(f"/c/{imported.conversation.pk}/").content.decode()
    assert "Hi" in page and "CANARY" not in page


def test_problems_of_an_import_are_logged_by_code_without_text(ada: User, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    broken = "<|start|>robot<|message|>SECRET<|end|>\n<|start|>tool name=functions.x<|message|>SECRET<|end|>\n"
    import_transcript(ada, f"version: 2.2\n<|start|>user<|message|>Hi<|end|>\n{broken}{broken}".encode())
    [line] = [record.getMessage() for record in caplog.records if "E-" in record.getMessage()]
    assert line.endswith("was imported with problems: E-CALL-SCHEMA × 2, E-PARSE-HEADER × 2")
    assert "SECRET" not in caplog.text


def test_values_that_strict_reading_accepts_are_stored_unchanged(grace: User) -> None:
    long = "n" * 3_000
    frames = (
        f"<|start|>user name={long}<|message|>Hi<|end|>\n"
        "<|start|>assistant to=functions.x call_id=tc/9+Q==<|channel|>commentary<|constrain|>json<|message|>{}<|call|>\n"
        "<|start|>tool to=assistant call_id=tc/9+Q== name=functions.x<|channel|>commentary<|message|>{}<|end|>\n"
    )
    row = import_transcript(grace, f"version: 2.2\n{frames}".encode()).conversation
    whole = exports.transcript(row, grace, Audience.DEBUG)
    assert whole.endswith(frames)
    assert not Message.objects.exclude(error_code="").exists()


def assert_the_same_again(person: User, row: Conversation) -> None:
    """Check that an imported conversation's download can be imported, and is the same then."""
    for form in (exports.DownloadFormat.OPENCHATML, exports.DownloadFormat.JSON):
        once = exports.transcript(row, person, Audience.END_USER, form)
        again = import_transcript(person, once.encode()).conversation
        assert exports.transcript(again, person, Audience.END_USER, form) == once


@pytest.mark.slow
def test_no_import_and_no_download_shows_more_than_the_file_and_both_are_the_same_again(grace: User) -> None:
    talks: list[tuple[Frame, ...]] = []

    @settings(max_examples=example_count(40), database=None, deadline=None)
    @given(any_frames())
    def collect(frames: tuple[Frame, ...]) -> None:
        talks.append(tuple(map(ocml.writable, frames)))

    collect()
    count = 0
    for frames in talks:
        Conversation.objects.all().delete()  # its title would be on the next one's page
        before, text = visible_words(frames), "version: 2.2\n\n" + "\n".join(map(ocml.dump_frame, frames))
        try:
            row = import_transcript(grace, text.encode()).conversation
        except ImportRefusedError:
            continue
        for form in exports.DownloadFormat:
            assert words(exports.transcript(row, grace, Audience.END_USER, form)) <= before
        if before:
            assert_the_same_again(grace, row)
        for audience in Audience:
            for form, read in (
                (exports.DownloadFormat.OPENCHATML, ocml.read_leniently),
                (exports.DownloadFormat.JSON, interchange.read_leniently),
            ):
                shown = visible_words(read(exports.transcript(row, grace, audience, form)).transcript.frames)
                assert shown <= before
                count += len(shown)
        page = signed_in(grace).get(f"/c/{row.pk}/").content.decode()
        assert words(page) <= before
    assert count > example_count(50), "hardly anything was imported, so this would prove little"


@pytest.mark.parametrize("form", ["openchatml", "json"])
def test_characters_that_a_database_refuses_are_replaced(form: str, ada: User) -> None:
    as_json = {"header": {"version": "2.2"}, "messages": [{"role": "user", "content": "a\x00b"}]}
    text = json.dumps(as_json) if form == "json" else "version: 2.2\n<|start|>user<|message|>a\x00b<|end|>"
    import_transcript(ada, text.encode())
    assert Message.objects.get().text == "<|start|>user<|message|>a\ufffdb<|end|>"
    assert "\x00" not in Conversation.objects.get().title


def test_e_x_too_large_a_file_or_too_many_frames_are_refused(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_upload, "MAX_BYTES", 100)
    with pytest.raises(ImportRefusedError, match="E-X-TOO-LARGE"):
        import_transcript(ada, b"x" * 101)
    monkeypatch.undo()
    monkeypatch.setattr(transfer_upload, "MAX_FRAMES", 2)
    with pytest.raises(ImportRefusedError, match="more than 2 frames"):
        import_transcript(ada, DOCUMENT.encode())
    assert not Conversation.objects.exists()


def test_an_answer_without_a_question_is_shown(ada: User) -> None:
    imported = import_transcript(ada, b"version: 2.2\n<|start|>assistant<|channel|>final<|message|>Welcome!<|end|>")
    assert "Welcome!" in signed_in(ada).get(f"/c/{imported.conversation.pk}/").content.decode()


@pytest.mark.django_db(transaction=True)
async def test_a_model_gets_no_instructions_from_an_uploaded_file(ada: User, backend: ScriptedBackend) -> None:
    imported = await database_sync_to_async(import_transcript)(ada, DOCUMENT.encode())

    question = ask(text="And tomorrow?", effort="low", conversation=imported.conversation.pk)
    await run(ada, question)
    assert [(frame.header.role, frame.header.channel) for frame in backend.requests[0].frames] == [
        ("user", None),
        ("assistant", "commentary"),
        ("tool", "commentary"),
        ("assistant", "final"),
        ("user", None),
    ]
