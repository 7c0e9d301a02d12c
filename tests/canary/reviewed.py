"""The reviewed table: every address and every socket command, who may see what there, and what each kind of person gets.

A route or command that is not listed fails a test. Before you add one, decide: who may see what, what do the others get, and is it
recorded if somebody requests hidden text? Then write the answer down as an entry; both the crawl and the matrix exercise it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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


# For: anonymous, owner, other, staff, hidden only, any only, admin, both, opened.
_OWNER_ONLY = "302 200 404 404 404 404 404 404 404"
_OWNER_ACTS = "302 302 404 404 404 404 404 404 404"
_NOBODY = "302 404 404 404 404 404 404 404 404"
_HIDDEN_PAGE = "302! 403! 403! 403! 403! 403! 403! 200 200#"
_HIDDEN_ACT = "302! 403! 403! 403! 403! 403! 403! 302+ 302+"
_HIDDEN_CLOSE = "302! 403! 403! 403! 403! 403! 403! 302 302+"
_HIDDEN_PART = "302! 403! 403! 403! 403! 403! 403! 302 200#"
_PROMPT_FILE = "302! 403! 403! 403! 403! 403! 403! 302 200+"
_HIDDEN_MISSING = "302! 403! 403! 403! 403! 403! 403! 302 404#"
_HIDDEN_NOWHERE = "302! 403! 403! 403! 403! 403! 403! 404 404"
_PROMPT_MISSING = _PROMPT_FILE.replace("200", "404")
_HIDDEN_BY_ID = "302 404! 404! 404! 404! 404! 404! 404 404"
_HIDDEN_OTHERWISE = "405! 405! 405! 405! 405! 405! 405! 405 405"
_HIDDEN_FILE = "302! 403! 403! 403! 403! 403! 403! 403 200+"
_HIDDEN_UNREASONED = "302! 403! 403! 403! 403! 403! 403! 400 400"
_REASON = {"reason": "a fault was reported", "minutes": "15"}
_SHARER_ACTS = "302 302+ 404 404 404 404 404 404 404"
_SHARED = {"leaf": "{final}", "days": "7"}
_SIGNED_IN = "302 200 200 200 200 200 200 200 200"
_EVERYBODY = "200 200 200 200 200 200 200 200 200"
_SIGNS_OUT = "302 " + " ".join(["302*"] * 8)
_NOT_THERE = "404 404 404 404 404 404 404 404 404"
_BY_KEY = "401 401 401 401 401 401 401 401 401"
"""The addresses for programs: no session opens them. surface/test_programs.py tests what keys open."""
_NEVER = "405 405 405 405 405 405 405 405 405"
_READERS = "302 404 404 404 404 404 404 200 200"
_READERS_TAKE = "302 404 404 404 404 404 404 200* 200*"
_USAGE = "302 404 404 404 404 404 200 404 404"
_MANAGERS = "302 404 404 404 200 404 200 200 200"
_MANAGER_ACTS = "302 404 404 404 404 404 302* 404 404"
_DEBUGGERS = "302 404 404 404 404 404 404 200 200"
_DEBUGGERS_GO = "302 200 404 404 404 404 404 302 302"
_DEBUGGERS_SENT = "302 404 404 404 404 404 404 302 302"


_REQUESTS = "/c/{conversation}/debug/requests/"


ROUTES: tuple[Route, ...] = (
    Route(
        "",
        "A signed-in person: their own list of conversations, and the names of their own folders. Nothing of others.",
        (
            Ask("GET", "/", _SIGNED_IN),
            Ask("GET", "/?deleted={deleted}", _SIGNED_IN),
            Ask("GET", "/?deleted={conversation}", _SIGNED_IN),
            Ask("GET", "/?folder={folder}", _OWNER_ONLY),
            Ask("GET", "/?folder=x", _NOBODY),
        ),
    ),
    Route(
        "conversations/",
        "A signed-in person: the rest of their own list of conversations. Nothing of others.",
        (
            Ask("GET", "/conversations/", "302 200 200 200 200 200 200 200 200"),
            Ask("GET", "/conversations/?list=1-{conversation}", "302 404 404 404 404 404 404 404 404"),
            Ask("GET", "/conversations/?folder={folder}", _OWNER_ONLY),
            Ask("GET", "/conversations/?folder={nothing}", _NOBODY),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/",
        "The owner: what is visible of the open branch. Those who may open its debug view are sent there, where they give a reason first. "
        "Everybody else: nothing, not even that it exists.",
        (
            Ask("GET", "/c/{conversation}/", _DEBUGGERS_GO),
            Ask("GET", "/c/{deleted}/", _NOBODY),
            Ask("GET", "/c/{nothing}/", _NOBODY),
            Ask("GET", "/c/{conversation}/?all=1", _DEBUGGERS_GO),
            Ask("GET", "/c/{conversation}/?at={final}", _DEBUGGERS_GO),
            Ask("GET", "/c/{conversation}/?at={hidden}", "302 404! 404! 404! 404! 404! 404! 302 302", action="link to message"),
            Ask("GET", "/c/{conversation}/?before={foreign_message}", _DEBUGGERS_SENT),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/find/",
        "The owner: the ids of the visible messages in which a text stands.",
        (
            Ask("GET", "/c/{conversation}/find/?q=a", _OWNER_ONLY),
            Ask("GET", "/c/{deleted}/find/?q=a", _NOBODY),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/exchanges/",
        "The owner: what is visible of some exchanges, before or after a message that they may see.",
        (
            Ask("GET", "/c/{conversation}/exchanges/?before={final}", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/exchanges/?after={final}", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/exchanges/?before={hidden}", _HIDDEN_BY_ID, action="link to message"),
            Ask("GET", "/c/{conversation}/exchanges/?after={foreign_message}", _NOBODY),
            Ask("GET", "/c/{conversation}/exchanges/", _NOBODY),
            Ask("GET", "/c/{deleted}/exchanges/?before={final}", _NOBODY),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/messages/<uuid:message_id>/answers/",
        "The owner: what is visible of all answers to a question that they may see.",
        (
            Ask("GET", "/c/{conversation}/messages/{question}/answers/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/messages/{final}/answers/", _NOBODY),
            Ask("GET", "/c/{conversation}/messages/{hidden}/answers/", _HIDDEN_BY_ID, action="versions of an answer"),
            Ask("GET", "/c/{conversation}/messages/{foreign_message}/answers/", _NOBODY),
            Ask("GET", "/c/{deleted}/messages/{question}/answers/", _NOBODY),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/messages/<uuid:message_id>/rating/",
        "The owner: what they have said of an answer; rates it, or takes that back.",
        (
            Ask("GET", "/c/{conversation}/messages/{final}/rating/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/messages/{question}/rating/", _NOBODY),
            Ask("GET", "/c/{conversation}/messages/{hidden}/rating/", _HIDDEN_BY_ID, action="rate an answer"),
            Ask("GET", "/c/{deleted}/messages/{final}/rating/", _NOBODY),
            Ask("POST", "/c/{conversation}/messages/{final}/rating/", _OWNER_ACTS, {"verdict": "up", "note": "Thanks"}),
            Ask("POST", "/c/{conversation}/messages/{final}/rating/", _OWNER_ACTS, {"verdict": "down", "reason": "wrong"}),
            Ask("POST", "/c/{conversation}/messages/{final}/rating/", _OWNER_ACTS, {"verdict": ""}),
            Ask("POST", "/c/{conversation}/messages/{final}/rating/", _OWNER_ACTS.replace("302 302", "302 400"), {"verdict": "down"}),
            Ask("POST", "/c/{conversation}/messages/{hidden}/rating/", _HIDDEN_BY_ID, {"verdict": "up"}, "rate an answer"),
            Ask("POST", "/c/{conversation}/messages/{foreign_message}/rating/", _NOBODY, {"verdict": "up"}),
        ),
    ),
    Route(
        "manage/",
        "Staff with a permission for some part of it: figures of those parts. Everybody else: nothing, not even that it exists.",
        (Ask("GET", "/manage/", _MANAGERS), Ask("POST", "/manage/", _NEVER)),
    ),
    Route(
        "manage/people/",
        "Staff who may see accounts: names, groups, states and days. Nothing that anybody wrote. Whoever may change accounts "
        "closes, reopens, signs out or adds to a group those that they may change. Recorded, one by one.",
        (
            *(Ask("GET", f"/manage/people/{query}", _USAGE) for query in ("", "?q=a&page=2", "?show=debug", "?show=invited")),
            Ask("POST", "/manage/people/", _USAGE, {"what": "close", "person": "{bystander}"}),
            Ask("POST", "/manage/people/", _MANAGER_ACTS, {"what": "sessions", "person": "{bystander}"}, "end session"),
            Ask("POST", "/manage/people/", _NOBODY, {"what": "nothing", "person": "{bystander}"}),
        ),
    ),
    Route(
        "manage/people/new/",
        "Staff who may add accounts: a form for one that nobody can sign in to. Recorded.",
        (
            Ask("GET", "/manage/people/new/", _USAGE),
            Ask("POST", "/manage/people/new/", _MANAGER_ACTS, {"username": "newcomer"}, "account created"),
        ),
    ),
    Route(
        "manage/people/invite/",
        "Staff who may add accounts: the links of new invitations, once, each recorded.",
        (Ask("GET", "/manage/people/invite/", _USAGE), Ask("POST", "/manage/people/invite/", _USAGE)),
    ),
    Route(
        "manage/people/invitations/<uuid:invitation_id>/revoke/",
        "Staff who may add accounts take an invitation back that they could have made: not one into a group with more rights. Recorded.",
        (
            Ask("POST", "/manage/people/invitations/{nothing}/revoke/", _NOBODY),
            Ask(
                "POST",
                "/manage/people/invitations/{invitation}/revoke/",
                _MANAGER_ACTS,
                action="revoke invitation",
                detail="made by inviter, to no group",
            ),
            Ask("POST", "/manage/people/invitations/{invitation_beyond}/revoke/", _NOBODY),
        ),
    ),
    Route(
        "manage/people/<uuid:person_id>/",
        "Staff who may see accounts: one of them.",
        (Ask("GET", "/manage/people/{bystander}/", _USAGE), Ask("GET", "/manage/people/{nothing}/", _NOBODY)),
    ),
    Route(
        "manage/people/<uuid:person_id>/close/",
        "Staff who may change that account close it, after the page has said what that means. Recorded.",
        (
            Ask("GET", "/manage/people/{bystander}/close/", _USAGE),
            Ask("POST", "/manage/people/{bystander}/close/", _MANAGER_ACTS, action="account closed", detail="by staff"),
        ),
    ),
    Route(
        "manage/people/<uuid:person_id>/details/",
        "Staff who may change that account correct its names and its address. Recorded.",
        (
            Ask(
                "POST",
                "/manage/people/{bystander}/details/",
                _MANAGER_ACTS,
                {"username": "another"},
                "account changed",
                "is called another now",
            ),
            Ask("POST", "/manage/people/{more}/details/", _NOBODY, {"username": "another"}),
        ),
    ),
    Route(
        "manage/people/<uuid:person_id>/password/",
        "Staff who may change that account: a link for a new password, once. Recorded.",
        (
            Ask("GET", "/manage/people/{owner}/password/", _USAGE),
            Ask("GET", "/manage/people/{more}/password/", _NOBODY),
            Ask("POST", "/manage/people/{more}/password/", _NOBODY),
            Ask("POST", "/manage/people/{bystander}/password/", _USAGE.replace("200", "200*"), action="make password link"),
        ),
    ),
    Route(
        "manage/people/<uuid:person_id>/key/",
        "Staff who may change that account: a form for a new key, where nobody ever signed in there.",
        (
            Ask("GET", "/manage/people/{owner}/key/", _USAGE),
            Ask("GET", "/manage/people/{more}/key/", _NOBODY),
            Ask("POST", "/manage/people/{more}/key/", _NOBODY, {"name": "A job"}),
        ),
    ),
    Route(
        "manage/people/<uuid:person_id>/limit/",
        "Staff who may set limits and see accounts: how much somebody may use. Recorded.",
        (
            Ask("GET", "/manage/people/{bystander}/limit/", _USAGE),
            Ask("POST", "/manage/people/{bystander}/limit/", _MANAGER_ACTS, {"day_turns": "3"}, "usage limit created"),
        ),
    ),
    Route(
        "manage/people/<uuid:person_id>/erase/",
        "Staff who may erase that account: how much there is of it, without a word of it; and its end, once its name was typed. Recorded.",
        (
            Ask("GET", "/manage/people/{bystander}/erase/", _USAGE),
            Ask("GET", "/manage/people/{more}/erase/", _NOBODY),
            Ask("POST", "/manage/people/{more}/erase/", _NOBODY, {"name": "x"}),
        ),
    ),
    Route(
        "manage/people/<uuid:person_id>/<slug:what>/",
        "Staff who may change that account: its groups, sessions and second factor. Recorded where it changes something.",
        (
            Ask("POST", "/manage/people/{bystander}/groups/", _MANAGER_ACTS.replace("*", "")),
            Ask("POST", "/manage/people/{bystander}/sessions/", _MANAGER_ACTS, action="end session"),
            Ask("POST", "/manage/people/{bystander}/factor/", _MANAGER_ACTS.replace("*", "")),
            Ask("POST", "/manage/people/{bystander}/open/", _MANAGER_ACTS.replace("*", "")),
            Ask("POST", "/manage/people/{bystander}/nothing/", _NOBODY),
        ),
    ),
    Route(
        "manage/servers/",
        "Staff who may see model servers: states, counts and codes. Whoever may add them tests a new one, and saves it. Recorded.",
        (
            Ask("GET", "/manage/servers/", _USAGE),
            Ask(
                "POST",
                "/manage/servers/",
                _MANAGER_ACTS,
                {"url": "http://127.0.0.1:9", "name": "new", "key": "planted-key", "save": "1"},
                "back end created",
                "waits for confirmation; address http://127.0.0.1:9; key stored for http://127.0.0.1:9; wire format auto; enabled False",
            ),
        ),
    ),
    Route(
        "manage/servers/<str:name>/",
        "Staff who may see model servers: settings in use, and what the doctor found, in words of ours. Whoever may change them begins it.",
        (
            Ask("GET", "/manage/servers/{server}/", _USAGE),
            Ask("GET", "/manage/servers/nothing/", _NOBODY),
            Ask("POST", "/manage/servers/demo/", _NOBODY),
        ),
    ),
    Route(
        "manage/servers/<str:name>/settings/",
        "Staff who may change model servers: the settings of one, never its key. They test and save others. Recorded.",
        (
            Ask("GET", "/manage/servers/{server}/settings/", _USAGE),
            Ask("GET", "/manage/servers/nothing/settings/", _NOBODY),
            Ask(
                "POST",
                "/manage/servers/{server}/settings/",
                _MANAGER_ACTS.replace("*", ""),
                {"url": "http://127.0.0.1:9", "name": "{server}", "kind": "chat", "save": "1"},
            ),
        ),
    ),
    Route(
        "manage/servers/<str:name>/<slug:what>/",
        "Staff who may change model servers offer or pause one; whoever may see hidden channels confirms one; whoever may delete them "
        "removes one. Recorded.",
        (
            Ask("POST", "/manage/servers/{server}/pause/", _MANAGER_ACTS.replace("*", "")),
            Ask("POST", "/manage/servers/{server}/offer/", _USAGE.replace("200", "409")),
            Ask("POST", "/manage/servers/{server}/confirm/", _NOBODY),
            Ask("POST", "/manage/servers/{server}/remove/", _MANAGER_ACTS, action="back end deleted", detail="http://127.0.0.1:9"),
            Ask("POST", "/manage/servers/{server}/nothing/", _NOBODY),
        ),
    ),
    Route(
        "manage/groups/",
        "Staff who may see accounts and groups: names and permissions. Whoever may add groups makes one. Recorded.",
        (
            Ask("GET", "/manage/groups/", _USAGE),
            Ask("POST", "/manage/groups/", _MANAGER_ACTS, {"name": "new readers"}, "group created", ""),
        ),
    ),
    Route(
        "manage/groups/<int:group_id>/",
        "Staff who may see accounts and groups: one group, who is in it, and who has no second factor. Whoever may change it demands "
        "one; whoever may change an account, and give the group, puts it in. Recorded.",
        (
            Ask("GET", "/manage/groups/{group}/", _USAGE),
            Ask("GET", "/manage/groups/999999/", _NOBODY),
            Ask(
                "POST",
                "/manage/groups/{group}/",
                _MANAGER_ACTS,
                {"required": "on"},
                "group changed",
                "needs a second factor now",
            ),
        ),
    ),
    Route(
        "manage/groups/<int:group_id>/delete/",
        "Staff who may delete that group, which no setting names. Recorded.",
        (
            Ask("GET", "/manage/groups/{group}/delete/", _USAGE),
            Ask("POST", "/manage/groups/999999/delete/", _NOBODY),
        ),
    ),
    Route(
        "manage/keys/",
        "Staff who may see accounts: which keys people made for programs, without the keys.",
        (Ask("GET", "/manage/keys/", _USAGE), Ask("GET", "/manage/keys/?q=a&page=2", _USAGE)),
    ),
    Route(
        "manage/keys/<uuid:key_id>/revoke/",
        "Staff who may change accounts revoke anybody's key. Recorded.",
        (
            Ask("POST", "/manage/keys/{api_key}/revoke/", _MANAGER_ACTS, action="revoke somebody's API key"),
            Ask("POST", "/manage/keys/{nothing}/revoke/", _NOBODY),
        ),
    ),
    Route(
        "manage/limits/",
        "Staff who may set limits: how much groups, people and everybody may use, and what models cost. Recorded.",
        (
            Ask("GET", "/manage/limits/", _USAGE),
            Ask("POST", "/manage/limits/", _MANAGER_ACTS, {"what": "limit", "day_turns": "3"}, "usage limit created"),
            Ask("POST", "/manage/limits/", _NOBODY, {"what": "nothing"}),
        ),
    ),
    Route(
        "manage/limits/<int:limit_id>/",
        "Staff who may set limits: one of them. Recorded.",
        (
            Ask("GET", "/manage/limits/{limit}/", _USAGE),
            Ask("POST", "/manage/limits/{limit}/", _MANAGER_ACTS, {"delete": "yes"}, "usage limit deleted"),
        ),
    ),
    Route(
        "manage/limits/prices/<int:price_id>/",
        "Staff who may set limits: one price. Recorded.",
        (
            Ask("GET", "/manage/limits/prices/{price}/", _USAGE),
            Ask("POST", "/manage/limits/prices/{price}/", _MANAGER_ACTS, {"delete": "yes"}, "model price deleted"),
        ),
    ),
    Route(
        "manage/failures/",
        "Staff who may see back ends: codes, causes in words of ours and times. A link to the debug view for whoever may open it.",
        (
            Ask("GET", "/manage/failures/", _USAGE),
            Ask("GET", "/manage/failures/?hours=1&cause=x&server=", _USAGE),
            Ask("GET", "/manage/failures/?number=4F2A-91BC", _USAGE),
        ),
    ),
    Route(
        "manage/failures/<uuid:turn_id>/",
        "Staff who may see back ends: the cause of one failed answer. Whose it was and a link to the debug view for whoever may open it.",
        (Ask("GET", "/manage/failures/{failed}/", _USAGE), Ask("GET", "/manage/failures/{nothing}/", _NOBODY)),
    ),
    Route(
        "manage/conversations/",
        "Those who may open anybody's debug view: whose conversations, and when; neither title nor content. A search is recorded.",
        (
            Ask("GET", "/manage/conversations/", _DEBUGGERS),
            Ask("GET", "/manage/conversations/?since=never", _DEBUGGERS.replace("200", "400")),
            Ask("GET", "/manage/conversations/?q=zz", _DEBUGGERS.replace("200", "200*"), action="search conversations"),
            Ask(
                "GET",
                "/manage/conversations/?q=/c/{conversation}/",
                _DEBUGGERS.replace("200", "302+"),
                action="search conversations",
                detail="/c/{conversation}/",
            ),
        ),
    ),
    Route("manage/looks/", "Staff who may read the audit log: its lines, grouped by look.", (Ask("GET", "/manage/looks/", _READERS),)),
    Route("manage/settings/", "Staff who may change back ends: settings without secrets.", (Ask("GET", "/manage/settings/", _USAGE),)),
    Route("manage/system/", "Staff who may change back ends: release, updates, sizes.", (Ask("GET", "/manage/system/", _USAGE),)),
    Route(
        "ratings/",
        "Staff with the permission to export ratings, which nobody here has: see tests/chatui/transfer/test_ratings.py.",
        (
            Ask("GET", "/ratings/", _NOBODY),
            Ask("POST", "/ratings/", _NOBODY, {"format": "openchatml"}),
            Ask("POST", "/ratings/", _NOBODY, {"format": "harmony", "hidden": "on", "why": "a fault was reported"}),
        ),
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
        "c/<uuid:conversation_id>/turns/<uuid:turn_id>/calls/",
        "The owner: calls about which they decide or have decided, with their arguments. Nobody else, and not whoever may see all.",
        (
            Ask("GET", "/c/{conversation}/turns/{turn}/calls/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/turns/{other_turn}/calls/", _NOBODY),
            Ask("GET", "/c/{nothing}/turns/{turn}/calls/", _NOBODY),
            Ask("POST", "/c/{conversation}/turns/{turn}/calls/", _NEVER),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/turns/<uuid:turn_id>/files/",
        "The owner: names and sizes of the files that tools made for them in this turn. Nobody else.",
        (
            Ask("GET", "/c/{conversation}/turns/{turn}/files/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/turns/{other_turn}/files/", _NOBODY),
            Ask("GET", "/c/{nothing}/turns/{turn}/files/", _NOBODY),
            Ask("POST", "/c/{conversation}/turns/{turn}/files/", _NEVER),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/calls/<uuid:approval_id>/",
        "The owner decides about a call that waits; a decision that counts is recorded. This one waits no more, so nothing happens.",
        (
            Ask("POST", "/c/{conversation}/calls/{call}/", _OWNER_ACTS, {"decision": "once"}),
            Ask("POST", "/c/{deleted}/calls/{call}/", _NOBODY, {"decision": "once"}),
            Ask("POST", "/c/{conversation}/calls/{nothing}/", _NOBODY, {"decision": "once"}),
            Ask("GET", "/c/{conversation}/calls/{call}/", _NEVER),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/tools/",
        "The owner: which tools they are offered there, and switches one. Nothing of any call.",
        (
            Ask("GET", "/c/{conversation}/tools/", _OWNER_ONLY),
            Ask("POST", "/c/{conversation}/tools/", _OWNER_ONLY, {"tool": "current_time", "state": "off"}),
            Ask("POST", "/c/{conversation}/tools/", _NOBODY, {"tool": "current_time", "state": "for good"}),
            Ask("GET", "/c/{deleted}/tools/", _NOBODY),
        ),
    ),
    Route(
        "tools/",
        "Anybody signed in: which tools they are offered.",
        (Ask("GET", "/tools/?off=current_time", _SIGNED_IN), Ask("POST", "/tools/", _NEVER)),
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
        "c/<uuid:conversation_id>/temporary/<slug:what>/",
        "The owner: whether the page of a temporary conversation was left or is there again; keeps it, or erases it for good.",
        (
            Ask("POST", "/c/{temporary}/temporary/leave/", _OWNER_ONLY),
            Ask("POST", "/c/{temporary}/temporary/stay/", _OWNER_ONLY),
            Ask("POST", "/c/{temporary}/temporary/keep/", _OWNER_ONLY),
            Ask("POST", "/c/{temporary}/temporary/close/", _OWNER_ONLY),
            Ask("POST", "/c/{temporary}/temporary/nothing/", _NOBODY),
            Ask("POST", "/c/{conversation}/temporary/close/", _NOBODY),
            Ask("POST", "/c/{deleted}/temporary/keep/", _NOBODY),
            Ask("GET", "/c/{temporary}/temporary/close/", _NEVER),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/erase/",
        "The owner: the title of a conversation in the bin, with the question whether to erase it; erases it.",
        (
            Ask("GET", "/c/{deleted}/erase/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/erase/", _NOBODY),
            Ask("POST", "/c/{conversation}/erase/", _NOBODY),
            Ask("POST", "/c/{deleted}/erase/", _OWNER_ACTS),
            Ask("POST", "/c/{nothing}/erase/", _NOBODY),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/put/",
        "The owner puts it into the list, on top of it, or into the archive.",
        (
            Ask("POST", "/c/{conversation}/put/", _OWNER_ACTS, {"place": "archive"}),
            Ask("POST", "/c/{conversation}/put/", _OWNER_ACTS, {"place": "pinned"}),
            Ask("POST", "/c/{conversation}/put/", _NOBODY, {"place": "elsewhere"}),
            Ask("POST", "/c/{deleted}/put/", _NOBODY, {"place": "list"}),
            Ask("GET", "/c/{conversation}/put/", _NEVER),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/move/",
        "The owner: the title of the conversation, and the names of their folders; puts it into one of them, or into none.",
        (
            Ask("GET", "/c/{conversation}/move/", _OWNER_ONLY),
            Ask("GET", "/c/{deleted}/move/", _NOBODY),
            Ask("POST", "/c/{conversation}/move/", _OWNER_ACTS, {"folder": "{folder}"}),
            Ask("POST", "/c/{conversation}/move/", _OWNER_ACTS, {"folder": ""}),
            Ask("POST", "/c/{conversation}/move/", _NOBODY, {"folder": "{nothing}"}),
            Ask("POST", "/c/{conversation}/move/", _NOBODY, {"folder": "{foreign_folder}"}),
            Ask("POST", "/c/{deleted}/move/", _NOBODY, {"folder": "{folder}"}),
        ),
    ),
    Route(
        "format/",
        "Anybody signed in: the schema that they give to the conversation which they begin next. It is kept in their session.",
        (
            Ask("GET", "/format/", _SIGNED_IN),
            Ask("GET", "/format/?for=nothing&example=1", _SIGNED_IN),
            Ask("POST", "/format/", "302 302 302 302 302 302 302 302 302", {"schema": '{{"type": "object"}}'}),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/format/",
        "The owner: the title of the conversation and the schema of its answers, which they set; changes nothing that was written.",
        (
            Ask("GET", "/c/{conversation}/format/", _OWNER_ONLY),
            Ask("GET", "/c/{deleted}/format/", _NOBODY),
            Ask("POST", "/c/{conversation}/format/", _OWNER_ACTS, {"schema": '{{"type": "object"}}'}),
            Ask("POST", "/c/{conversation}/format/", _OWNER_ACTS, {"clear": "1"}),
            Ask("POST", "/c/{deleted}/format/", _NOBODY, {"schema": "{{}}"}),
        ),
    ),
    Route(
        "folders/new/",
        "A signed-in person makes a folder, and puts a conversation of theirs into it.",
        (
            Ask("GET", "/folders/new/", _SIGNED_IN),
            Ask("GET", "/folders/new/?conversation={conversation}", _OWNER_ONLY),
            Ask("POST", "/folders/new/", "302 302 302 302 302 302 302 302 302", {"name": "Work"}),
            Ask("POST", "/folders/new/", "302 400 400 400 400 400 400 400 400", {"name": ""}),
            Ask("POST", "/folders/new/", _OWNER_ACTS, {"name": "Work", "conversation": "{conversation}"}),
            Ask("POST", "/folders/new/", _NOBODY, {"name": "Work", "conversation": "{deleted}"}),
        ),
    ),
    Route(
        "folders/<uuid:folder_id>/",
        "The owner: the name and the instructions of a folder; changes them. Everybody else: nothing, not even that it exists.",
        (
            Ask("GET", "/folders/{folder}/", _OWNER_ONLY),
            Ask("GET", "/folders/{nothing}/", _NOBODY),
            Ask("GET", "/folders/{foreign_folder}/", _NOBODY),
            Ask("POST", "/folders/{folder}/", _OWNER_ACTS, {"name": "Work", "instructions": "Be brief."}),
            Ask("POST", "/folders/{foreign_folder}/", _NOBODY, {"name": "Work"}),
        ),
    ),
    Route(
        "folders/<uuid:folder_id>/delete/",
        "The owner: the name of a folder, with the question whether to delete it; deletes it. Its conversations stay.",
        (
            Ask("GET", "/folders/{folder}/delete/", _OWNER_ONLY),
            Ask("GET", "/folders/{nothing}/delete/", _NOBODY),
            Ask("POST", "/folders/{folder}/delete/", _OWNER_ACTS),
            Ask("POST", "/folders/{foreign_folder}/delete/", _NOBODY),
        ),
    ),
    Route(
        "archived/",
        "A signed-in person: the titles of their own archived conversations. Nothing of others, and nothing that is in the bin.",
        (Ask("GET", "/archived/", _SIGNED_IN), Ask("GET", "/archived/?list=x", _NOBODY), Ask("POST", "/archived/", _NEVER)),
    ),
    Route(
        "bin/",
        "A signed-in person: the titles of their own conversations in the bin. Nothing of others, and no unfinished import.",
        (Ask("GET", "/bin/", _SIGNED_IN), Ask("GET", "/bin/?list=x", _NOBODY), Ask("POST", "/bin/", _NEVER)),
    ),
    Route(
        "bin/empty/",
        "A signed-in person: how many conversations are in their bin, with the question whether to erase them; erases them. Recorded.",
        (
            Ask("GET", "/bin/empty/", _SIGNED_IN),
            Ask("POST", "/bin/empty/", _SIGNED_IN.replace("200", "302*"), action="empty the bin"),
        ),
    ),
    Route(
        "conversations/choose/",
        "A signed-in person: the titles of their own conversations and the names of their folders; deletes, archives, moves or downloads "
        "those of their own that they name. Nothing of others.",
        (
            Ask("GET", "/conversations/choose/", _SIGNED_IN),
            Ask("GET", "/conversations/choose/?list=x", _NOBODY),
            *(
                Ask(
                    "POST", "/conversations/choose/", _SIGNED_IN.replace("200", "302"), {"action": action, "conversation": "{conversation}"}
                )
                for action in ("delete", "archive", "move")
            ),
            Ask("POST", "/conversations/choose/", _SIGNED_IN, {"action": "download", "conversation": "{conversation}"}),
            Ask("POST", "/conversations/choose/", _SIGNED_IN.replace("200", "400"), {"action": "delete"}),
            Ask("POST", "/conversations/choose/", _NOBODY, {"action": "debug", "conversation": "{conversation}"}),
            Ask("POST", "/conversations/choose/", _NOBODY, {"action": "delete", "conversation": "x"}),
            Ask(
                "POST",
                "/conversations/choose/",
                _NOBODY,
                {"action": "move", "conversation": "{conversation}", "folder": "{foreign_folder}"},
            ),
        ),
    ),
    Route(
        "conversations/undo/",
        "A signed-in person undoes the change of several conversations that their session has. Here it has none.",
        (Ask("POST", "/conversations/undo/", _NOBODY, {"key": "x"}), Ask("GET", "/conversations/undo/", _NEVER)),
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
        "The owner: the text of a visible message. A hidden one is not found, whoever asks, and asking for it is recorded.",
        (
            Ask("GET", "/c/{conversation}/messages/{final}/text/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/messages/{question}/text/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/messages/{hidden}/text/", _HIDDEN_BY_ID, action="message text"),
            Ask("GET", "/c/{nothing}/messages/{hidden}/text/?{conversation}", _HIDDEN_BY_ID, action="message text"),
            Ask("GET", "/c/{conversation}/messages/{foreign_message}/text/", _NOBODY),
            Ask("GET", "/c/{deleted}/messages/{foreign_message}/text/", _NOBODY),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/at/<uuid:message_id>/",
        "The owner is sent on to a visible message, and its branch is opened. A hidden one is not found, and recorded.",
        (
            Ask("GET", "/c/{conversation}/at/{final}/", _OWNER_ACTS),
            Ask("GET", "/c/{conversation}/at/{other_question}/", _OWNER_ACTS),
            Ask("GET", "/c/{conversation}/at/{hidden}/", _HIDDEN_BY_ID, action="link to message"),
            Ask("GET", "/c/{conversation}/at/{foreign_message}/", _NOBODY),
            Ask("GET", "/c/{deleted}/at/{final}/", _NOBODY),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/download/",
        "The owner: the visible frames of the open branch.",
        (
            Ask("GET", "/c/{conversation}/download/", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/download/?format=markdown", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/download/?format=json", _OWNER_ONLY),
            Ask("GET", "/c/{conversation}/download/?format=whole", _NOBODY),
            Ask("GET", "/c/{deleted}/download/", _NOBODY),
            Ask("GET", "/c/{deleted}/download/?format=markdown", _NOBODY),
        ),
    ),
    Route(
        "download/",
        "A signed-in person: what is visible of their own conversations, as an archive.",
        (Ask("GET", "/download/", _SIGNED_IN), Ask("GET", "/download/?format=json", _SIGNED_IN), Ask("POST", "/download/", _NEVER)),
    ),
    Route(
        "search/",
        "A signed-in person: places in their own conversations that they may see. Nothing of others, nothing hidden.",
        (
            Ask("GET", "/search/?q=visible", _SIGNED_IN),
            Ask("GET", "/search/?q=marker%22+OR+1&before=99999", _SIGNED_IN),
            Ask("GET", "/search/", _SIGNED_IN),
            Ask("POST", "/search/", _NEVER),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/share/",
        "The owner: what holders of a link would see, and their links; makes one. Making is recorded.",
        (
            Ask("GET", "/c/{conversation}/share/", _OWNER_ONLY),
            Ask("GET", "/c/{deleted}/share/", _NOBODY),
            Ask("POST", "/c/{conversation}/share/", _SHARER_ACTS, _SHARED, "make share link", "for 7 days"),
            Ask("POST", "/c/{conversation}/share/", _SHARER_ACTS, _SHARED | {"named": "yes"}, "make share link", "for 7 days"),
            Ask("POST", "/c/{conversation}/share/", _HIDDEN_BY_ID, _SHARED | {"leaf": "{hidden}"}, "make share link"),
            Ask("POST", "/c/{conversation}/share/", _NOBODY, _SHARED | {"leaf": "{foreign_message}"}),
            Ask("POST", "/c/{conversation}/share/", _NOBODY, _SHARED | {"days": "999"}),
            Ask("POST", "/c/{deleted}/share/", _NOBODY, _SHARED),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/share/revoke/",
        "The owner takes all links to it back. Recorded.",
        (
            Ask("POST", "/c/{conversation}/share/revoke/", _SHARER_ACTS, action="revoke share link"),
            Ask("POST", "/c/{deleted}/share/revoke/", _NOBODY),
            Ask("GET", "/c/{conversation}/share/revoke/", _NEVER),
        ),
    ),
    Route("shares/", "A signed-in person: their own share links.", (Ask("GET", "/shares/", _SIGNED_IN),)),
    Route(
        "shares/revoke/",
        "A signed-in person takes all of their own links back. Recorded, each.",
        (
            Ask("POST", "/shares/revoke/?{conversation}", "302 302+ 302 302 302 302 302 302 302", action="revoke share link"),
            Ask("GET", "/shares/revoke/", _NEVER),
        ),
    ),
    Route(
        "shares/<uuid:link_id>/revoke/",
        "Who made it takes one link back. Recorded.",
        (
            Ask("POST", "/shares/{link}/revoke/?{conversation}", _SHARER_ACTS, action="revoke share link"),
            Ask("POST", "/shares/{deleted_link}/revoke/", _NOBODY),
            Ask("POST", "/shares/{nothing}/revoke/", _NOBODY),
            Ask("GET", "/shares/{link}/revoke/", _NEVER),
        ),
    ),
    Route(
        "s/<slug:token>/",
        "Everybody with the link: what was visible of a branch when the link was made.",
        (
            Ask("GET", "/s/{token}/", _EVERYBODY),
            Ask("GET", "/s/{deleted_token}/", _NOT_THERE),
            Ask("GET", "/s/AAAAAAAAAAAAAAAAAAAAAA/", _NOT_THERE),
            Ask("GET", "/s/{conversation}/", _NOT_THERE),
            Ask("GET", "/s/{link}/", _NOT_THERE),
            Ask("POST", "/s/{token}/", _NEVER),
        ),
    ),
    Route("metrics", "Whoever has the operator's token: counts. Without one there is no such page.", (Ask("GET", "/metrics", _NOT_THERE),)),
    Route(
        "c/<uuid:conversation_id>/download/whole/",
        "Permitted staff after the opt-in: everything. Others: a refusal that names nothing, recorded.",
        (
            Ask("GET", "/c/{conversation}/download/whole/", _HIDDEN_FILE, action="whole download"),
            Ask("GET", "/c/{conversation}/download/whole/?format=markdown", _HIDDEN_FILE, action="whole download"),
            Ask("GET", "/c/{conversation}/download/whole/?format=json", _HIDDEN_FILE, action="whole download"),
            Ask("GET", "/c/{nothing}/download/whole/", "302! 403! 403! 403! 403! 403! 403! 404 404", action="whole download"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/",
        "Permitted staff: the question whether to open it, then everything. Others: a refusal that names nothing, recorded.",
        (
            Ask("GET", "/c/{conversation}/debug/", _HIDDEN_PAGE, action="debug page"),
            Ask("GET", "/c/{deleted}/debug/", "302! 403! 403! 403! 403! 403! 403! 404 404", action="debug page"),
            Ask("GET", "/c/{nothing}/debug/", "302! 403! 403! 403! 403! 403! 403! 404 404", action="debug page"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/open/",
        "Permitted staff opt in. Recorded.",
        (
            Ask("POST", "/c/{conversation}/debug/open/", _HIDDEN_ACT, _REASON, "open debug view", f"15 min: {_REASON['reason']}"),
            Ask("POST", "/c/{conversation}/debug/open/", _HIDDEN_UNREASONED, _REASON | {"reason": "a fault"}, "open debug view"),
            Ask("POST", "/c/{conversation}/debug/open/", _HIDDEN_UNREASONED, _REASON | {"minutes": "9999"}, "open debug view"),
            Ask("GET", "/c/{conversation}/debug/open/", _HIDDEN_OTHERWISE, action="open debug view"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/close/",
        "Permitted staff take the opt-in back; nothing is shown.",
        (Ask("POST", "/c/{conversation}/debug/close/", _HIDDEN_CLOSE, action="close debug view", detail="nothing was shown"),),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/compare/",
        "Permitted staff after the opt-in: every frame beside what the person saw of it. Recorded.",
        (
            Ask("GET", "/c/{conversation}/debug/compare/", _HIDDEN_PART, action="debug comparison"),
            Ask("GET", "/c/{conversation}/debug/compare/?branch={foreign_message}", _HIDDEN_MISSING, action="debug comparison"),
            Ask("GET", "/c/{nothing}/debug/compare/", _HIDDEN_NOWHERE, action="debug comparison"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/raw/",
        "Permitted staff after the opt-in: a branch as a document. Recorded.",
        (
            Ask("GET", "/c/{conversation}/debug/raw/", _HIDDEN_PART, action="debug raw text"),
            Ask("GET", "/c/{conversation}/debug/raw/?branch={other_question}", _HIDDEN_PART, action="debug raw text"),
            Ask("GET", "/c/{deleted}/debug/raw/", _HIDDEN_NOWHERE, action="debug raw text"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/frames/<uuid:message_id>/",
        "Permitted staff after the opt-in: one frame as it is kept. Recorded.",
        (
            Ask("GET", "/c/{conversation}/debug/frames/{hidden}/", _HIDDEN_FILE.replace("200+", "200#"), action="debug raw frame"),
            Ask("GET", "/c/{conversation}/debug/frames/{foreign_message}/", _HIDDEN_FILE.replace("200+", "404#"), action="debug raw frame"),
            Ask("POST", "/c/{conversation}/debug/frames/{hidden}/", _HIDDEN_OTHERWISE, action="debug raw frame"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/files/<uuid:file_id>/",
        "Whoever has opened the debug view: a file of this conversation, which its owner sees as well. Each access is recorded.",
        (
            Ask("GET", "/c/{conversation}/debug/files/{file}/", _HIDDEN_FILE, action="file download"),
            Ask("GET", "/c/{conversation}/debug/files/{file_elsewhere}/", _HIDDEN_FILE.replace("200+", "404+"), action="file download"),
            Ask("GET", "/c/{nothing}/debug/files/{file}/", _HIDDEN_NOWHERE, action="file download"),
            Ask("POST", "/c/{conversation}/debug/files/{file}/", _HIDDEN_OTHERWISE, action="file download"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/turns/<uuid:turn_id>/prompt/",
        "Permitted staff after the opt-in: what was sent to the model. Recorded.",
        (
            Ask("GET", "/c/{conversation}/debug/turns/{turn}/prompt/", _HIDDEN_PART, action="debug prompt"),
            Ask("GET", "/c/{conversation}/debug/turns/{turn}/prompt/?format=sent&part=2", _HIDDEN_PART, action="debug prompt"),
            Ask("GET", "/c/{conversation}/debug/turns/{other_turn}/prompt/", _HIDDEN_MISSING, action="debug prompt"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/turns/<uuid:turn_id>/prompt/file/",
        "Permitted staff after the opt-in: the same as a file. Recorded.",
        (
            Ask("GET", "/c/{conversation}/debug/turns/{turn}/prompt/file/", _PROMPT_FILE, action="prompt download"),
            Ask("GET", "/c/{conversation}/debug/turns/{other_turn}/prompt/file/", _PROMPT_MISSING, action="prompt download"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/turns/<uuid:turn_id>/tokens/",
        "Permitted staff after the opt-in: token ids and text, of the prompt and of what the model wrote. Recorded.",
        (
            Ask("GET", "/c/{conversation}/debug/turns/{turn}/tokens/", _HIDDEN_PART, action="debug tokens"),
            Ask("GET", "/c/{conversation}/debug/turns/{turn}/tokens/?of=output&from=500", _HIDDEN_PART, action="debug tokens"),
            Ask("GET", "/c/{conversation}/debug/turns/{other_turn}/tokens/", _HIDDEN_MISSING, action="debug tokens"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/requests/<uuid:request_id>/approve/",
        "Permitted staff let somebody else look. Recorded; nothing is shown.",
        (
            Ask("POST", f"{_REQUESTS}{{asked}}/approve/", _HIDDEN_ACT, action="approve debug view", detail="for asker: a fault was seen"),
            Ask("POST", f"{_REQUESTS}{{asked_elsewhere}}/approve/", _HIDDEN_NOWHERE, action="approve debug view"),
            Ask("POST", f"{_REQUESTS}{{nothing}}/approve/", _HIDDEN_NOWHERE, action="approve debug view"),
            Ask("GET", f"{_REQUESTS}{{asked}}/approve/", _HIDDEN_OTHERWISE, action="approve debug view"),
        ),
    ),
    Route(
        "c/<uuid:conversation_id>/debug/requests/<uuid:request_id>/decline/",
        "Permitted staff do not let somebody else look. Recorded; nothing is shown.",
        (
            Ask("POST", f"{_REQUESTS}{{asked}}/decline/", _HIDDEN_ACT, action="decline debug view", detail="for asker: a fault was seen"),
            Ask("POST", f"{_REQUESTS}{{asked_elsewhere}}/decline/", _HIDDEN_NOWHERE, action="decline debug view"),
        ),
    ),
    Route(
        "debug/requests/",
        "Permitted staff: who wants to look, whose conversation it is, why and how long. Nothing of the conversations.",
        (Ask("GET", "/debug/requests/", "302 404 404 404 200 404 404 200 200"),),
    ),
    Route(
        "c/<uuid:conversation_id>/access-notices/dismiss/",
        "The owner puts the notice of accesses by staff away; nothing is shown.",
        (
            Ask("POST", "/c/{conversation}/access-notices/dismiss/", _OWNER_ACTS),
            Ask("POST", "/c/{deleted}/access-notices/dismiss/", _NOBODY),
            Ask("GET", "/c/{conversation}/access-notices/dismiss/", _NEVER),
        ),
    ),
    Route(
        "access-notices/",
        "Where owners are told: when staff opened which of their own conversations. Not found where they are not told.",
        (Ask("GET", "/access-notices/", _SIGNED_IN.replace("200", "404")),),
    ),
    Route(
        "audit/",
        "Those with the permission: every line of the audit log. Others: nothing, not even that there is such a page.",
        (
            Ask("GET", "/audit/", _READERS),
            Ask("GET", "/audit/?code=E-PERM-VISIBILITY&person=ada&below=3", _READERS),
            Ask("GET", "/audit/?since=never", _READERS.replace("200", "400")),
            Ask("POST", "/audit/", _NEVER),
        ),
    ),
    Route(
        "audit/export/<slug:kind>/",
        "Those with the permission: the lines as a file. Recorded.",
        (
            Ask("POST", "/audit/export/jsonl/", _READERS_TAKE, action="audit export"),
            Ask("POST", "/audit/export/csv/", _READERS_TAKE, {"person": "ada"}, action="audit export"),
            Ask("POST", "/audit/export/xml/", _READERS.replace("200", "404")),
            Ask("GET", "/audit/export/csv/", _NEVER),
        ),
    ),
    Route(
        "audit/warnings/<uuid:warning_id>/acknowledge/",
        "Those with the permission say that they have seen a warning. Recorded where there is one.",
        (
            Ask("POST", "/audit/warnings/{warning}/acknowledge/", _READERS.replace("200", "302*"), action="acknowledge warning"),
            Ask("POST", "/audit/warnings/{nothing}/acknowledge/", _READERS.replace("200", "302")),
        ),
    ),
    Route(
        "sign-in/",
        "A form. Nothing of anybody.",
        (
            Ask("GET", "/sign-in/", "200 302 302 302 302 302 302 302 302"),
            Ask("GET", "/sign-in/?next=/c/{conversation}/debug/", "200 302 302 302 302 302 302 302 302"),
            Ask(
                "POST",
                "/sign-in/",
                "200* 302 302 302 302 302 302 302 302",
                {"username": "ada", "password": "wrong"},
                "sign-in refused",
            ),
        ),
    ),
    Route(
        "sign-out/",
        "Ends the session. Recorded.",
        (Ask("POST", "/sign-out/", _SIGNS_OUT, action="sign out"), Ask("GET", "/sign-out/", _NEVER)),
    ),
    Route(
        "settings/",
        "A signed-in person: their own settings. Nothing of others.",
        (
            Ask("GET", "/settings/", _SIGNED_IN),
            Ask("POST", "/settings/", _SIGNED_IN.replace("200", "302"), {"theme": "dark"}),
            Ask("POST", "/settings/", _SIGNED_IN.replace("200", "302*"), {"name": "A visible name"}, "account changed"),
            Ask("POST", "/settings/", _SIGNED_IN.replace("200", "400"), {"theme": "purple"}),
        ),
    ),
    Route(
        "settings/data/",
        "A signed-in person: how many conversations they have. Nothing of others.",
        (Ask("GET", "/settings/data/", _SIGNED_IN), Ask("POST", "/settings/data/", _NEVER)),
    ),
    Route(
        "settings/data/delete/",
        "A signed-in person puts all of their conversations into the bin. Recorded.",
        (
            Ask("GET", "/settings/data/delete/", _SIGNED_IN),
            Ask("POST", "/settings/data/delete/", _SIGNED_IN.replace("200", "302*"), action="delete all conversations"),
        ),
    ),
    Route(
        "settings/close/",
        "A signed-in person closes their own account, where the operator lets people. Here nobody does.",
        (Ask("GET", "/settings/close/", _NOBODY), Ask("POST", "/settings/close/", _NOBODY, {"sure": "1"})),
    ),
    Route(
        "c/<uuid:conversation_id>/instructions/",
        "The owner: whether their own instructions count in it, without them; switches that.",
        (
            Ask("GET", "/c/{conversation}/instructions/", _OWNER_ONLY),
            Ask("POST", "/c/{conversation}/instructions/", _OWNER_ACTS, {"off": "1"}),
            Ask("GET", "/c/{deleted}/instructions/", _NOBODY),
            Ask("POST", "/c/{nothing}/instructions/", _NOBODY, {"off": "1"}),
        ),
    ),
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
        "sign-in/with/<slug:provider>/",
        "Sends a browser to a provider that the operator has named; nothing of anybody. Here there is none.",
        (Ask("POST", "/sign-in/with/company/", _NOT_THERE), Ask("GET", "/sign-in/with/company/", _NEVER)),
    ),
    Route(
        "sign-in/with/<slug:provider>/back/",
        "Takes the answer of a provider, for the browser that began. Here there is none.",
        (Ask("GET", "/sign-in/with/company/back/?state=x&code=y", _NOT_THERE), Ask("POST", "/sign-in/with/company/back/", _NEVER)),
    ),
    Route(
        "sign-in/with/<slug:provider>/logout/",
        "Takes a logout token of a provider, whoever sends it. Here there is no provider.",
        (
            Ask("POST", "/sign-in/with/company/logout/", _NOT_THERE, {"logout_token": "x"}),
            Ask("GET", "/sign-in/with/company/logout/", _NEVER),
        ),
    ),
    Route(
        "sign-in/ways/",
        "A signed-in person: the ways into their own account. Nothing of others.",
        (Ask("GET", "/sign-in/ways/", _SIGNED_IN), Ask("POST", "/sign-in/ways/", _NEVER)),
    ),
    Route(
        "sign-in/ways/<uuid:identity_id>/remove/",
        "A signed-in person takes away one of their own identities, after showing again who they are. Recorded.",
        (Ask("POST", "/sign-in/ways/{nothing}/remove/", "302 302 302 302 302 302 302 302 302"),),
    ),
    Route(
        "sign-in/code/",
        "Whoever has shown a password in this browser: a form for a code, or the secret of a second factor to set up. Others: no.",
        (Ask("GET", "/sign-in/code/", "302 " * 8 + "302"), Ask("POST", "/sign-in/code/", "302 " * 8 + "302", {"code": "123456"})),
    ),
    Route(
        "sign-in/second-factor/",
        "A signed-in person who has just shown who they are: the secret of the factor that they set up. Here nobody has.",
        (Ask("GET", "/sign-in/second-factor/", "302 " * 8 + "302"),),
    ),
    Route(
        "sign-in/second-factor/picture.svg",
        "The same secret as a picture, for the same people.",
        (Ask("GET", "/sign-in/second-factor/picture.svg", _NOT_THERE),),
    ),
    Route(
        "sign-in/second-factor/codes/",
        "A signed-in person who has just shown who they are: other recovery codes. Recorded.",
        (Ask("POST", "/sign-in/second-factor/codes/", "302 " * 8 + "302"), Ask("GET", "/sign-in/second-factor/codes/", _NEVER)),
    ),
    Route(
        "sign-in/second-factor/remove/",
        "A signed-in person who has just shown who they are takes their factor away. Recorded.",
        (Ask("POST", "/sign-in/second-factor/remove/", "302 " * 8 + "302"), Ask("GET", "/sign-in/second-factor/remove/", _NEVER)),
    ),
    Route(
        "sign-in/passkey/options/<slug:what>/",
        "Anybody: a new challenge, which names nobody; with a password shown, the ids of one's own passkeys. Not where there are none.",
        (
            Ask("POST", "/sign-in/passkey/options/sign-in/", _NOT_THERE),
            Ask("POST", "/sign-in/passkey/options/code/", _NOT_THERE),
            Ask("POST", "/sign-in/passkey/options/new/", _NOT_THERE),
            Ask("POST", "/sign-in/passkey/options/confirm/", _NOT_THERE),
            Ask("GET", "/sign-in/passkey/options/sign-in/", _NEVER),
        ),
    ),
    Route(
        "sign-in/passkey/",
        "Signs in whoever signed a challenge of this browser with a passkey that is known here. Others: one sentence. Recorded.",
        (
            Ask("POST", "/sign-in/passkey/", "404 " + "302 " * 7 + "302", {"credential": "none"}),
            Ask("GET", "/sign-in/passkey/", _NEVER),
        ),
    ),
    Route(
        "sign-in/code/passkey/",
        "Whoever has shown a password in this browser: the same with a passkey of that person. Others: no.",
        (Ask("POST", "/sign-in/code/passkey/", "302 " * 8 + "302", {"credential": "none"}), Ask("GET", "/sign-in/code/passkey/", _NEVER)),
    ),
    Route(
        "sign-in/passkeys/new/",
        "A signed-in person who has just shown who they are adds a passkey of their own. Recorded. Here nobody has.",
        (
            Ask("GET", "/sign-in/passkeys/new/", "302 " * 8 + "302"),
            Ask("POST", "/sign-in/passkeys/new/", "302 " * 8 + "302", {"credential": "none"}),
        ),
    ),
    Route(
        "sign-in/news/dismiss/",
        "A signed-in person: takes the notice about their own ways to sign in away.",
        (Ask("POST", "/sign-in/news/dismiss/", "302 " * 8 + "302"), Ask("GET", "/sign-in/news/dismiss/", _NEVER)),
    ),
    Route(
        "sign-in/passkeys/<uuid:passkey_id>/rename/",
        "A signed-in person who has just shown who they are renames one of their own passkeys. Recorded.",
        (
            Ask("POST", "/sign-in/passkeys/{nothing}/rename/", "302 " * 8 + "302", {"name": "Phone"}),
            Ask("GET", "/sign-in/passkeys/{nothing}/rename/", _NEVER),
        ),
    ),
    Route(
        "sign-in/passkeys/<uuid:passkey_id>/remove/",
        "A signed-in person who has just shown who they are takes one of their own passkeys away. Recorded.",
        (
            Ask("POST", "/sign-in/passkeys/{nothing}/remove/", "302 " * 8 + "302"),
            Ask("GET", "/sign-in/passkeys/{nothing}/remove/", _NEVER),
        ),
    ),
    Route(
        "sign-in/sessions/<uuid:session_id>/end/",
        "A signed-in person ends one of their own sessions. Recorded.",
        (Ask("POST", "/sign-in/sessions/{nothing}/end/", _NOBODY), Ask("GET", "/sign-in/sessions/{nothing}/end/", _NEVER)),
    ),
    Route(
        "sign-in/sessions/end/",
        "A signed-in person ends all of their own sessions but this one. Recorded.",
        (
            Ask("POST", "/sign-in/sessions/end/", "302 " + " ".join(["302*"] * 8), action="end session"),
            Ask("GET", "/sign-in/sessions/end/", _NEVER),
        ),
    ),
    Route(
        "sign-in/confirm/",
        "A form for one's own password, or a passkey of one's own. A wrong one is recorded.",
        (
            Ask("GET", "/sign-in/confirm/", _SIGNED_IN),
            Ask("POST", "/sign-in/confirm/", "302 " + " ".join(["200*"] * 8), {"password": "wrong"}, "password change refused"),
        ),
    ),
    Route(
        "invitation/<uuid:invitation_id>/<slug:token>/",
        "Whoever holds a link that staff made, and is not signed in: a form for an account of their own, and the name of who invited them.",
        (
            Ask("GET", "/invitation/{nothing}/x/", _NOT_THERE),
            Ask("POST", "/invitation/{invitation}/x/", _NOT_THERE, {"username": "new"}),
            Ask("GET", "/invitation/{invitation}/{invitation_token}/", "200 302 302 302 302 302 302 302 302"),
        ),
    ),
    Route(
        "password/",
        "A form for one's own password.",
        (
            Ask("GET", "/password/", _SIGNED_IN),
            Ask(
                "POST",
                "/password/",
                "302 " + " ".join(["200*"] * 8),
                {"old_password": "wrong"},
                "password change refused",
            ),
        ),
    ),
    Route(
        "password/forgotten/",
        "A form, where the operator has configured mail. It says the same whether or not there is such an account. Here it does not exist.",
        (Ask("GET", "/password/forgotten/", _NOT_THERE), Ask("POST", "/password/forgotten/", _NOT_THERE, {"account": "ada"})),
    ),
    Route(
        "password/link/<uuid:link_id>/<slug:token>/",
        "Whoever holds a link that staff made: a form for that account's new password, and its name.",
        (
            Ask("GET", "/password/link/{nothing}/x/", _NOT_THERE),
            Ask("POST", "/password/link/{password_link}/x/", _NOT_THERE, {"new_password1": "correct horse staple"}),
            Ask("GET", "/password/link/{password_link}/{password_token}/", _EVERYBODY),
        ),
    ),
    Route(
        "password/links/dismiss/",
        "A signed-in person has read of links for their password.",
        (Ask("POST", "/password/links/dismiss/", _SIGNED_IN.replace("200", "302")), Ask("GET", "/password/links/dismiss/", _NEVER)),
    ),
    Route(
        "language/",
        "Everybody: keeps a choice of language, which nobody else sees. Leads back to a page of the product.",
        (
            Ask("POST", "/language/", "302 " * 8 + "302", {"language": "de", "next": "/pages/help/"}),
            Ask("POST", "/language/", "400 " * 8 + "400", {"language": "no-such"}),
            Ask("GET", "/language/", _NEVER),
        ),
    ),
    Route(
        "pages/<slug:name>/",
        "Everybody: the operator's pages of a fixed list.",
        (Ask("GET", "/pages/help/", _EVERYBODY), Ask("GET", "/pages/terms/", _EVERYBODY), Ask("GET", "/pages/welcome/", _NOT_THERE)),
    ),
    Route(
        "brand/<slug:digest>/<str:file>",
        "Everybody: the operator's mark and colours. Without them there is nothing.",
        (Ask("GET", "/brand/x/site.css", _NOT_THERE), Ask("GET", "/brand/x/mark.svg", _NOT_THERE)),
    ),
    Route(
        "keys/",
        "A signed-in person: what their own keys are for, without the keys. A new key needs a confirmation first.",
        (
            Ask("GET", "/keys/", _SIGNED_IN),
            Ask(
                "POST",
                "/keys/",
                " ".join(["302"] * 9),
                {"name": "A script", "formats": "responses", "lasts": "30", "per_minute": "60"},
            ),
        ),
    ),
    Route(
        "keys/<uuid:key_id>/revoke/",
        "The owner takes a key back. Everybody else: nothing, not even that it exists.",
        (
            Ask("POST", "/keys/{api_key}/revoke/", "302 302* 404 404 404 404 404 404 404", action="revoke API key"),
            Ask("POST", "/keys/{nothing}/revoke/", _NOBODY),
            Ask("GET", "/keys/{api_key}/revoke/", _NEVER),
        ),
    ),
    Route(
        "keys/api/",
        "A signed-in person: what the API serves. The same for all.",
        (Ask("GET", "/keys/api/", _SIGNED_IN), Ask("POST", "/keys/api/", _NEVER)),
    ),
    Route(
        "usage/",
        "A signed-in person: how much they have used themselves, in numbers, and what they may use.",
        (Ask("GET", "/usage/", _SIGNED_IN), Ask("POST", "/usage/", _NEVER)),
    ),
    Route(
        "usage/everybody/",
        "Those with the permission: who has used how much, in numbers. Others: nothing, not even that there is such a page.",
        (
            Ask("GET", "/usage/everybody/", _USAGE),
            Ask("GET", "/usage/everybody/?by=group&since=2026-01-01&until=2026-02-01", _USAGE),
            Ask("GET", "/usage/everybody/?since=never", _USAGE.replace("200", "400")),
            Ask("POST", "/usage/everybody/", _NEVER),
        ),
    ),
    Route(
        "usage/everybody/file/",
        "Those with the permission: the same as a file. Recorded.",
        (
            Ask("POST", "/usage/everybody/file/", _USAGE.replace("200", "200*"), action="usage export"),
            Ask("POST", "/usage/everybody/file/", _USAGE.replace("200", "400"), {"since": "never"}),
            Ask("GET", "/usage/everybody/file/", _NEVER),
        ),
    ),
    Route(
        "v1/openapi.json",
        "Everybody: what the API serves, as OpenAPI. The same for all.",
        (Ask("GET", "/v1/openapi.json", _EVERYBODY),),
    ),
    Route(
        "v1/responses/compact",
        "Whoever holds a key: notes of the model's on what was sent, sealed.",
        (Ask("POST", "/v1/responses/compact", _BY_KEY),),
    ),
    Route(
        "v1/models",
        "Whoever holds a key: the models that it may ask for. A session counts for nothing.",
        (Ask("GET", "/v1/models", _BY_KEY),),
    ),
    Route(
        "v1/models/<path:model_id>",
        "Whoever holds a key: one of the models that it may ask for.",
        (Ask("GET", "/v1/models/demo", _BY_KEY),),
    ),
    Route(
        "v1/responses",
        "Whoever holds a key: an answer, with what has passed the gate for programs.",
        (Ask("POST", "/v1/responses", _BY_KEY),),
    ),
    Route(
        "v1/responses/<slug:answer_id>",
        "Whoever holds a key of the person's in whose name an answer was given: what has passed the gate of it; deletes it.",
        (
            Ask("GET", "/v1/responses/{api_answer}", _BY_KEY),
            Ask("DELETE", "/v1/responses/{api_answer}", _BY_KEY),
            Ask("GET", "/v1/responses/{turn}", _BY_KEY),
        ),
    ),
    Route(
        "v1/responses/<slug:answer_id>/cancel",
        "The same: stops it.",
        (Ask("POST", "/v1/responses/{api_answer}/cancel", _BY_KEY),),
    ),
    Route(
        "v1/responses/<slug:answer_id>/input_items",
        "The same: what was said before it, as far as it has passed the gate.",
        (Ask("GET", "/v1/responses/{api_answer}/input_items", _BY_KEY),),
    ),
    Route(
        "v1/chat/completions",
        "Whoever holds a key: an answer, with what has passed the gate for programs.",
        (Ask("POST", "/v1/chat/completions", _BY_KEY),),
    ),
    Route(
        "files/<uuid:file_id>/",
        "The owner: a file in a conversation of theirs that is not in the bin. Everybody else: nothing, not even that it exists.",
        (
            Ask("GET", "/files/{file}/", _OWNER_ONLY),
            Ask("GET", "/files/{deleted_file}/", _NOBODY),
            Ask("GET", "/files/{waiting_file}/", _OWNER_ONLY),
            Ask("GET", "/files/{nothing}/", _NOBODY),
            Ask("POST", "/files/{file}/", _NEVER),
        ),
    ),
    *(
        Route(
            f"scim/v2/{at}", f"Whoever holds a directory's token: {shows} No session opens it.", (Ask("GET", f"/scim/v2/{path}", _BY_KEY),)
        )
        for at, path, shows in (
            ("ServiceProviderConfig", "ServiceProviderConfig", "what this server can do."),
            ("ResourceTypes", "ResourceTypes", "which resources there are."),
            ("ResourceTypes/<str:key>", "ResourceTypes/User", "one of them."),
            ("Schemas", "Schemas", "their fields."),
            ("Schemas/<str:key>", "Schemas/x", "one of them."),
            ("Users", "Users", "accounts that the directory itself has told of; tells of more."),
            ("Users/<str:key>", "Users/{nothing}", "one of them; changes and closes it, recorded."),
            ("Groups", "Groups", "groups that the directory itself has told of; tells of more."),
            ("Groups/<str:key>", "Groups/{nothing}", "one of them, with its members; changes them, recorded."),
            ("<path:rest>", "Me", "that there is nothing."),
        )
    ),
    Route(
        "files/",
        "Whoever is signed in: brings a file, which is theirs alone until they send it, and is told which of theirs wait at a message box "
        "of their own. Nothing of others.",
        (
            Ask("POST", "/files/", _SIGNED_IN),
            Ask("GET", "/files/", _SIGNED_IN),
            Ask("GET", "/files/?conversation={conversation}", _OWNER_ONLY),
            Ask("GET", "/files/?conversation={deleted}", _NOBODY),
            Ask("POST", "/files/?conversation={nothing}", _NOBODY),
        ),
    ),
    Route(
        "documents/<uuid:file_id>/<int:number>/",
        "The owner: a passage of a file that they brought, with what stands around it. Everybody else: nothing.",
        (
            Ask("GET", "/documents/{waiting_file}/1/", _OWNER_ONLY),
            Ask("GET", "/documents/{waiting_file}/2/", _NOBODY),
            Ask("GET", "/documents/{waiting_file}/99999999999999999999/", _NOBODY),
            Ask("GET", "/documents/{file}/1/", _NOBODY),
            Ask("GET", "/documents/{deleted_file}/1/", _NOBODY),
            Ask("GET", "/documents/{nothing}/1/", _NOBODY),
            Ask("POST", "/documents/{waiting_file}/1/", _NEVER),
        ),
    ),
    Route(
        "files/<uuid:file_id>/text/",
        "The owner: what was read of a file that they brought, sent or not. Everybody else: nothing.",
        (
            Ask("GET", "/files/{waiting_file}/text/", _OWNER_ONLY),
            Ask("GET", "/files/{file}/text/", _NOBODY),
            Ask("GET", "/files/{deleted_file}/text/", _NOBODY),
            Ask("GET", "/files/{nothing}/text/", _NOBODY),
            Ask("POST", "/files/{waiting_file}/text/", _NEVER),
        ),
    ),
    Route(
        "files/earlier/",
        "Whoever is signed in: names, sizes and days of the files that they have sent, but for temporary conversations and the bin. "
        "Nothing of others.",
        (
            Ask("GET", "/files/earlier/", _SIGNED_IN),
            Ask("GET", "/files/earlier/?q=visible", _SIGNED_IN),
            Ask("POST", "/files/earlier/", _NEVER),
        ),
    ),
    Route(
        "files/<uuid:file_id>/again/",
        "The owner: lets a file that they have sent wait at a message box of theirs once more. Everybody else: nothing.",
        (
            Ask("POST", "/files/{sent_file}/again/", _OWNER_ONLY),
            Ask("POST", "/files/{sent_file}/again/?conversation={conversation}", _OWNER_ONLY),
            Ask("POST", "/files/{sent_file}/again/?conversation={deleted}", _NOBODY),
            Ask("POST", "/files/{sent_file}/again/?conversation={nothing}", _NOBODY),
            Ask("POST", "/files/{waiting_file}/again/", _NOBODY),
            Ask("POST", "/files/{deleted_document}/again/", _NOBODY),
            Ask("POST", "/files/{nothing}/again/", _NOBODY),
            Ask("GET", "/files/{sent_file}/again/", _NEVER),
        ),
    ),
    Route(
        "files/<uuid:file_id>/delete/",
        "The owner: deletes a file that they brought, with what was read of it, wherever it was sent. Everybody else: nothing.",
        (
            Ask("POST", "/files/{waiting_file}/delete/", _OWNER_ONLY),
            Ask("POST", "/files/{deleted_file}/delete/", _NOBODY),
            Ask("POST", "/files/{nothing}/delete/", _NOBODY),
            Ask("GET", "/files/{waiting_file}/delete/", _NEVER),
        ),
    ),
    Route(
        "diagram/",
        "Everybody: an empty sandbox that draws what the page around it sends. The same for all.",
        (Ask("GET", "/diagram/", _EVERYBODY), Ask("POST", "/diagram/", _NEVER)),
    ),
    Route(
        "manifest.webmanifest",
        "Everybody: the operator's name, mark and colour. The same for all.",
        (Ask("GET", "/manifest.webmanifest", _EVERYBODY), Ask("POST", "/manifest.webmanifest", _NEVER)),
    ),
    Route(
        "sw.js",
        "Everybody: the script of the service worker, with addresses of static files. The same for all.",
        (Ask("GET", "/sw.js", _EVERYBODY), Ask("POST", "/sw.js", _NEVER)),
    ),
    Route(
        "offline/",
        "Everybody: a page that says that there is no connection, and names nobody. The same for all.",
        (Ask("GET", "/offline/", _EVERYBODY), Ask("POST", "/offline/", _NEVER)),
    ),
    Route(
        "shortcuts/",
        "Whoever is signed in: the list of keyboard shortcuts, the same for all.",
        (Ask("GET", "/shortcuts/", _SIGNED_IN), Ask("POST", "/shortcuts/", _NEVER)),
    ),
    Route(
        "ws/", "Everybody: that there is no page; or that the site is not set up for the page's socket.", (Ask("GET", "/ws/", _NOT_THERE),)
    ),
    Route("healthz", "Everybody: that it lives.", (Ask("GET", "/healthz", _EVERYBODY),)),
    Route("readyz", "Everybody: whether what it needs is there, in a word for each.", (Ask("GET", "/readyz", _EVERYBODY),)),
)


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
