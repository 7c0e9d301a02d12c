"""Reading an export step by step: the files of an archive, the items of a list, and values of any type."""

import io
import time
import zipfile
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chatui.transfer.other_products import reading
from chatui.transfer.other_products.conversation_tree import DroppedKind
from chatui.transfer.upload import ImportRefusedError
from renderer.strict_json import list_of, object_of, text_of
from tests.chatui.transfer.other_products import samples
from tests.chatui.transfer.other_products.samples import as_json, read
from tests.support.cases import for_each
from tests.support.foreign_exports import found as found_in
from tests.support.foreign_exports import unparsed
from tests.support.limits import set_limits

GOOD = as_json(samples.CHATGPT)
PLACE = "chatui.transfer.other_products"


def zipped(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as found:
        for name, data in files.items():
            found.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (["conversations.json", "user.json"], ["conversations.json"]),
        (["a/Conversations-001.JSON", "a/conversations-000.json", "user.json"], ["a/Conversations-001.JSON", "a/conversations-000.json"]),
        (["my-conversations.json", "b.JSON", "c.txt"], ["b.JSON", "my-conversations.json"]),
        (["conversations.json.txt", "conversations-x.json"], ["conversations-x.json"]),
    ],
)
def test_the_files_with_conversations_are_read_in_order_and_otherwise_all_json_files(names: list[str], taken: list[str]) -> None:
    assert unparsed(zipped({name: name.encode() for name in names})) == [name.encode() for name in taken]


def test_an_archive_is_read_up_to_a_number_of_files_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(unparsed(zipped({f"{number:03}.json": b"" for number in range(101)}))) == 100
    set_limits(monkeypatch, PLACE, MAX_UNPACKED=5)
    assert unparsed(zipped({"a.json": b"123", "b.json": b"4567", "c.json": b"8"})) == [b"123", b"45"]


