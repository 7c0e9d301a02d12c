"""Damaged, hostile and huge exports: each ends soon with a message, takes little memory, and leaves no partial conversation."""

import io
import re
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.user import User
from chatui.transfer import exports, upload
from chatui.transfer.export_imports import import_export
from chatui.transfer.imports import look_at
from chatui.transfer.other_products import reading
from chatui.transfer.other_products.conversation_tree import DroppedKind
from chatui.transfer.upload import ImportRefusedError
from renderer.gate import Audience, may_see
from renderer.ocml import document
from tests.chatui.conftest import signed_in
from tests.chatui.transfer.other_products import samples
from tests.chatui.transfer.other_products.samples import as_json, as_zip, gpt_message, read

pytestmark = pytest.mark.django_db

GOOD = as_json(samples.CHATGPT)


def mapping(**nodes: Any) -> bytes:
    return as_json([{"title": "t", "mapping": nodes, "current_node": "a"}])


def node(text: str, parent: Any) -> dict[str, Any]:
    return {"message": gpt_message("user", text), "parent": parent}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [None, "words", [[]], {"a": 1}], ids=repr)
def test_wrong_types_anywhere_cause_no_exception(wrong: Any, ada: User) -> None:
    """Each value of each product's sample is replaced in turn, down to the fifth level."""

    def changed(value: Any, depth: int) -> list[Any]:
        if depth == 0 or not isinstance(value, dict | list):
            return [wrong]
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        results = []
        for key, child in pairs:
            for other in changed(child, depth - 1):
                again = value.copy()
                again[key] = other  # type: ignore[index]
                results.append(again)
        return results

    count = 0
    for sample in (samples.CHATGPT, samples.OPEN_WEBUI["chat"], samples.LIBRECHAT):
        for value in changed(sample, 5):
            full = {"chat": value} if sample is samples.OPEN_WEBUI["chat"] else value
            exported = read(full)
            count += not isinstance(exported, DroppedKind)
            assert wrong not in ("words", [[]]) or hidden_words_shown(exported) <= {"SECRET-sender"}, "only the mark itself may be lost"
    assert count > 100


def hidden_words_shown(exported: Any) -> set[str]:
    nodes = [] if isinstance(exported, DroppedKind) else exported.nodes
    shown = [frame.body for node in nodes for frame in node.frames if may_see(frame.header, Audience.END_USER)]
    return set(re.findall(r"SECRET-\w*", " ".join(shown)))


@pytest.mark.parametrize(
    ("data", "kinds"),
    [
        (b"[" + GOOD + b',{"mapping": {"a": NaN}}]', {DroppedKind.CONVERSATION_UNREADABLE: 1}),
        (b"[" + GOOD + b',{"mapping": {"a": ' + b"[" * 500 + b"]" * 500 + b"}}]", {DroppedKind.CONVERSATION_UNREADABLE: 1}),
        (b"[" + GOOD + b',{"mapping": {"a": "cut', {DroppedKind.CONVERSATION_UNREADABLE: 1}),
        (
            b"[" + GOOD + b',{"mapping": {}}, 7, "x", null, [1]]',
            {DroppedKind.CONVERSATION_EMPTY: 1, DroppedKind.CONVERSATION_UNREADABLE: 1},
        ),
        (b"[" + GOOD + b',{"mapping": {"a": [' + b"1," * 700_000 + b"1]}}]", {DroppedKind.CONVERSATION_TOO_LARGE: 1}),
        (b"\xef\xbb\xbf [" + GOOD + b"] and more", {}),
    ],
    ids=["NaN", "depth", "cut", "empty", "values", "mark"],
)
def test_readable_conversations_are_imported_and_others_are_counted(data: bytes, kinds: dict[DroppedKind, int], ada: User) -> None:
    result = import_export(ada, data)
    assert [row.title for row in result.conversations] == ["Baking bread"]
    assert {kind: count for kind, count in result.left_out.items() if kind.name.startswith("CONVERSATION") and count} == kinds


