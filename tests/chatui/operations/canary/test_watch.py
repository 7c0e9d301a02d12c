"""What the watch finds and notes, and what the report says of it: places and names, no ids and no text.

A marker is found in whatever spelling or archive it comes out; what is no marker is not.
"""

import base64
import gzip
import html
import io
import json
import secrets
import zipfile
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.support.canary import SOCKET, Canary, CanaryError, Watch, reported, seconds_left, shape_of

SECRET = "Never speak of <cheese> & the moon."


def watch() -> tuple[Watch, str, str]:
    """A watch, a hidden marker and a visible one."""
    hidden, visible = Canary(), Canary()
    return Watch(hidden, visible, {"instructions": SECRET}), hidden.plant("chat: reasoning"), visible.plant("chat: answer")


def test_a_hidden_marker_is_noted_once_for_each_place_and_viewer() -> None:
    seen, marker, _ = watch()
    for viewer in ("owner", "owner", "stranger"):
        seen.look(viewer, "c/<uuid:conversation_id>/", "body", f"<p>{marker}</p>".encode())
    assert seen.found == [f"chat: reasoning | c/<uuid:conversation_id>/ | body | as {name}" for name in ("owner", "stranger")]


def test_what_is_withdrawn_may_be_on_the_owners_socket_until_then_and_nowhere_else() -> None:
    seen, marker, _ = watch()
    seen.allow_until_withdrawn(["chat: reasoning"])
    seen.look("owner", SOCKET, "event", marker[:-2])
    seen.look("owner", SOCKET, "event", marker)
    assert seen.found == [] and seen.awaits_withdrawal
    for viewer, place in (("owner", "c/"), ("stranger", SOCKET)):
        seen.look(viewer, place, "body", marker)
    before = ["chat: reasoning | c/ | body | as owner", "chat: reasoning | socket | body | as stranger"]
    assert seen.found == before
    seen.withdrawn()
    seen.look("owner", SOCKET, "event", marker)
    seen.settle()
    assert seen.found == [*before, "chat: reasoning | socket | event | as owner"]


def test_what_was_shown_and_never_withdrawn_is_found_and_what_was_never_shown_is_not() -> None:
    seen, marker, _ = watch()
    seen.allow_until_withdrawn(["chat: reasoning", "chat: other"])
    seen.look("owner", SOCKET, "event", marker)
    seen.settle()
    assert seen.found == ["chat: reasoning, which was not withdrawn | socket | event | as owner"]
    assert not seen.awaits_withdrawal


def test_what_the_owner_may_read_is_a_finding_for_strangers_but_not_where_it_was_shared() -> None:
    seen, _, marker = watch()
    for viewer, place in (("owner", "c/"), ("stranger", "s/<slug:token>/"), ("holder of a share link", "s/…/")):
        seen.look(viewer, place, "body", marker)
    assert seen.found == [] and seen.seen["owner"] == {"chat: answer"}
    seen.look("anonymous", "c/", "body", marker)
    assert seen.found == ["what the owner may read (chat: answer) | c/ | body | as anonymous"]


@pytest.mark.parametrize(
    "text", [SECRET, SECRET.encode(), f"<p>{SECRET.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')}</p>"]
)
def test_a_secret_of_the_operators_is_found_plain_and_escaped(text: str | bytes) -> None:
    seen, _, _ = watch()
    seen.look("owner", "home", "body", text)
    assert seen.found == ["instructions | home | body | as owner"]


def test_a_page_without_anything_hidden_is_no_finding() -> None:
    seen, _, _ = watch()
    seen.look("owner", "home", "body", "Never speak of cheese.")
    assert seen.found == []


def test_a_clock_that_has_run_down_ends_the_run() -> None:
    assert 0 < seconds_left(10, most=3) <= 3
    with pytest.raises(CanaryError, match="--seconds"):
        seconds_left(0, most=3)


LEAK = ("chat: reasoning", "owner", "download/", "body")
INTERRUPTED = ("It was interrupted.",)


@pytest.mark.parametrize(
    ("found", "problems", "outcome", "code", "last"),
    [
        ((), (), "clean", 0, "Nothing leaked."),
        ((LEAK,), (), "leak", 1, "Hidden text got out."),
        ((), INTERRUPTED, "not carried out", 2, "This run proves nothing."),
        ((LEAK,), INTERRUPTED, "leak", 1, "Hidden text got out."),
    ],
    ids=["clean", "a leak", "a problem", "a leak before a problem"],
)
def test_the_exit_code_and_the_last_line_say_what_came_of_it(
    found: tuple[tuple[str, str, str, str], ...], problems: tuple[str, ...], outcome: str, code: int, last: str
) -> None:
    result = reported(*found, problems=problems)
    assert (result.code, result.lines[-1], result.as_json["outcome"]) == (code, last, outcome)


