"""Fills a database with hidden text: every kind of hidden frame on several branches, in the bin, in turns and in raw bytes."""

import secrets
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.shares import ShareLink
from chatui.models.tools import ToolSession
from chatui.models.turn import Turn, TurnPiece
from chatui.models.user import User
from chatui.store import requests
from renderer.frames import Frame, Header, Terminator
from tests.support.canary import Canary, hidden_headers
from tests.support.messages import add_message, add_messages, open_branch

VISIBLE = "Here is the visible answer."
QUESTION = "What is the visible question?"


@dataclass
class Planted:
    """One conversation and its rows."""

    conversation: Conversation
    question: Message
    final: Message
    turn: Turn
    failed: Turn
    other_question: Message
    link: ShareLink
    hidden: list[Message] = field(default_factory=list)


def new_turn(question: Message, canary: Canary, state: str = "completed", code: str = "", **fields: object) -> Turn:
    """A turn whose columns for staff contain markers."""
    now = timezone.now()
    values: dict[str, object] = {
        "conversation": question.conversation,
        "question": question,
        "asked_by": question.conversation.owner,
        "client_id": uuid4(),
        "state": state,
        "error_code": code,
        "error_detail": f"the server said {canary.plant('error detail')}",
        "lease_until": now + timedelta(minutes=5),
        "lease_owner": canary.plant("lease owner"),
        "effort": "medium",
        "model": "gpt-oss-20b",
        "backend": f"a server at {canary.plant('address of the model server')}",
        "request": requests.pack("/v1/chat/completions", f'{{"messages": ["{canary.plant("prompt that was sent")}"]}}'.encode()),
        "finished_at": None if state == "running" else now,
    }
    turn = Turn.objects.create(**(values | fields))
    header = "<|start|>assistant<|channel|>analysis<|message|><|end|>"
    TurnPiece.objects.create(turn=turn, number=1, frame=uuid4(), header=header, text=canary.plant("piece of an open frame"))
    return turn


def append(conversation: Conversation, parent: Message | None, header: Header, body: str, turn: Turn | None = None) -> Message:
    """Store a frame, as the product does."""
    return add_message(conversation, parent, Frame(header, body, Terminator.END), _author(header), turn_id=turn.pk if turn else None)


def plant(owner: User, canary: Canary, *, deleted: bool = False) -> Planted:
    """A conversation of ``owner``: a long branch, an edited question, a regenerated and a failed answer. The long branch is open."""
    row = Conversation.objects.create(owner=owner, title="A visible title", model="gpt-oss-20b")
    hidden: list[Message] = []
    root = _hide(row, None, canary, Header("developer"), "instructions", hidden)
    system = _hide(row, root, canary, Header("system"), "system message", hidden)
    question = append(row, system, Header("user"), QUESTION)
    turn = new_turn(question, canary)
    last = question
    last = _hide_all(row, last, canary, hidden_headers(canary), hidden, turn)
    last = append(row, last, Header("assistant", channel="commentary", intent="preamble"), "Let me *look*.", turn)
    last = _hide(row, last, canary, Header("assistant", channel="analysis"), "analysis after the preamble", hidden, turn)
    final = append(row, last, Header("assistant", channel="final"), VISIBLE, turn)
    Message.objects.filter(pk=final.pk).update(raw=f"<|channel|>analysis {canary.plant('raw bytes of a visible frame')}".encode())
    other = append(row, system, Header("user"), "What is the edited question?")
    other_turn = new_turn(other, canary)
    thought = _hide(row, other, canary, Header("assistant", channel="analysis"), "analysis on another branch", hidden, other_turn)
    append(row, thought, Header("assistant", channel="final"), "Another answer.", other_turn)
    failed = new_turn(question, canary, "failed", "E-X-BACKEND")
    _hide(row, question, canary, Header("assistant", channel="analysis"), "analysis of a failed turn", hidden, failed)
    open_branch(row, owner, final)
    link = ShareLink.objects.create(token=secrets.token_urlsafe(16), conversation=row, leaf=final, title=row.title, created_by=owner)
    ToolSession.objects.create(server="notes", person=owner, conversation=row, session=canary.plant("session with a tool server"))
    if deleted:
        Conversation.objects.filter(pk=row.pk).update(deleted_at=timezone.now())
    return Planted(row, question, final, turn, failed, other, link, hidden)


def plant_abandoned(owner: User, canary: Canary) -> Turn:
    """A turn whose process died in the middle of hidden text."""
    row = Conversation.objects.create(owner=owner, title="A second title")
    question = append(row, None, Header("user"), "Are you there?")
    open_branch(row, owner, question)
    return new_turn(question, canary, "running", lease_until=timezone.now() - timedelta(seconds=5))


def _hide_all(row: Conversation, parent: Message, canary: Canary, headers: dict[str, Header], hidden: list[Message], turn: Turn) -> Message:
    """Like ``_hide`` for each header, one under another, in a few statements: most tests of the canary begin with this."""
    frames = [Frame(header, _body(canary, header, what), Terminator.END) for what, header in headers.items()]
    *_, last = add_messages(row, parent, [(frame, _author(frame.header)) for frame in frames], turn_id=turn.pk)
    rows = list(Message.objects.filter(turn=turn, position__gt=parent.position).order_by("position"))
    assert len(rows) == len(headers) and rows[-1] == last
    for what, message in zip(headers, rows, strict=True):
        message.raw = canary.plant(f"raw bytes of {what}").encode()
    Message.objects.bulk_update(rows, ["raw"])
    hidden += rows
    return last


def _hide(
    row: Conversation, parent: Message | None, canary: Canary, header: Header, what: str, hidden: list[Message], turn: Turn | None = None
) -> Message:
    message = append(row, parent, header, _body(canary, header, what), turn)
    Message.objects.filter(pk=message.pk).update(raw=canary.plant(f"raw bytes of {what}").encode())
    hidden.append(message)
    return message


def _author(header: Header) -> Author:
    return Author.PERSON if header.role == "user" else Author.MODEL


def _body(canary: Canary, header: Header, what: str) -> str:
    return f'{{"answer": "{canary.plant(what)}"}}' if header.constrain == "json" else f"{canary.plant(what)} <|end|> and more words"