def test_invalid_bytes_and_lone_surrogates_become_replacement_characters(ada: User) -> None:
    text = as_json([{"title": "t\ud800", "mapping": {"\ud800": node("a\x00b\ud800", None)}, "current_node": "\ud800"}])
    import_export(ada, text.replace(b'"a\\u0000', b'"\xff\xfea\\u0000'))
    assert Message.objects.get().text == "<|start|>user<|message|>\ufffd\ufffda\ufffdb\ufffd<|end|>"
    assert Conversation.objects.get().title == "t\ufffd"


@pytest.mark.parametrize(("limit", "most"), [("MAX_CONVERSATION_FRAMES", 2), ("MAX_CONVERSATION_CHARS", 5)])
def test_a_conversation_of_exactly_the_maximum_size_is_imported(limit: str, most: int, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"chatui.transfer.export_imports.{limit}", most)
    exact, more = (mapping(a=node("abc", None), b=node("de", "a"), **extra) for extra in ({}, {"c": node("f", "b")}))
    assert len(import_export(ada, exact).conversations) == 1
    refused = import_export(ada, more)
    assert refused.conversations == [] and refused.left_out == {DroppedKind.CONVERSATION_TOO_LARGE: 1}


def test_an_upload_ends_with_the_conversation_that_reaches_the_limit_of_messages(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatui.transfer.export_imports.MAX_MESSAGES", 4)
    talks = [{"mapping": {"a": node(f"question {number}", None), "b": node("more", "a")}} for number in range(4)]
    result = import_export(ada, as_json(talks))
    assert [row.title for row in result.conversations] == ["question 0", "question 1"]
    assert result.left_out[DroppedKind.CONVERSATION_POSTPONED] == 2


def test_a_conversation_without_dates_titles_or_visible_text_has_sensible_ones_or_is_left_out(ada: User) -> None:
    hidden = {"a": {"message": gpt_message("system", "SECRET"), "parent": None}}
    result = import_export(ada, as_json([{"mapping": hidden}, {"mapping": {"a": node("#", None)}}, {"mapping": {"a": node("Hi", None)}}]))
    assert result.left_out[DroppedKind.CONVERSATION_EMPTY] == 1
    assert [row.title for row in result.conversations] == ["Imported conversation", "Hi"]
    early, late = 1_700_000_000, 1_700_003_600
    for times, expected in (
        ((early, late), (early, late)),
        ((late, early), (early, early)),
        ((early, None), (early, early)),
        ((None, late), (late, late)),
    ):
        talk = {"mapping": {"a": node(f"{times}", None)}, "create_time": times[0], "update_time": times[1]}
        [row] = import_export(ada, as_json([talk])).conversations
        assert (row.created_at.timestamp(), row.active_at.timestamp()) == expected


def test_an_upload_that_takes_too_long_stops_and_reports_it(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatui.transfer.export_imports.MAX_SECONDS", -1.0)
    assert import_export(ada, as_json([samples.CHATGPT])).left_out == {DroppedKind.CONVERSATION_POSTPONED: 1}


def test_one_person_has_one_import_at_a_time(ada: User, bela: User) -> None:
    Conversation.objects.create(owner=ada, deleted_at=timezone.now(), unfinished_until=timezone.now() + timedelta(seconds=30))
    with pytest.raises(ImportRefusedError, match="another of your imports is still running"):
        import_export(ada, GOOD)
    import_export(bela, GOOD)
    assert list(Conversation.objects.filter(deleted_at=None).values_list("owner", flat=True)) == [bela.pk]


@pytest.mark.parametrize(("given", "stored"), [("gpt<|end|>", "gpt<end|>"), ("m\x00", "m\ufffd"), ("x" * 201, "x" * 200), (7, "")])
def test_the_name_of_a_model_is_stored_in_a_form_that_a_document_can_have(given: Any, stored: str, ada: User) -> None:
    [row] = import_export(ada, as_json([samples.CHATGPT | {"default_model_slug": given}])).conversations
    assert row.model == stored
    assert document.parse(exports.transcript(row, ada, Audience.END_USER)).model == (stored or None)


def broken_zip() -> bytes:
    data = bytearray(as_zip(conversations__json=as_json([samples.CHATGPT])))
    data[60:90] = b"\x00" * 30
    return bytes(data)


def bomb() -> bytes:
    return as_zip(conversations__json=b"[" + b" " * (reading.MAX_UNPACKED + 1_000))


def crowded() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as found:
        found.writestr("x", b"PK\x01\x02" * (reading.MAX_ENTRIES + 1))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"PK\x03\x04", "damaged or encrypted"),
        (b"PK\x03\x04" + b"\x00" * 1_000, "damaged or encrypted"),
        (broken_zip(), "damaged or encrypted"),
        (as_zip(photo__png=b"x"), "no JSON file"),
        (as_zip(talk__ocml=b"x", folders__json=b"{}"), "no conversation outside the bin"),
        (crowded(), "more than 20000 files"),
    ],
    ids=["head", "zeros", "broken", "nothing", "own", "crowded"],
)
def test_an_unreadable_zip_is_refused_with_a_message(data: bytes, expected: str, ada: User) -> None:
    response = signed_in(ada).post("/import/", {"file": SimpleUploadedFile("x.zip", data)})
    page = response.content.decode()
    assert response.status_code == 400 and "Nothing was imported: " in page and expected in page
    assert not Conversation.objects.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        bomb,
        lambda: as_zip(conversations__json=b"[" * 20_000_000),
        lambda: b"[" + b"{}," * 10_000_000,
        lambda: b"[" + b'{"mapping":{}},' * 2_000_000,
        lambda: b'[{"mapping":{"a":"' + b'\\"' * 15_000_000,
        lambda: b'[{"mapping":{"a":"' + b"x" * 31_000_000 + b'"}}]',
        lambda: b'{"mapping":{"a":[' + b"[]," * 10_000_000,
    ],
    ids=["bomb", "depth", "objects", "talks", "string", "text", "values"],
)
def test_the_largest_uploads_cost_little_time_and_memory(make: Callable[[], bytes], ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make()  # not where the test is collected: each process of a run would make them all
    assert len(data) <= upload.MAX_EXPORT_BYTES
    started = time.process_time()
    imported(ada, data)
    assert time.process_time() - started < 30
    # Measuring memory makes all of it slow, so less is looked at; what is held at a time is the same.
    monkeypatch.setattr(reading, "MAX_BRACKETS", 20_000)
    tracemalloc.start()
    try:
        imported(ada, data)
        assert tracemalloc.get_traced_memory()[1] < 200_000_000
    finally:
        tracemalloc.stop()
    assert not Conversation.objects.exists()


def imported(person: User, data: bytes) -> None:
    if reading.is_export(data):
        import_export(person, data)
    else:
        with pytest.raises(ImportRefusedError):
            look_at(person, data)


@pytest.mark.parametrize(("more", "sentence"), [(0, "This field is required."), (1, "larger than 32 MB")])
def test_an_upload_whose_end_the_server_dropped_is_too_large_and_has_one_error(ada: User, more: int, sentence: str) -> None:
    field, file = (b"--x\r\nContent-Disposition: form-data; name=%b\r\n\r\n1" % name for name in (b"a", b"file; filename=f"))
    kept = field + b"\r\n" + file
    request: Any = {"wsgi.input": io.BytesIO(kept), "CONTENT_LENGTH": str(upload.MAX_EXPORT_BYTES + more)}
    response = signed_in(ada).generic("POST", "/import/", b"", "multipart/form-data; boundary=x", **request)
    assert response.status_code == 400 and sum(map(len, response.context["form"].errors.values())) == 1
    assert sentence in response.content.decode()
