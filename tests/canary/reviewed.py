"""The reviewed table: every address and every socket command, who may see what there, and what each kind of person gets.

A route or command that is not listed fails a test. Before you add one, decide: who may see what, what do the others get, and is it
recorded if somebody requests hidden text? Then write the answer down, of an address in ``routes.txt``, of a command here; the crawl and
the matrix exercise both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PEOPLE = ("anonymous", "owner", "other", "staff", "hidden only", "any only", "admin", "both", "opened")
"""Columns of the matrix. The conversation is the owner's. ``both`` may see all and has not opted in; ``opened`` is that person after it."""

HOLDER = "holder"
KINDS = (*PEOPLE, HOLDER)
"""The holder of a share link to the owner's conversation gets that one page, and everywhere else what a stranger gets."""

ATTEMPT, GRANT, NOTE, COUNTED = "!", "+", "*", "#"
"""After a status: the request leaves exactly one line in the audit log: an E-PERM-VISIBILITY, a grant, or one about no conversation;
or it is counted in an open debug view, without a line. Without a mark it leaves none and is not counted."""


@dataclass(frozen=True)
class Ask:
    """One way to exercise a route. ``expected`` has one status per column of PEOPLE; placeholders in ``path`` and ``data`` are ids.

    ``action`` and ``detail`` are the values in the line of the audit log. A refused attempt's own words are not logged.
    """

    method: str
    path: str
    expected: str
    data: Mapping[str, str] = field(default_factory=dict)
    action: str = ""
    detail: str = ""

    def statuses(self) -> dict[str, str]:
        """The expected status of each of KINDS."""
        columns = dict(zip(PEOPLE, self.expected.split(), strict=True))
        return columns | {HOLDER: columns["anonymous"]}


@dataclass(frozen=True)
class Route:
    """One pattern of the URL configuration, as Django writes it; ``shows`` says who may see what."""

    pattern: str
    shows: str
    asks: tuple[Ask, ...]


_ASK = re.compile(r"  (GET|POST|DELETE) (\S+)(?: ({.*}))? = ([^;]+)(?:; ([^:]+)(?:: (.+))?)?")


def _routes() -> Iterator[Route]:
    """The rows of ``routes.txt``, which says how it is written."""
    named: dict[str, str] = {}
    for part in (Path(__file__).parent / "routes.txt").read_text(encoding="utf-8").split("\n\n"):
        pattern, *lines = part.strip().splitlines()
        if pattern.startswith("="):
            named |= {name: statuses for _, name, statuses in (line.split(maxsplit=2) for line in (pattern, *lines))}
        elif not pattern.startswith("#"):
            found = [(line, _ASK.fullmatch(line)) for line in lines]
            asks = [match.groups(default="") for _, match in found if match]
            assert all(match or not re.match("  [A-Z]+ /", line) for line, match in found), f"an unreadable line under {pattern}"
            yield Route(
                pattern.strip('"'),
                " ".join(line.strip() for line, match in found if not match),
                tuple(
                    Ask(method, path, named.get(statuses, statuses), json.loads(data or "{}"), action, detail)
                    for method, path, data, statuses, action, detail in asks
                ),
            )


ROUTES = tuple(_routes())


@dataclass(frozen=True)
class Command:
    """One command of the socket: its purpose and audience, the reply to each signed-in person, and the audit log's line."""

    type: str
    does: str
    fields: Mapping[str, object]
    answers: Mapping[str, str]
    action: str = ""


_REFUSED_TO_OTHERS = dict.fromkeys(PEOPLE[2:], "E-X-NOT-FOUND")
_NEW_QUESTION: dict[str, object] = {
    "client_id": "{client_id}",
    "conversation": "{conversation}",
    "effort": "low",
    "choice": "demo",
    "text": "And now?",
}

COMMANDS: tuple[Command, ...] = (
    Command(
        "subscribe",
        "The owner follows the visible events.",
        {"conversation": "{conversation}"},
        {"owner": "chatui:idle"} | _REFUSED_TO_OTHERS,
    ),
    Command("send", "The owner asks a question.", _NEW_QUESTION, {"owner": "chatui:accepted"} | _REFUSED_TO_OTHERS),
    Command(
        "edit",
        "The owner asks it differently.",
        _NEW_QUESTION | {"question": "{question}"},
        {"owner": "chatui:accepted"} | _REFUSED_TO_OTHERS,
    ),
    Command(
        "regenerate",
        "The owner wants another answer.",
        _NEW_QUESTION | {"question": "{question}"},
        {"owner": "chatui:accepted"} | _REFUSED_TO_OTHERS,
    ),
    Command(
        "continue",
        "The owner lets the model go on with an answer that did not end.",
        {"client_id": "{client_id}", "conversation": "{conversation}", "turn": "{failed}"},
        {"owner": "chatui:accepted"} | _REFUSED_TO_OTHERS,
    ),
    Command(
        "answer_now",
        "The owner ends the thinking of a turn. Says nothing.",
        {"conversation": "{conversation}", "turn": "{turn}"},
        {"owner": ""} | _REFUSED_TO_OTHERS,
    ),
    Command(
        "stop",
        "The owner stops a turn. Says nothing.",
        {"conversation": "{conversation}", "turn": "{turn}"},
        {"owner": ""} | _REFUSED_TO_OTHERS,
    ),
    Command(
        "see",
        "The owner sees the conversation. Says nothing, but that it was seen where something was new.",
        {"conversation": "{conversation}"},
        {"owner": ""} | _REFUSED_TO_OTHERS,
    ),
    Command(
        "watch",
        "Permitted staff after the opt-in follow every frame. Others: a refusal that names nothing, recorded.",
        {"conversation": "{conversation}"},
        dict.fromkeys(PEOPLE[1:7], "E-PERM-VISIBILITY!") | {"both": "E-X-OPT-IN", "opened": "chatui:idle#"},
        "debug stream",
    ),
)

