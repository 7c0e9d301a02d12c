"""The page of imports: what it reports about an export, whom it notifies, and that reading a transcript stops early at a limit."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from chatui.limits import Throttle
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.transfer import upload
from chatui.transfer.imports import look_at
from chatui.transfer.upload import ImportRefusedError
from chatui.web import imports
from chatui.wire import bus
from renderer.ocml.document import FrameReader
from tests.chatui.conftest import signed_in
from tests.chatui.transfer.other_products import samples
from tests.chatui.transfer.other_products.samples import as_json
from tests.support.limits import set_limits

TRANSCRIPT = b"version: 2.2\n<|start|>user<|message|>Hi<|end|>\n"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The groups and events that the page sends."""
    found: list[tuple[str, Any]] = []
    monkeypatch.setattr(bus, "send_from_thread", lambda group, event: found.append((group, event)))
    return found


def post(client: Client, data: bytes) -> Any:
    return client.post("/import/", {"file": SimpleUploadedFile("talk", data)})


def talks(count: int) -> bytes:
    return as_json([samples.CHATGPT | {"title": f"Number {number}"} for number in range(count)])


@pytest.mark.django_db
def test_the_report_links_to_some_new_conversations_and_counts_the_others(
    ada: User, sent: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "MAX_LISTED", 2)
    client = signed_in(ada)
    for count, listed, more in ((1, 1, 0), (3, 2, 0), (6, 2, 1)):
        sent.clear()
        report = post(client, talks(count)).context
        assert (report["count"], len(report["links"]), report["more"]) == (listed + more, listed, more)
        new = [f"/c/{Conversation.objects.get(title=link.title).pk}/" for link in report["links"]]
        assert [link.url for link in report["links"]] == new
        assert len(sent) == listed and {group for group, _ in sent} == {bus.person(ada.pk)}
    assert "3 conversations were skipped, because they were already imported." in report["left_out"]
    again = post(client, talks(6))
    assert "Nothing new was imported." in again.content.decode() and again.status_code == 200


@pytest.mark.django_db
def test_a_new_conversation_is_announced_to_its_owner_alone(ada: User, sent: list[tuple[str, Any]]) -> None:
    response = post(signed_in(ada), TRANSCRIPT)
    row = Conversation.objects.get()
    assert response["Location"] == f"/c/{row.pk}/"
    [(group, event)] = sent
    assert group == bus.person(ada.pk) and str(row.pk) in str(event)


@pytest.mark.django_db
def test_a_refused_or_missing_file_announces_nothing_and_a_form_does_not_count_as_an_import(
    ada: User, sent: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(ada)
    assert Throttle("import", attempts=40, seconds=600).take(36, str(ada.pk)) == 0
    assert [client.get("/import/").status_code for _ in range(5)] == [200] * 5
    assert client.post("/import/", {"file": ""}).status_code == 400 == post(client, b"hello").status_code
    assert Client().get("/import/").status_code == 302 == post(Client(), TRANSCRIPT).status_code
    assert client.put("/import/").status_code == 405
    monkeypatch.setattr(imports, "MAX_EXPORT_BYTES", len(TRANSCRIPT) - 1)
    refused = post(client, TRANSCRIPT)
    assert refused.status_code == 400 and "E-X-TOO-LARGE" in refused.content.decode()
    assert sent == [] and not Conversation.objects.exists()
    monkeypatch.setattr(imports, "MAX_EXPORT_BYTES", len(TRANSCRIPT))
    assert post(client, TRANSCRIPT).status_code == 302


@pytest.mark.parametrize(
    ("limit", "most", "line"), [("MAX_FRAMES", 3, b"<|start|>user<|message|>Hi<|end|>\n"), ("MAX_PROBLEMS", 3, b"<|end|>")]
)
def test_reading_stops_soon_after_a_limit_is_reached(limit: str, most: int, line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    fed = list[str | bytes]()

    class Counted(FrameReader):
        def feed(self, data: str | bytes) -> Any:
            fed.append(data)
            return super().feed(data)

    monkeypatch.setattr(upload, "FrameReader", Counted)
    set_limits(monkeypatch, "chatui.transfer", PIECE_BYTES=50, **{limit: most})
    with pytest.raises(ImportRefusedError, match="more than 3"):
        look_at(User(), TRANSCRIPT + line * 100)
    assert 0 < len(fed) < 10, "of more than the 15 pieces of the file"


HEADER = b"version: 2.2\n\n"
QUESTION = b"<|start|>user<|message|>Hi<|end|>\n"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("data", "words", "code"),
    [
        (
            HEADER + QUESTION + b"<|start|>assistant<|channel|>final<|message|>It is",
            "Message 2, line 4: The answer was cut off",
            "E-STREAM-TRUNCATED",
        ),
        (
            HEADER + QUESTION + b"<|start|>assistant<|channel|>final<|constrain|>json<|message|>{<|end|>",
            "Message 2, line 4: The text is not in the form that its header promises.",
            "E-BODY-CONSTRAINT-VIOLATION",
        ),
        (
            HEADER + QUESTION + b"<|start|>assistant<|channel|>musings<|message|>SECRET<|end|>",
            "Message 2, line 4: A part does not follow the format. Whatever could not be understood is hidden.",
            "E-PARSE-HEADER",
        ),
        (
            QUESTION + b"<|start|>assistant<|channel|>final<|message|>Hello<|end|>",
            "The header of the file is missing or has a fault.",
            "E-PARSE-HEADER",
        ),
        (
            b"version: 2.2\ngeneration_settings: {temperature: 0.2, temperatur: 1, builtin_tools: [python]}\n\n" + QUESTION,
            "These settings of the file do not apply here: builtin_tools, temperatur.",
            "",
        ),
    ],
    ids=["cut", "broken body", "unknown channel", "fragment", "settings"],
)
def test_an_import_says_what_was_found_and_where(data: bytes, words: str, code: str, ada: User) -> None:
    response = post(signed_in(ada), data)
    shown, [row] = response.content.decode(), Conversation.objects.all()
    before, _, details = shown.partition("<details")
    assert response.status_code == 200 and f"/c/{row.pk}/" in before and words in before
    assert "E-" not in before.partition("<main")[2] and code in details and "SECRET" not in shown


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("frame", "words"),
    [("<|message|>It is", "The answer was cut off before it was complete."), ("<|constrain|>json<|message|>{<|end|>", "required format.")],
)
def test_an_imported_answer_with_a_fault_says_so_where_it_stands(frame: str, words: str, ada: User) -> None:
    client = signed_in(ada)
    post(client, HEADER + QUESTION + f"<|start|>assistant<|channel|>final{frame}".encode())
    assert words in client.get(f"/c/{Conversation.objects.get().pk}/").content.decode()