@pytest.mark.parametrize(("room", "is_cut"), [(20, False), (18, True), (15, True), (10, True), (5, True)])
def test_the_report_says_that_the_end_of_an_archive_was_not_read(room: int, is_cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files have 19 bytes: the second list begins at the 10th."""
    set_limits(monkeypatch, PLACE, MAX_UNPACKED=room)
    found = found_in(zipped({"a.json": b"[{},{}, ]", "b.json": b"[{},{},{}]"}))
    assert found.count(DroppedKind.FILE_CUT) == is_cut
    assert not isinstance(found[0], DroppedKind) and found[0].data == b"{}"
    assert len(found) == {20: 5, 18: 6, 15: 5, 10: 3, 5: 3}[room]


def test_an_archive_of_exactly_the_most_files_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipped({"a.json": b"1", "b.txt": b"2", "c.json": b"3"})
    set_limits(monkeypatch, PLACE, MAX_ENTRIES=3)
    assert unparsed(data) == [b"1", b"3"]
    set_limits(monkeypatch, PLACE, MAX_ENTRIES=2)
    with pytest.raises(ImportRefusedError, match="more than 2 files"):
        unparsed(data)


@pytest.mark.parametrize("damage", [b"", b"\0" * 40])
def test_a_damaged_archive_is_refused(damage: bytes) -> None:
    data = zipped({"a.json": bytes(range(256)) * 4})
    with pytest.raises(ImportRefusedError, match="damaged or encrypted"):
        unparsed(data[:40] + damage + data[80:])


@for_each(
    [
        (b"\xef\xbb\xbf" + GOOD, "Baking bread"),
        (GOOD.replace(b"Baking", b"\xff"), "\ufffd bread"),
        (b'{"conversationId": "x", "messages": [], "title": "t"}', "t"),
        (b'{"chat": {"messages": [], "title": "u"}}', "u"),
        (b"{}", DroppedKind.CONVERSATION_UNREADABLE),
        (b"[[]]", DroppedKind.CONVERSATION_UNREADABLE),
        (b"7", DroppedKind.CONVERSATION_UNREADABLE),
        (b"{", DroppedKind.CONVERSATION_UNREADABLE),
        (b"", DroppedKind.CONVERSATION_UNREADABLE),
    ]
)
def test_a_conversation_is_read_as_its_product_writes_it_or_is_unreadable(data: bytes, expected: str) -> None:
    found = read(data)
    assert (found if isinstance(found, DroppedKind) else found.title) == expected


def test_a_file_that_is_no_list_is_one_conversation() -> None:
    assert [unparsed(data) for data in (GOOD, b'{"a": 1}', b"")] == [[GOOD], [b'{"a": 1}'], [b""]]


def test_files_that_would_need_unbounded_memory_are_not_read() -> None:
    data = zipped({"conversations.json": b"[]"}, zipfile.ZIP_LZMA)
    with pytest.raises(ImportRefusedError, match="no JSON file"):
        unparsed(data)


@for_each(
    [
        (b"[]", []),
        (b"\xef\xbb\xbf \r\n\t[{}]", [b"{}"]),
        (b'[1, "{", {"a": "]}\\"]"}, [2], null]', [b'{"a": "]}\\"]"}', b"[2]"]),
        (b'[{"a": [{}, {}]}, {"b": 1}] {"after": 1}', [b'{"a": [{}, {}]}', b'{"b": 1}']),
        (b'[{}] [{"after": 1}]', [b"{}"]),
        (b'[{"a": "cut', [b'{"a": "cut']),
    ]
)
def test_the_items_of_a_list(data: bytes, expected: list[bytes]) -> None:
    assert unparsed(data) == expected


def test_items_are_read_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, PLACE, MAX_ITEMS=2)
    assert unparsed(b"[{},{}]") == unparsed(b"[{},{},{}]") == [b"{}", b"{}"]
    assert [each == DroppedKind.FILE_CUT for each in found_in(b"[{},{},{}]")] == [False, False, True]
    set_limits(monkeypatch, PLACE, MAX_BRACKETS=4)
    assert unparsed(b"[{},[],{}]") == [b"{}", b"[]"]
    assert found_in(b"[{},[],{}]")[2:] == [DroppedKind.FILE_CUT]


def test_an_export_is_recognized_by_one_of_its_first_conversations() -> None:
    damaged = b'{"mapping": NaN}'
    for data in (GOOD, b"[" + GOOD + b"]", b"[" + (damaged + b",") * 19 + GOOD + b"]", b"PK\x03\x04", b"\xef\xbb\xbf " + GOOD):
        assert reading.is_export(data)
    for data in (b"[" + (damaged + b",") * 20 + GOOD + b"]", b"[]", b"{}", damaged, b"PK", b"version: 2.2", b'"' + GOOD):
        assert not reading.is_export(data)


@pytest.mark.parametrize(("limit", "size"), [("MAX_CONVERSATION_BYTES", len(GOOD)), ("MAX_CONVERSATION_MARKS", None)])
def test_a_conversation_of_exactly_the_maximum_size_is_read(limit: str, size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if size is None:
        size = sum(GOOD.count(mark) for mark in (b"[", b"{", b",")) + GOOD.count(b'"') // 2
        size -= sum(text.count(b",") for text in GOOD.split(b'"')[1::2])  # commas inside strings do not count
    for most, is_too_large in ((size, False), (size - 1, True)):
        set_limits(monkeypatch, PLACE, **{limit: most})
        assert (read(GOOD) == DroppedKind.CONVERSATION_TOO_LARGE) == is_too_large
        assert reading.is_export(GOOD) == reading.is_export(b"[" + GOOD + b"]") != is_too_large


def test_the_same_conversation_has_the_same_key_and_another_has_another() -> None:
    [one, other, again] = [found for found in found_in(b'[{"a": 1}, {"a": 2}, {"a": 1}]') if not isinstance(found, DroppedKind)]
    assert one.key == again.key != other.key and len(one.key) == 64


def time_of(value: Any) -> Any:
    """When a conversation of ChatGPT that says this was begun."""
    return read(samples.CHATGPT | {"create_time": value}).created_at


SECONDS = 1_700_000_000
MOMENT = datetime.fromtimestamp(SECONDS, UTC)


@for_each(
    [
        (SECONDS, MOMENT),
        (SECONDS * 1000, MOMENT),
        (float(SECONDS), MOMENT),
        ("2023-11-14T22:13:20Z", MOMENT),
        ("2023-11-14T22:13:20", MOMENT),
        ("2023-11-15T00:13:20+02:00", MOMENT),
        ("2000-01-01", datetime(2000, 1, 1, tzinfo=UTC)),
        ("1999-12-31T23:59:59Z", None),
        (0, None),
        (True, None),
        (10**30, None),
        ("soon", None),
        ("", None),
        (None, None),
        ([], None),
    ]
)
def test_a_time_is_read_in_each_of_its_forms(value: Any, expected: datetime | None) -> None:
    assert time_of(value) == expected and (expected is None or time_of(value).tzinfo == UTC)


def test_a_time_without_a_zone_is_in_utc_wherever_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        with monkeypatch.context() as patch:
            patch.setenv("TZ", "America/New_York")
            time.tzset()
            assert time_of("2023-11-14T22:13:20") == time_of("2023-11-14T17:13:20-05:00") == time_of(SECONDS) == MOMENT
    finally:
        time.tzset()


def test_a_time_in_the_future_is_not_believed() -> None:
    soon, just_now = (datetime.now(UTC) + timedelta(minutes=minutes) for minutes in (5, -5))
    assert time_of(soon.isoformat()) is None and time_of(just_now.isoformat()) == just_now


@for_each([(value,) for value in ({"a": 1}, [1], "text", 7, True, None)])
def test_a_value_of_another_type_counts_as_empty(value: Any) -> None:
    assert object_of(value) == (value if isinstance(value, dict) else {})
    assert list_of(value) == (value if isinstance(value, list) else [])
    assert text_of(value) == (value if isinstance(value, str) else "")
