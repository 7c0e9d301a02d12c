"""How much of an upload is held in memory: for people who are signed in, for others, and for several files of one request."""

from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.files.uploadhandler import FileUploadHandler, load_handler
from django.test import RequestFactory

from chatui.models.user import User
from tests.support import environment
from tests.support.limits import set_limits


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.transfer", MAX_EXPORT_BYTES=8, MAX_BYTES=5)
    environment.change(monkeypatch, {"file_mb": 0})


def handler_for(**attributes: Any) -> FileUploadHandler:
    request = RequestFactory().post("/import/")
    vars(request).update(attributes)
    return load_handler(settings.FILE_UPLOAD_HANDLERS[0], request)


def received(handler: FileUploadHandler, *chunks: bytes, name: str = "talk.ocml") -> Any:
    handler.new_file("file", name, "text/plain", sum(map(len, chunks)), "utf-8", {"a": b"b"})
    start = 0
    for chunk in chunks:
        assert handler.receive_data_chunk(chunk, start) is None, "no other handler gets the data"  # type: ignore[func-returns-value]
        start += len(chunk)
    return handler.file_complete(start)


@pytest.mark.parametrize(
    ("attributes", "most"), [({"user": User(username="ada")}, 9), ({"user": AnonymousUser()}, 6), ({"user": None}, 6), ({}, 6)]
)
def test_one_byte_more_than_the_limit_is_held_and_the_limit_is_lower_without_an_account(attributes: dict[str, Any], most: int) -> None:
    for chunks in ((b"0123456789",), (b"01", b"234", b"56789"), (b"0", b"", b"1234567", b"8", b"9", b"x")):
        file = received(handler_for(**attributes), *chunks)
        assert (file.size, file.read()) == (most, b"0123456789"[:most])


def test_an_upload_within_the_limit_is_whole_and_has_its_name_and_type() -> None:
    file = received(handler_for(), b"01", b"234")
    assert (file.read(), file.size, file.name, file.field_name) == (b"01234", 5, "talk.ocml", "file")
    assert (file.content_type, file.charset, file.content_type_extra) == ("text/plain", "utf-8", {"a": b"b"})


def test_all_files_of_a_request_share_the_limit() -> None:
    handler = handler_for()
    sizes = [received(handler, data).size for data in (b"012", b"01", b"0123", b"x")]
    assert sizes == [3, 2, 1, 0]
