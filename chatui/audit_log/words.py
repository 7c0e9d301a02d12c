"""The audit log in the language of a page. A line is recorded in English and stays so, in the table, in exports and on the command line.

An action is its own code: a page shows its translation. A detail is a list of clauses, and most of them follow one of a few patterns; what
follows none is text that somebody entered, or a name, and is shown as it is.
"""

from __future__ import annotations

import re
from functools import cache

from django.utils.translation import get_language, gettext, pgettext

from chatui.site.languages import SOURCE

CONTEXT = "audit log"
"""The context of all of these words in the catalogues."""

ACTIONS = (
    "API key refused",
    "account changed",
    "account closed",
    "account created",
    "account deleted",
    "account erased",
    "account not changed",
    "account not closed",
    "account reopened",
    "acknowledge warning",
    "approve debug view",
    "ask for debug view",
    "asked for raw reasoning",
    "assistant not offered any more",
    "assistant offered",
    "audit export",
    "backup ended",
    "backup made",
    "backup restored",
    "canary run",
    "close debug view",
    "collection not offered any more",
    "collection offered",
    "confirmed tools taken over",
    "conversations handed over",
    "database moved",
    "debug comparison",
    "debug page",
    "debug prompt",
    "debug raw frame",
    "debug raw text",
    "debug stream",
    "debug tokens",
    "debug view ended",
    "decline debug view",
    "delete all conversations",
    "directory group",
    "directory token refused",
    "empty the bin",
    "end session",
    "file download",
    "files of a question",
    "first account",
    "form without token",
    "further attempts not listed",
    "group changed",
    "group created",
    "group deleted",
    "group not changed",
    "groups not said",
    "heir chosen",
    "heir not chosen any more",
    "identity connected",
    "identity removed",
    "keys and links work again",
    "link to message",
    "machine key replaced",
    "mail password link",
    "make API key",
    "make API key for an account",
    "make directory token",
    "make invitation",
    "make password link",
    "make share link",
    "message text",
    "model price changed",
    "model price created",
    "model price deleted",
    "model server changed",
    "model server confirmed",
    "model server created",
    "model server deleted",
    "model server examined",
    "model server not confirmed",
    "model server tested",
    "not admitted any more",
    "offered assistant changed",
    "offered collection changed",
    "offered prompt changed",
    "one-time codes switched off",
    "open branch",
    "open debug view",
    "passkey added",
    "passkey not added",
    "passkey removed",
    "passkey renamed",
    "password change refused",
    "prompt download",
    "prompt not offered to group any more",
    "prompt offered to group",
    "rate an answer",
    "ratings export",
    "ratings export with hidden channels",
    "raw reasoning to program",
    "recovery code used",
    "recovery codes made",
    "retention run",
    "retention run ended",
    "revoke API key",
    "revoke API key with the account",
    "revoke API key with the password",
    "revoke directory token",
    "revoke invitation",
    "revoke share link",
    "revoke somebody's API key",
    "search conversations",
    "second factor removed",
    "second factor set up",
    "sign in",
    "sign out",
    "sign-in refused",
    "signed out by provider",
    "tool call decided",
    "tool confirmation withdrawn",
    "tool confirmed",
    "tool server account connected",
    "tool server account disconnected",
    "tool server account not connected",
    "tool server changed",
    "tool server connected",
    "tool server removed",
    "tool server resource attached",
    "tool server sign-in ended",
    "tool setting changed",
    "two accounts for one person",
    "usage export",
    "usage limit changed",
    "usage limit created",
    "usage limit deleted",
    "use invitation",
    "use password link",
    "versions of an answer",
    "whole download",
)
"""What lines record, but for those of Django's administration, which are named after tables."""

WAYS = (
    *("page", "socket", "download", "program", "admin", "shell", "server", "office"),
    *("another site's link", "another site's page", "prefetch", "reconnect"),
)

