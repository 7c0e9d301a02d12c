"""The core guarantee at rest: all stored hidden text contains markers, and no response to anybody without the right contains one."""

import logging
from itertools import product

import pytest
from django.contrib.sessions.models import Session

from chatui.display import debug as frames
from chatui.display import debug_tokens
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.tools import ToolSession
from chatui.models.turn import Turn, TurnPiece
from chatui.models.user import User
from chatui.store import requests, transcripts
from chatui.web import conversations
from renderer.markup import html
from tests.canary.asking import InProcess, client_for, client_of, open_view, places, rolled_back, visitor, whole
from tests.canary.conftest import World
from tests.canary.planting import QUESTION, VISIBLE, plant_abandoned
from tests.chatui.store import pieces
from tests.support import canary
from tests.support.canary import ASKED_LAST, known_of, paths, patterns
from tests.support.cases import EVERY_SHAPE, is_drawn

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

NAMES = ("owner", "hidden only", "any only", "both", "holder")
"""Those who may see something of the conversations. The matrix of ``surface`` looks for markers in what the others are answered."""
ODD = ("HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")


def everything_stored() -> str:
    """Every text and every byte of the tables that store conversations."""
    found: list[str] = []
    for model in (Message, Turn, TurnPiece, Conversation, ToolSession):
        for row in model.objects.values_list():
            found += [bytes(value).decode("utf-8", "replace") if isinstance(value, (bytes, memoryview)) else str(value) for value in row]
    for packed in Turn.objects.exclude(request=None).values_list("request", flat=True):
        request = requests.unpack(bytes(packed or b""))
        found.append(request.body or "" if request else "")
    return "\n".join(found)


def known(world: World, step: int = 12) -> list[dict[str, str]]:
    """The ids of every ``step``th message and of all turns of the owner's conversations, with those of what belongs to them."""
    owner = world.people["owner"]
    assert owner is not None
    values = places(world)
    own = {name: values[name.removesuffix("_id")] for name in ("folder_id", "assistant_id", "prompt_id", "link_id", "file_id", "token")}
    found = known_of(owner)
    one_of_each_turn = {ids["turn_id"]: ids for ids in found}.values()
    return [{**ids, **own} for ids in (*found[::step], *one_of_each_turn)]


def crawl(name: str, world: World, step: int = 12, accept: str = "text/html") -> list[tuple[str, bytes]]:
    """Every byte that one of the people is answered at every address, and where its links lead. Changes are rolled back."""
    transport = InProcess(client_of(name, world), accept=accept)
    with visitor(name, transport) as browser:
        # Staff may open the debug view: what is refused to whom, the matrix of ``surface`` checks.
        canary.crawl(browser, known(world), signed_in=False)
        for message in (*world.planted.hidden, *world.deleted.hidden)[::step]:
            browser.get(f"/c/{message.conversation_id}/messages/{message.pk}/text/", "text")
    return transport.answers


def sessions() -> str:
    return "\n".join(str(session.get_decoded()) for session in Session.objects.all())