def test_the_report_has_a_line_for_each_finding_and_problem_and_for_what_was_left_out() -> None:
    lines = reported(LEAK, problems=INTERRUPTED).lines
    assert "LEAK: chat: reasoning | download/ | body | as owner" in lines
    assert "PROBLEM: It was interrupted." in lines and "left out: harmony: not here" in lines
    assert "looked at: 7 answers to the owner" in lines


def test_a_wall_of_leaks_is_told_in_a_hundred_lines_and_whole_as_json() -> None:
    result = reported(*((f"chat: place {number}", "owner", "download/", "body") for number in range(250)))
    lines = [line for line in result.lines if line.startswith("LEAK")]
    assert len(lines) == 101 and lines[-1] == "LEAK: and 150 more; --json has all of them"
    assert len(result.as_json["findings"]) == 250


@pytest.mark.parametrize(
    ("link", "shape"),
    [
        ("/c/01a1f7f2-78b4-76d4-97f1-b89904ce3f6c/download/?format=json", "/c/…/download/?format"),
        ("/s/J2eB4n2I0BszJAeYXR8oXg/", "/s/…/"),
        ("/search/?q=word&before=7", "/search/?q&before"),
        ("/pages/help/", "/pages/help/"),
    ],
)
def test_a_link_is_reported_without_ids_tokens_and_values(link: str, shape: str) -> None:
    assert shape_of(link) == shape


def zipped(text: str) -> bytes:
    """As a member among others, compressed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "nothing")
        archive.writestr("conversation.md", f"{text} " * 20)
    return file.getvalue()


def named_in_archive(text: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{text}.md", "nothing")
    return file.getvalue()


SPELLINGS: dict[str, Callable[[str], str | bytes]] = {
    "as it is": lambda marker: f"before {marker} after",
    "bytes": lambda marker: f"before {marker} after".encode(),
    "capitals": str.upper,
    "as JSON": lambda marker: json.dumps({"text": f"<{marker}>"}),
    "as HTML": lambda marker: "".join(f"&#{ord(letter)};" for letter in marker),
    "between tags": lambda marker: f"<p>{marker[:4]}<mark>{marker[4:9]}</mark>{marker[9:]}</p>",
    "escaped between tags": lambda marker: f"{marker[:4]}{html.escape('<b>')}{marker[4:]}",
    "in an address": lambda marker: quote(f"?q={marker}&x=<>"),
    "with spaces": lambda marker: " ".join(marker),
    "with marks between": lambda marker: "\u200b".join(marker),
    "in base 64": lambda marker: base64.b64encode(f"{marker} and more".encode()),
    "in base 64, one further": lambda marker: base64.b64encode(f"x{marker} and more".encode()),
    "in base 64, two further": lambda marker: base64.b64encode(f"xy{marker} and more".encode()),
    "as hexadecimal": lambda marker: marker.encode().hex(),
    "compressed": lambda marker: gzip.compress(f"{marker} ".encode() * 20),
    "in an archive": zipped,
    "name in an archive": named_in_archive,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_marker_is_found_in_every_usual_spelling(spelling: str) -> None:
    for _ in range(20):
        canary = Canary()
        marker = canary.plant("a hidden place")
        assert canary.found(SPELLINGS[spelling](marker)), marker


@pytest.mark.parametrize("spelling", ["as it is", "as HTML", "between tags", "with spaces", "in an archive", "compressed"])
def test_it_is_told_which_marker_it_was(spelling: str) -> None:
    canary = Canary()
    canary.plant("another place")
    marker = canary.plant("a hidden place")
    assert set(canary.found(SPELLINGS[spelling](marker))) == {"a hidden place"}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_is_no_marker_is_not_found(spelling: str) -> None:
    canary, other = Canary(), Canary()
    canary.plant("a hidden place")
    assert canary.found(SPELLINGS[spelling](other.plant("elsewhere"))) == []


@pytest.mark.parametrize("broken", [b"\x1f\x8bno gzip at all", b"PK\x03\x04no archive at all", b"\xff\xfe\x00", b""])
def test_what_cannot_be_unpacked_holds_nothing(broken: bytes) -> None:
    canary = Canary()
    canary.plant("a hidden place")
    assert canary.found(broken) == []


def test_random_text_is_no_marker() -> None:
    canary = Canary()
    canary.plant("a hidden place")
    assert canary.found(*(secrets.token_urlsafe(3000) + secrets.token_hex(3000) for _ in range(50))) == []
