"""The reviewed table: every address and every socket command, who may see what there, and what each kind of person gets.

A route or command that is not listed fails a test. Before you add one, decide: who may see what, what do the others get, and is it
recorded if somebody requests hidden text? Then write the answer down, of an address in ``routes.txt``, of a command or an event in
``sockets.txt``; the crawl and the matrix exercise both.
"""

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


def _parts() -> Iterator[tuple[str, dict[str, str]]]:
    """The parts of ``sockets.txt``: the title of each, and the lines below it, by their names."""
    for part in (Path(__file__).parent / "sockets.txt").read_text(encoding="utf-8").split("\n\n"):
        title, *lines = part.strip().splitlines()
        if not title.startswith("#"):
            yield title, dict(line.strip().partition(" ")[::2] for line in lines)


_PARTS = dict(_parts())


def _command(name: str, row: str) -> Command:
    does, sent, replies, *action = row.split(" | ")
    named = dict(reply.split(" ") for reply in replies.split(", "))
    answers = {person: named.get(person, named["others"]) for person in PEOPLE[1:]}
    silent = {person: "" if answer == "nothing" else answer for person, answer in answers.items()}
    return Command(name, does, json.loads(_PARTS["sent"][sent]), silent, *action)


def _of(title: str) -> dict[str, str]:
    """The lines of the one part whose title begins so."""
    [found] = [lines for name, lines in _PARTS.items() if name.startswith(title)]
    return found


COMMANDS = tuple(_command(name, row) for name, row in _PARTS["commands"].items())
UNANSWERED = _of("commands that concern nobody")
SOCKETS = _of("sockets")
BUS_MESSAGES = _of("messages of the bus")
DEBUG_EVENTS = set(_of("events that only permitted staff"))
END_USER_EVENTS = {name: {"type", *fields.split()} for name, fields in _of("other events for end users").items()} | {
    name: {"type", "turn", "sequence_number", *fields.split()} for name, fields in _of("events of a turn for end users").items()
}
"""All events that an end user's socket may ever be sent, with all their possible fields."""

CONTRACTS = _of("the newest version")