DETAILS = (
    "%(count)s conversations",
    "%(count)s into the bin",
    "%(minutes)s min: %(reason)s",
    "%(minutes)s min, approved by %(person)s: %(reason)s",
    "address %(value)s",
    "after a change by %(person)s: %(value)s",
    "all %(count)s, by staff",
    "all lines",
    "all others of their own",
    "and %(count)s more",
    "approved by %(person)s",
    "assistant %(name)s",
    "by another program",
    "collection %(name)s",
    "confirmed",
    "conversations deleted before %(value)s: %(count)s",
    "conversations: %(count)s, temporary chats: %(chats)s, sessions: %(sessions)s, closed accounts: %(accounts)s",
    "hidden text stored before %(value)s",
    "%(seconds)s s",
    "context tokens %(value)s",
    "default for new conversations %(value)s",
    "display name %(value)s",
    "enabled %(value)s",
    "for %(days)s days, no group",
    "for %(days)s days, group %(group)s",
    "for %(person)s",
    "from another network",
    "groups %(value)s",
    "has another e-mail address now",
    "has the name %(name)s now",
    "idle seconds %(value)s",
    "joined group %(group)s",
    "key stored for %(value)s",
    "left group %(group)s",
    "made by %(person)s",
    "made by %(person)s, no group",
    "made by %(person)s, group %(group)s",
    "max answer tokens %(value)s",
    "may not any more: %(value)s",
    "may now: %(value)s",
    "models %(value)s",
    "nothing was shown",
    "of their own",
    "offered to nobody until somebody who may see hidden channels confirms it",
    "other settings %(value)s",
    "position %(value)s",
    "reasoning effort %(value)s",
    "summaries %(value)s",
    "summarizer %(value)s",
    "waits for confirmation",
    "wire format %(value)s",
    "with the first sign-in by %(provider)s",
    "wrong old password",
    "had to wait",
    "no such token",
    "address is now %(value)s",
    "default for new conversations is now %(value)s",
    "asks before each call is now %(value)s",
    "reads private data is now %(value)s",
    "sends something out is now %(value)s",
    "search engine is now %(value)s",
    "tools is now %(value)s",
    "resources is now %(value)s",
    "display name is now %(value)s",
    "enabled is now %(value)s",
    "sign-in per person is now %(value)s",
    "groups is now %(value)s",
    "key is now %(value)s",
    "models is now %(value)s",
    "name is now %(value)s",
    "other settings is now %(value)s",
    "position is now %(value)s",
    "reasoning effort is now %(value)s",
    "summaries is now %(value)s",
    "summarizer is now %(value)s",
    "wire format is now %(value)s",
    "%(count)s sessions",
    "refused by the database: %(count)s",
    "%(count)s sessions ended, keys and share links rest",
    "%(name)s, account closed",
    "%(name)s, expired",
    "%(name)s, for %(days)s days",
    "%(name)s, rests until the owner signs in",
    "%(name)s, revoked",
    "%(name)s, without end",
    "%(name)s: always",
    "%(name)s: answered",
    "%(name)s: canceled",
    "%(name)s: declined",
    "%(name)s: never",
    "%(name)s: once",
    "%(said)s, before: %(why)s",
    "%(said)s, reads raw reasoning",
    "%(said)s, says %(provider)s",
    "%(said)s, says the directory of %(provider)s",
    "%(said)s, tools: %(value)s",
    "%(said)s, with documents",
    "admitted again",
    "attempts on %(day)s: %(count)s",
    "begins",
    "by %(provider)s: %(why)s",
    "by %(provider)s; they stay",
    "by staff",
    "by staff: %(why)s",
    "by the account's owner",
    "by the directory",
    "by the directory of %(provider)s",
    "by the operator",
    "by the sign-in service",
    "deleted: %(name)s, by %(provider)s",
    "encrypted",
    "ends: %(value)s, %(count)s findings",
    "for %(days)s days",
    "from SQLite to PostgreSQL",
    "had to wait with the code",
    "has a new password, set by staff",
    "has no verified e-mail address now",
    "is active now",
    "is called %(name)s now",
    "is not active any more",
    "is not staff any more",
    "is not superuser any more",
    "is staff now",
    "is superuser now",
    "is the one that the directory of %(provider)s means now",
    "made: %(name)s, by %(provider)s",
    "members: %(count)s",
    "needs a second factor now",
    "needs no second factor any more",
    "no account, and sign-up is off",
    "no such account",
    "no verified address in an admitted domain",
    "not encrypted",
    "not in an admitted group",
    "nothing: %(value)s",
    "of %(provider)s",
    "of %(provider)s, which is not configured",
    "only the password opens this account",
    "passkey: %(why)s",
    "says %(provider)s",
    "says %(provider)s: %(why)s",
    "says the directory of %(provider)s",
    "says the directory of %(provider)s: %(why)s",
    "the account is not active",
    "the directory of %(provider)s means this account and %(person)s",
    "the identity is already linked",
    "the invitation is no longer valid",
    "the old password does not work any more",
    "to %(person)s",
    "without end",
    "wrong code",
    "wrong password",
)
"""The patterns of clauses of details. What stands for a name is a value of the line, but ``said`` and ``why`` are clauses themselves."""