def assert_silent(
    world: World, answers: list[tuple[str, bytes]], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Assert that no marker is in any response, session, log line or on the console."""
    leaks = {request: found for request, answer in answers if (found := world.canary.found(answer))}
    assert not leaks
    assert not world.canary.found(sessions()), "in a session"
    assert not world.canary.found(caplog.text), "in the log"
    assert not world.canary.found(*capfd.readouterr()), "on the console"


@pytest.fixture(autouse=True)
def _all_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


def test_the_premise_every_marker_is_stored_and_staff_see_the_open_branch(world: World) -> None:
    stored = everything_stored()
    in_headers = {place for marker, place in world.canary.planted.items() if marker not in stored}
    assert in_headers <= {"name of a tool"} | {place for place in world.canary.planted.values() if place.startswith(("broken", "unknown"))}
    open_view(world)
    client = client_for(world.people["both"])
    bodies = {marker for message in world.planted.hidden for marker in world.canary.planted if marker in message.text}
    shown = client.get(f"/c/{world.planted.conversation.pk}/debug/").content.decode()
    saved = client.get(f"/c/{world.planted.conversation.pk}/download/whole/").content.decode()
    branch = transcripts.branch(world.planted.conversation, world.planted.final)
    on_branch = {marker for marker in bodies if any(marker in message.text for message in branch)}
    assert len(on_branch) > 30
    assert {marker for marker in on_branch if marker not in shown} == set() == {marker for marker in on_branch if marker not in saved}


def test_the_premise_the_owner_sees_the_visible_text(world: World) -> None:
    client = client_for(world.people["owner"])
    page = client.get(f"/c/{world.planted.conversation.pk}/").content.decode()
    assert QUESTION in page and VISIBLE in page and "Let me <em>look</em>." in page
    assert VISIBLE in client.get(f"/c/{world.planted.conversation.pk}/download/").content.decode()


@pytest.mark.parametrize("name", NAMES)
def test_no_response_to_anybody_without_permission_has_a_marker(
    name: str, world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    answers = crawl(name, world, 1 if name == "owner" else 12)
    assert len(answers) > 200
    assert_silent(world, answers, caplog, capfd)


def test_no_unusual_method_or_format_reveals_a_marker(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    answers = crawl("owner", world, accept="application/json")
    owner = world.people["owner"]
    assert owner is not None
    client, ids = client_for(owner), known_of(owner)[:1]
    addresses = [path for pattern, name in patterns().items() if name not in ASKED_LAST for path in paths(pattern, ids)]
    assert len(addresses) > 100
    for path, method in product(addresses, ODD):
        if EVERY_SHAPE or is_drawn(8, path, method):
            with rolled_back(client):
                answers.append((f"{method} {path}", whole(client.generic(method, path))))
    assert_silent(world, answers, caplog, capfd)


def test_every_branch_that_the_owner_opens_has_no_marker(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    client = client_for(world.people["owner"])
    path = f"/c/{world.planted.conversation.pk}/"
    answers: list[tuple[str, bytes]] = []
    for message in [*world.planted.hidden[::9], world.planted.question, world.planted.other_question, *world.planted.failed.messages.all()]:
        client.post(f"{path}branch/", {"message": str(message.pk)})
        answers += [(f"{place} of the branch with {message.pk}", whole(client.get(path + place))) for place in ("", "download/")]
    assert sum(b"Another answer." in answer for _, answer in answers) in range(1, len(answers)), "the premise: branches differ"
    assert_silent(world, answers, caplog, capfd)


def test_a_restored_conversation_has_no_marker(world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    client = client_for(world.people["owner"])
    path = f"/c/{world.deleted.conversation.pk}/"
    answers = [("the offer to undo", whole(client.get(f"/?deleted={world.deleted.conversation.pk}")))]
    assert client.post(f"{path}restore/").status_code == 302
    answers += [(place, whole(client.get(path + place))) for place in ("", "download/")]
    assert VISIBLE.encode() in answers[-1][1]
    assert_silent(world, answers, caplog, capfd)


def test_hidden_text_of_a_turn_of_a_dead_process_stays_hidden(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    owner = world.people["owner"]
    assert owner is not None
    turn = plant_abandoned(owner, world.canary)
    client = client_for(owner)
    path = f"/c/{turn.conversation_id}/"
    answers = [(place, whole(client.get(path + place))) for place in ("", f"turns/{turn.pk}/", "download/", "")]
    turn.refresh_from_db()
    assert turn.state == "interrupted" and world.canary.found(turn.messages.get().text), "the premise: the piece was stored as a message"
    assert_silent(world, answers, caplog, capfd)


@pytest.mark.parametrize("header", ["critic<|channel|>final", "tool<|channel|>final", "assistant<|channel|>final to=", ""])
def test_an_unreadable_piece_does_not_break_its_conversation(
    header: str, world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    owner = world.people["owner"]
    assert owner is not None
    turn = plant_abandoned(owner, world.canary)
    pieces.leave(turn.pk, world.canary.plant("unreadable piece"), header)
    response = client_for(owner).get(f"/c/{turn.conversation_id}/")
    assert_silent(world, [("page", whole(response))], caplog, capfd)
    assert response.status_code == 200, "a conversation that its owner can never open again"


def test_static_files_and_error_addresses_have_no_marker(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    client = client_for(world.people["owner"])
    path = f"/c/{world.planted.conversation.pk}/"
    odd = [
        *("/static/", "/static/js/chat/page.js", "/static/css/", "/media/", "/favicon.ico", "/robots.txt", "/.env", "/var/", "/ws/"),
        *(
            f"{path}{rest}"
            for rest in ("messages/", "frames/", "turns/", "debug", "download", "raw/", "export/", "?debug=1", "?audience=debug")
        ),
        *(f"{path}?{key}=1" for key in ("hidden", "whole", "format", "raw", "channel")),
        f"{path}download/?audience=debug",
        f"{path}download/?whole=1",
        f"{path}turns/{world.planted.turn.pk}/?audience=debug",
    ]
    assert_silent(world, [(address, whole(client.get(address))) for address in odd], caplog, capfd)


def test_every_forced_error_page_has_no_marker(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/c/{world.planted.conversation.pk}/"
    client, strict = client_for(world.people["owner"]), client_for(world.people["owner"], enforce_csrf_checks=True)
    answers: list[tuple[str, bytes]] = []

    def expect(status: int, response: object) -> None:
        assert getattr(response, "status_code", 0) == status, response
        answers.append((f"{status} number {len(answers)}", whole(response)))  # type: ignore[arg-type]

    expect(400, client.get(path, headers={"host": "evil.example"}))
    expect(413, client.post(f"{path}rename/", {"title": "x" * 2_000_000}))
    expect(413, client.post(f"{path}rename/", {f"field{n}": "x" for n in range(1100)}))
    expect(403, strict.post(f"{path}rename/", {"title": "x"}))
    expect(403, client.get(f"{path}debug/"))
    expect(404, client.get(f"{path}nothing/"))
    expect(405, client.get(f"{path}rename/"))
    # A row damaged on disk: its content must not appear with the error.
    Message.objects.filter(pk=world.planted.final.pk).update(text=f"<|start|>assistant {world.canary.plant('damaged row')} and so on")
    for place in ("", "download/", f"turns/{world.planted.turn.pk}/", f"messages/{world.planted.final.pk}/text/"):
        expect(500, client.get(path + place))
    assert_silent(world, answers, caplog, capfd)


def test_an_exception_with_hidden_text_does_not_show_it_on_a_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/c/{world.planted.conversation.pk}/"
    quoted = world.canary.plant("message of an exception")

    def quote(*args: object, **kwargs: object) -> None:
        raise ValueError(quoted)

    client = client_for(world.people["owner"])
    for module, name in (
        (transcripts, "frame_of"),
        (html, "render_blocks"),
        (conversations, "shown_conversation"),
        (transcripts, "active_leaf"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, quote)
            for place, accept in product(("", "download/", f"turns/{world.planted.turn.pk}/"), ("text/html", "application/json")):
                assert not world.canary.found(whole(client.get(path + place, headers={"accept": accept})))
    open_view(world)
    with monkeypatch.context() as patch:
        for module, name in (
            (frames, "view"),
            (frames, "raw_branch"),
            (frames, "raw_frame"),
            (debug_tokens, "part"),
            (debug_tokens, "page"),
        ):
            patch.setattr(module, name, quote)
        turn, hidden = f"debug/turns/{world.planted.turn.pk}", world.planted.hidden[4].pk
        for place in ("debug/", "debug/compare/", "debug/raw/", f"debug/frames/{hidden}/", f"{turn}/prompt/", f"{turn}/tokens/"):
            response = client_for(world.people["both"]).get(path + place)
            assert response.status_code == 500 and not world.canary.found(whole(response)), place


def test_no_repr_of_a_row_or_value_has_hidden_text(world: World) -> None:
    rows = [*Message.objects.all(), *Turn.objects.all(), *Conversation.objects.all(), *User.objects.all()]
    frames = [transcripts.frame_of(message) for message in Message.objects.all()]
    texts = [repr(row) + str(row) for row in rows] + [body for frame in frames for body in [repr(frame).replace(repr(frame.header), "")]]
    assert not world.canary.found(*texts)


def test_titles_come_from_the_question_and_never_from_model_text(world: World) -> None:
    assert not world.canary.found(*Conversation.objects.values_list("title", flat=True))
