"""The reviewed table: every address and every socket command, who may see what there, and what each kind of person gets.

A route or command that is not in here fails a test. Before you add one, answer for it: who may see what, what do the others get, and is
it recorded where somebody asks for what is hidden? Then write the answer down as an entry, and both the crawl and the matrix exercise it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PEOPLE = ("anonymous", "owner", "other", "staff", "hidden only", "any only", "office", "both", "opened")
"""Columns of the matrix. The conversation is the owner's. ``both`` may see all and has not opted in; ``opened`` is that person after."""

ATTEMPT, GRANT = "!", "+"
"""Behind a status: the request leaves exactly one line in the audit log, an E-PERM-VISIBILITY or a grant. Without a mark it leaves none."""


@dataclass(frozen=True)
class Ask:
    """One way to exercise a route. ``expected`` has one status per column of PEOPLE; placeholders in ``path`` and ``data`` are ids."""

    method: str
    path: str
    expected: str
    data: Mapping[str, str] = field(default_factory=dict)
    action: str = ""

    def statuses(self) -> dict[str, str]:
        """Each person's expected status."""
        return dict(zip(PEOPLE, self.expected.split(), strict=True))


@dataclass(frozen=True)
class Route:
    """One pattern of the URL configuration, as Django writes it; ``shows`` says who may see what."""

    pattern: str
    shows: str
    asks: tuple[Ask, ...]


# For: anonymous, owner, other, staff, hidden only, any only, office, both, opened.
_OWNER_ONLY = "302 200 404 404 404 404 404 404 404"
_OWNER_ACTS = "302 302 404 404 404 404 404 404 404"
_NOBODY = "302 404 404 404 404 404 404 404 404"
_HIDDEN_PAGE = "302 403! 403! 403! 403! 403! 403! 200 200+"
_HIDDEN_ACT = "302 403! 403! 403! 403! 403! 403! 302+ 302+"
_HIDDEN_CLOSE = "302 403! 403! 403! 403! 403! 403! 302 302"
_HIDDEN_FILE = "302 403! 403! 403! 403! 403! 403! 403 200+"
_SIGNED_IN = "302 200 200 200 200 200 200 200 200"
_EVERYBODY = "200 200 200 200 200 200 200 200 200"
_NOT_THERE = "404 404 404 404 404 404 404 404 404"
_NEVER = "405 405 405 405 405 405 405 405 405"
# The back office: whoever is no staff is sent to the sign-in.
_ALL_STAFF = "302 302 302 200 200 200 200 200 200"
_STAFF_404 = "302 302 302 404 404 404 404 404 404"
_STAFF_403 = "302 302 302 403 403 403 403 403 403"
_NO_STAFF_403 = "302 403 403 302 302 302 302 302 302"
_OFFICE_SEES = "302 302 302 403 403 403 200 403 403"
_OFFICE_GOES = "302 302 302 403 403 403 302 403 403"
_READERS = "302 302 302 403 403 403 403 200 200"
_ANY_SEES = "302 302 302 403 403 200 403 200 200"


def _back_office(model: str, key: str, reads: str, page: str, *, may_change: str, add: str, missing: str) -> tuple[Route, ...]:
    """The seven routes that Django's admin has for a model."""
    at = f"admin/{model}/"
    return (
        Route(at, reads, (Ask("GET", f"/{at}", page), Ask("POST", f"/{at}", page, {"action": "delete_selected", "_selected_action": key}))),
        Route(f"{at}add/", f"{reads} Adding as for the permission.", (Ask("GET", f"/{at}add/", add), Ask("POST", f"/{at}add/", add))),
        Route(f"{at}<path:object_id>/history/", reads, (Ask("GET", f"/{at}{key}/history/", page),)),
        Route(
            f"{at}<path:object_id>/delete/",
            f"{reads} Deleting as for the permission.",
            (Ask("GET", f"/{at}{key}/delete/", may_change), Ask("POST", f"/{at}{key}/delete/", may_change)),
        ),
        Route(
            f"{at}<path:object_id>/change/",
            reads,
            (
                Ask("GET", f"/{at}{key}/change/", page),
                Ask("POST", f"/{at}{key}/change/", may_change),
                Ask("GET", f"/{at}x/change/", missing),
            ),
        ),
        Route(f"{at}<path:object_id>/", "Sends on to the change page.", (Ask("GET", f"/{at}{key}/", "302 " * 8 + "302"),)),
    )