def action_in_words(action: str) -> str:
    return pgettext(CONTEXT, action) if action in ACTIONS else action


def way_in_words(way: str) -> str:
    return pgettext(CONTEXT, way) if way in WAYS else way


def detail_in_words(detail: str) -> str:
    """Each clause that follows a pattern in the language of the page, the others as they are."""
    whole = _in_words(detail)
    return whole if whole is not None else "; ".join(_in_words(clause) or clause for clause in detail.split("; "))


def _in_words(clause: str) -> str | None:
    for pattern, template in _patterns():
        if found := pattern.fullmatch(clause):
            # The reason of a debug view may contain anything, so the longest part comes last in each pattern.
            return pgettext(CONTEXT, template) % {name: _value(name, found[name]) for name in pattern.groupindex}
    return None


def _value(name: str, value: str) -> str:
    if name in ("said", "why"):
        return _in_words(value) or value
    return _VALUES[value]() if value in _VALUES else value


_VALUES = {
    "everybody": lambda: gettext("Everybody"),
    "empty": lambda: gettext("empty"),
    "True": lambda: pgettext("a setting", "yes"),
    "False": lambda: pgettext("a setting", "no"),
}


def counts_in_words(counts: str) -> str:
    """The counts of repetitions after a line (``aggregation.counts_in_words``)."""
    if get_language() == SOURCE:
        return counts  # views are called shorter there than their actions are
    found = _COUNTS.fullmatch(counts)
    if found is None:
        return detail_in_words(counts)
    parts = [_count_in_words(each) for each in found["counts"].split(", ")]
    if found["networks"]:
        template = _MORE_NETWORKS if found["more"] else _NETWORKS
        parts.append(pgettext(CONTEXT, template) % {"count": found["networks"]})
    words = ", ".join([*parts, pgettext(CONTEXT, _LAST) % {"at": found["at"]}])
    return pgettext(CONTEXT, _SO_FAR) % {"counts": words} if found["begun"] else words


COUNTS = ("%(count)s more", "%(count)s more on other conversations")
_NETWORKS, _MORE_NETWORKS = "from %(count)s networks", "from %(count)s or more networks"
_LAST, _SO_FAR = "last %(at)s", "so far %(counts)s"
ALL = (*ACTIONS, *WAYS, *DETAILS, *COUNTS, _NETWORKS, _MORE_NETWORKS, _LAST, _SO_FAR)
"""Everything that is translated, which ``make messages`` reads."""
_COUNTS = re.compile(r"(?P<begun>so far )?(?P<counts>.+?)(?:; from (?P<networks>\d+)(?P<more> or more)? networks)?; last (?P<at>[\d :-]+)")


def _count_in_words(words: str) -> str:
    count, _, what = words.partition(" ")
    if what.startswith("× "):
        action = what.removeprefix("× ")
        return f"{count} × {action_in_words(f'debug {action}' if f'debug {action}' in ACTIONS else action)}"
    template = f"%(count)s {what}"
    return pgettext(CONTEXT, template) % {"count": count} if template in COUNTS else words


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    parts = ((template, re.split(r"%\((\w+)\)s", template)) for template in DETAILS)
    # What says more of its own comes first: "address is now …" is not an address.
    ordered = sorted(parts, key=lambda part: -len("".join(part[1][::2])))
    return tuple((_pattern(pieces), template) for template, pieces in ordered)


def _pattern(pieces: list[str]) -> re.Pattern[str]:
    """Alternately text and the name of a value. A value other than the last one has no separator of clauses in it."""
    text = "".join(re.escape(piece) if at % 2 == 0 else rf"(?P<{piece}>{_ANY[piece]})" for at, piece in enumerate(pieces))
    return re.compile(text)


_ANY = {
    **dict.fromkeys(("count", "days", "minutes", "chats", "sessions", "accounts"), r"\d+"),
    "seconds": r"[\d.]+",
    **dict.fromkeys(("person", "provider"), r"[^;,:]+"),
    **dict.fromkeys(("group", "name", "value", "said", "why"), r"[^;]+"),
    "day": r"[\d-]+",
    "reason": r".+",
}