UNANSWERED = {
    "pong": "How much of what was sent has been read. It names nothing, and nothing is said.",
    "probe": "Whether the server is there. It names nothing, and the answer says nothing else.",
}
"""Commands that concern nobody's conversation, and get no answer about one."""

SOCKETS = {
    "ws/": "Signed-in people from our own pages.",
    "v1/responses": "Whoever holds a key: answers, with what has passed the gate for programs (surface/test_programs.py).",
}
"""The addresses of sockets."""

BUS_MESSAGES = {
    "turn.events": "What a runner sent to the group of this socket's audience.",
    "turn.snapshot": "The answer to this socket's own question.",
    "turn.begun": "Without content: look again.",
    "person.events": "What changed in the person's own list: a title, a question, the end of an answer, a deletion.",
    "relay.late": "Without content: events of other processes are missing.",
    "process.ends": "Without content: come back elsewhere.",
    "session.check": "Without content: look again.",
}
"""The messages that a socket receives over the bus: the cases of the consumer."""

_OF_A_TURN = {"type", "turn", "sequence_number"}
_OF_AN_END = _OF_A_TURN | {"state", "code", "elapsed", "context", "left_out", "html", "language"}
END_USER_EVENTS: dict[str, set[str]] = {
    "chatui:accepted": {"type", "client_id", "conversation", "turn", "question", "url", "title", "percent", "until"},
    "chatui:refused": {"type", "client_id", "code", "until", "contact"},
    "chatui:idle": {"type", "conversation", "turn", "state"},
    "chatui:closing": {"type", "code"},
    "chatui:ping": {"type", "number"},
    "chatui:alive": {"type"},
    "chatui:listed": {"type", "conversation", "url", "title", "updated_at", "is_imported", "is_running", "has_news", "is_pinned"}
    | {"folder"},
    "chatui:archived": {"type", "conversation"},
    "chatui:answered": {"type", "conversation", "updated_at", "has_news"},
    "chatui:seen": {"type", "conversation"},
    "chatui:waits": {"type", "conversation", "waits"},
    "chatui:rated": {"type", "conversation", "message", "verdict"},
    "chatui:unlisted": {"type", "conversation"},
    "chatui:folder": {"type", "folder", "name", "before"},
    "chatui:folder.gone": {"type", "folder"},
    "chatui:beat": _OF_A_TURN,
    "chatui:saving": _OF_A_TURN,
    "chatui:checking": _OF_A_TURN,
    "chatui:queued": _OF_A_TURN | {"place"},
    "chatui:calls_wait": _OF_A_TURN | {"count"},
    "chatui:files": _OF_A_TURN | {"count"},
    "chatui:title": {"type", "conversation", "title"},
    "chatui:working": _OF_A_TURN | {"elapsed", "can_answer_now"},
    "chatui:summary": _OF_A_TURN | {"line"},
    "chatui:thought": _OF_A_TURN | {"seconds"},
    "chatui:message": _OF_A_TURN | {"message_id", "kind", "continued_message", "blocks"},
    "chatui:relabelled": _OF_A_TURN | {"message_id", "kind"},
    "chatui:withdrawn": _OF_A_TURN | {"message_id"},
    "chatui:preamble.delta": _OF_A_TURN | {"message_id", "block", "html", "text"},
    "chatui:snapshot": _OF_A_TURN
    | {"elapsed", "working", "steps", "thought", "messages", "place", "can_answer_now", "calls_wait", "files", "checking"},
    "response.created": _OF_A_TURN | {"conversation", "question", "after", "kind", "continued_turn", "html", "language"},
    "response.delta": _OF_A_TURN | {"message_id", "block", "html", "text"},
    "response.delta.flush": _OF_A_TURN | {"message_id", "block", "html"},
    **{f"response.{end}": _OF_AN_END for end in ("completed", "incomplete", "failed", "cancel")},
}
"""All events that an end user's socket may ever be sent, with all their possible fields."""

DEBUG_EVENTS = {"chatui:frame.opened", "chatui:frame.delta", "chatui:frame.withdrawn", "chatui:frame.closed", "chatui:debug.snapshot"}
"""The events that only permitted staff who opted in are sent."""

CONTRACTS = {9: "aa0f23e1c20cb868"}
"""The digest of the contract for the newest version only; a change that older pages accept changes just the digest."""