ROUTES: tuple[Route, ...] = (
    Route(
        "",
        "A signed-in person: their own list of conversations. Nothing of others.",
        (Ask("GET", "/", _SIGNED_IN), Ask("GET", "/?deleted={deleted}", _SIGNED_IN), Ask("GET", "/?deleted={conversation}", _SIGNED_IN)),
    ),
    Route(
        "c/<uuid:conversation_id>/",
        "The owner: what is visible of the open branch. Everybody else: nothing, not even that it exists.",
        (Ask("GET", "/c/{conversation}/", _OWNER_ONLY), Ask("GET", "/c/{deleted}/", _NOBODY), Ask("GET", "/c/{nothing}/", _NOBODY)),
    ),
    Route(
        "c/<uuid:conversation_id>/turns/<uuid:turn_id>/",
        "The owner: what is visible of one exchange.",
        (
            Ask("GET", "/c/{conversation}/turns/{turn}/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/turns/{failed}/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/turns/{other_turn}/", _NOBODY),
            Ask("GET", "/c/{nothing}/turns/{turn}/", _NOBODY),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/rename/",
        "The owner renames.",
        (
            Ask("POST", "/c/{conversation}/rename/", _OWNER_ACTS, {"title": "Another title"}),
            Ask("POST", "/c/{deleted}/rename/", _NOBODY, {"title": "Another title"}),
            Ask("GET", "/c/{conversation}/rename/", _NEVER),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/delete/",
        "The owner puts it into the bin.",
        (Ask("POST", "/c/{conversation}/delete/", _OWNER_ACTS), Ask("GET", "/c/{conversation}/delete/", _NEVER)),
    ),
    Route(
        "c/<uuid:conversation_id>/restore/",
        "The owner takes it out of the bin.",
        (Ask("POST", "/c/{deleted}/restore/", _OWNER_ACTS), Ask("POST", "/c/{conversation}/restore/", _NOBODY)),
    ),
    Route(
        "c/<uuid:conversation_id>/branch/",
        "The owner opens another branch.",
        (
            Ask("POST", "/c/{conversation}/branch/", _OWNER_ACTS, {"message": "{other_question}"}),
            Ask("POST", "/c/{conversation}/branch/", _NOBODY, {"message": "{foreign_message}"}),
            Ask("POST", "/c/{conversation}/branch/", _NOBODY),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/messages/<uuid:message_id>/text/",
        "The owner: the text of a visible message. A hidden one is not found, whoever asks.",
        (
            Ask("GET", "/c/{conversation}/messages/{final}/text/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/messages/{question}/text/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/messages/{hidden}/text/", _NOBODY),
            Ask("GET", "/c/{conversation}/messages/{foreign_message}/text/", _NOBODY),
            Ask("GET", "/c/{deleted}/messages/{foreign_message}/text/", _NOBODY),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/download/",
        "The owner: the visible frames of the open branch.",
        (Ask("GET", "/c/{conversation}/download/", _OWNER_ONLY), Ask("GET", "/c/{deleted}/download/", _NOBODY)),
    ),
    Route(
        "c/<uuid:conversation_id>/download/whole/",
        "Permitted staff after the opt-in: everything. Others: a refusal that names nothing, recorded.",
        (
            Ask("GET", "/c/{conversation}/download/whole/", _HIDDEN_FILE, action="whole download"),
            Ask("GET", "/c/{nothing}/download/whole/", "302 403! 403! 403! 403! 403! 403! 404 404", action="whole download"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/",
        "Permitted staff: the question whether to open it, then everything. Others: a refusal that names nothing, recorded.",
        (
            Ask("GET", "/c/{conversation}/debug/", _HIDDEN_PAGE, action="debug page"),
            Ask("GET", "/c/{deleted}/debug/", "302 403! 403! 403! 403! 403! 403! 404 404", action="debug page"),
            Ask("GET", "/c/{nothing}/debug/", "302 403! 403! 403! 403! 403! 403! 404 404", action="debug page"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/open/",
        "Permitted staff opt in. Recorded.",
        (
            Ask("POST", "/c/{conversation}/debug/open/", _HIDDEN_ACT, {"reason": "a fault"}, "open debug view"),
            Ask("GET", "/c/{conversation}/debug/open/", _NEVER),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/close/",
        "Permitted staff take the opt-in back; nothing is shown.",
        (Ask("POST", "/c/{conversation}/debug/close/", _HIDDEN_CLOSE, action="close debug view"),),
    ),
    Route(
        "sign-in/",
        "A form. Nothing of anybody.",
        (
            Ask("GET", "/sign-in/", "200 302 302 302 302 302 302 302 302"),
            Ask("GET", "/sign-in/?next=/c/{conversation}/debug/", "200 302 302 302 302 302 302 302 302"),
            Ask("POST", "/sign-in/", "200 302 302 302 302 302 302 302 302", {"username": "ada", "password": "wrong"}),
        ),
    ),
    Route("sign-out/", "Ends the session.", (Ask("POST", "/sign-out/", "302 " * 8 + "302"), Ask("GET", "/sign-out/", _NEVER))),
    Route(
        "setup/",
        "The first account; gone once there is one.",
        (Ask("GET", "/setup/", "302 " * 8 + "302"), Ask("POST", "/setup/", "302 " * 8 + "302", {"code": "x"})),
    ),
    Route(
        "import/",
        "A form; a file becomes a conversation of whoever uploads it. Its answer quotes no file.",
        (Ask("GET", "/import/", _SIGNED_IN), Ask("POST", "/import/", _SIGNED_IN.replace("200", "400"), {"file": "no file"})),
    ),
    Route(
        "password/",
        "A form for one's own password.",
        (Ask("GET", "/password/", _SIGNED_IN), Ask("POST", "/password/", _SIGNED_IN, {"old_password": "wrong"})),
    ),
    Route(
        "pages/<slug:name>/",
        "Everybody: the operator's pages of a fixed list.",
        (Ask("GET", "/pages/help/", _EVERYBODY), Ask("GET", "/pages/terms/", _EVERYBODY), Ask("GET", "/pages/welcome/", _NOT_THERE)),
    ),
    Route("healthz", "Everybody: that it lives.", (Ask("GET", "/healthz", _EVERYBODY),)),
    Route("admin/", "Staff: what their permissions name.", (Ask("GET", "/admin/", _ALL_STAFF),)),
    Route(
        "admin/login/",
        "The sign-in of the back office. No form of its own beside the throttled one.",
        (
            Ask("GET", "/admin/login/", _NO_STAFF_403),
            Ask("GET", "/admin/login/?next=//evil.example/", _NO_STAFF_403),
            Ask("POST", "/admin/login/", _NO_STAFF_403, {"username": "grace", "password": "wrong"}),
        ),
    ),
    Route("admin/logout/", "Ends the session.", (Ask("POST", "/admin/logout/", "302 " * 8 + "302"),)),
    Route(
        "admin/password_change/",
        "Sent on to the one page for that.",
        (Ask("GET", "/admin/password_change/", "302 " * 8 + "302"), Ask("POST", "/admin/password_change/", "302 " * 8 + "302")),
    ),
    Route("admin/password_change/done/", "A sentence.", (Ask("GET", "/admin/password_change/done/", _ALL_STAFF),)),
    Route(
        "admin/autocomplete/",
        "Names of accounts for those who may see accounts. Nothing of messages.",
        (
            Ask("GET", "/admin/autocomplete/", _STAFF_403),
            Ask("GET", "/admin/autocomplete/?app_label=chatui&model_name=message&field_name=parent&term=a", _STAFF_403),
            Ask("GET", "/admin/autocomplete/?app_label=chatui&model_name=conversation&field_name=owner&term=a", _OFFICE_SEES),
        ),
    ),
    Route("admin/jsi18n/", "Words of the back office.", (Ask("GET", "/admin/jsi18n/", _ALL_STAFF),)),
    Route(
        "admin/r/<path:content_type_id>/<path:object_id>/",
        "Nobody: nothing of ours has a page elsewhere.",
        (Ask("GET", "/admin/r/{message_type}/{hidden}/", _STAFF_404), Ask("GET", "/admin/r/x/y/", _STAFF_404)),
    ),
    Route(
        "admin/chatui/user/<id>/password/",
        "Those who may change this account.",
        (
            Ask("GET", "/admin/chatui/user/{owner}/password/", _OFFICE_SEES),
            Ask("GET", "/admin/chatui/user/{more}/password/", _STAFF_403),
            Ask("POST", "/admin/chatui/user/{more}/password/", _STAFF_403, {"password1": "correct horse", "password2": "correct horse"}),
        ),
    ),
    *_back_office(
        "chatui/user",
        "{bystander}",
        "Those with the permission: accounts without content.",
        "302 302 302 403 403 403 200 403 403",
        may_change=_OFFICE_SEES,
        add=_OFFICE_SEES,
        missing=_OFFICE_GOES,
    ),
    *_back_office(
        "auth/group",
        "{group}",
        "Those with the permission: groups.",
        _OFFICE_SEES,
        may_change=_OFFICE_SEES,
        add=_OFFICE_SEES,
        missing=_OFFICE_GOES,
    ),
    *_back_office(
        "chatui/auditevent",
        "{event}",
        "Those with the permission read it. Nobody changes it.",
        _READERS,
        may_change=_STAFF_403,
        add=_STAFF_403,
        missing="302 302 302 403 403 403 403 302 302",
    ),
    *_back_office(
        "chatui/conversation",
        "{conversation}",
        "Those who may open conversations of others: whose, and when; neither title nor content.",
        _ANY_SEES,
        may_change=_STAFF_403,
        add=_STAFF_403,
        missing="302 302 302 403 403 302 403 302 302",
    ),
    Route(
        "admin/^(?P<app_label>chatui|auth)/$",
        "Staff: what their permissions name.",
        (
            Ask("GET", "/admin/chatui/", "302 302 302 404 404 200 200 200 200"),
            Ask("GET", "/admin/auth/", "302 302 302 404 404 404 200 404 404"),
        ),
    ),
    Route(
        "admin/(?P<url>.*)$",
        "Nobody: what is not there. Messages, turns and openings are not in the back office.",
        (
            Ask("GET", "/admin/chatui/message/", _STAFF_404),
            Ask("GET", "/admin/chatui/message/{hidden}/change/", _STAFF_404),
            Ask("GET", "/admin/chatui/turn/{turn}/change/", _STAFF_404),
            Ask("GET", "/admin/chatui/debugopening/", _STAFF_404),
        ),
    ),
)


@dataclass(frozen=True)
class Command:
    """One command of the socket: what it does, for whom; what each signed-in person is answered, and what the audit log gets."""

    type: str
    does: str
    fields: Mapping[str, object]
    answers: Mapping[str, str]
    action: str = ""


_REFUSED_TO_OTHERS = dict.fromkeys(PEOPLE[2:], "E-X-NOT-FOUND")
_NEW_QUESTION: dict[str, object] = {"client_id": "{client_id}", "conversation": "{conversation}", "effort": "low", "text": "And now?"}

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
        "stop",
        "The owner stops a turn. Says nothing.",
        {"conversation": "{conversation}", "turn": "{turn}"},
        {"owner": ""} | _REFUSED_TO_OTHERS,
    ),
    Command(
        "watch",
        "Permitted staff after the opt-in follow every frame. Others: a refusal that names nothing, recorded.",
        {"conversation": "{conversation}"},
        dict.fromkeys(PEOPLE[1:7], "E-PERM-VISIBILITY!") | {"both": "E-X-OPT-IN", "opened": "chatui:idle+"},
        "debug stream",
    ),
)

SOCKETS = {"ws/": "Signed-in people from our own pages."}
"""The addresses of sockets."""

LAYER_MESSAGES = {
    "turn_events": "What a runner published to the group of this socket's audience.",
    "turn_snapshot": "The answer to this socket's own question.",
    "turn_begun": "Without content: look again.",
    "session_check": "Without content: look again.",
}
"""What a socket hears on the channel layer: the handlers of the consumer."""

_OF_A_TURN = {"type", "turn", "sequence_number"}
END_USER_EVENTS: dict[str, set[str]] = {
    "chatui:accepted": {"type", "client_id", "conversation", "turn", "question", "url", "title"},
    "chatui:refused": {"type", "client_id", "code", "message"},
    "chatui:idle": {"type", "conversation", "turn", "state"},
    "chatui:bye": {"type", "code", "message"},
    "chatui:working": _OF_A_TURN | {"elapsed"},
    "chatui:message": _OF_A_TURN | {"message_id", "kind"},
    "chatui:preamble.delta": _OF_A_TURN | {"message_id", "block", "html", "text"},
    "chatui:snapshot": _OF_A_TURN | {"elapsed", "working", "messages"},
    "response.created": _OF_A_TURN | {"conversation", "question", "after", "kind"},
    "response.delta": _OF_A_TURN | {"message_id", "block", "html", "text"},
    "response.delta.flush": _OF_A_TURN | {"message_id", "block", "html"},
    **{f"response.{end}": _OF_A_TURN | {"state", "code", "message", "elapsed"} for end in ("completed", "incomplete", "failed", "cancel")},
}
"""All that an end user's socket may ever be sent, with every field that it may have."""

DEBUG_EVENTS = {"chatui:frame.opened", "chatui:frame.delta", "chatui:frame.closed", "chatui:debug.snapshot", "chatui:frame"}
"""What only permitted staff who opted in are sent."""
