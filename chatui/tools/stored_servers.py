"""The MCP servers that staff connected in Administration by their addresses: what is entered, stored and recorded.

Who may do this decides where models send what they write. So the address obeys the rules of ``staff_address_problem``, and what a server
offers reaches nobody until somebody who may see hidden channels confirmed it for this very address, key and header
(``rules.StoredServer.place``). Programs and servers in private networks stay in the operator's file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from pydantic import Field, ValidationError

from chatui import sealing
from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.models.tools import StoredToolServer, ToolSetting
from chatui.outbound.addresses import origin
from chatui.outbound.staff_addresses import staff_address_problem
from chatui.tools import rules, stored
from chatui.tools.remote.definition import MAX_TOOLS, CredentialSource, McpSpec, OAuthSpec, read_file
from chatui.tools.remote.offers import SERVER_NAME, Moment, ServerError, is_name, tool_name
from chatui.tools.rules import StoredServer

AUTHORIZATION = "Authorization"


class ServerNameTakenError(Exception):
    """There is already a tool server with this name."""


class SealedCredential(CredentialSource):
    """A credential that staff entered. ``bound``: what it was encrypted for."""

    sealed: str = Field(repr=False)
    bound: str

    def bare(self) -> str:
        found = sealing.unseal(self.sealed, self.bound.encode())
        if found is None:
            raise ServerError("its key can no longer be read: enter it again", Moment.NOT_RUN)
        return found.decode()


def spec_of(server: StoredServer) -> McpSpec:
    """The server as the operator's file would define it. Without selected tools it offers none."""
    headers: dict[str, CredentialSource] = {}
    if server.sealed_key:
        key = SealedCredential(sealed=server.sealed_key, bound=_bound(server.row, server.url))
        # A key alone is what most servers want as a bearer's.
        is_bare = server.header == AUTHORIZATION and " " not in key.bare()
        headers[server.header] = key.model_copy(update={"prefix": "Bearer "}) if is_bare else key
    spec = McpSpec(
        name=server.name,
        url=server.url,
        tools=list(server.selected) or ["-"],
        headers=headers,
        oauth=_oauth_of(server),
        resources=server.gives_resources,
    )
    return spec.at_place(server.place)


def _oauth_of(server: StoredServer) -> OAuthSpec | None:
    entered: dict[str, str] | None = json.loads(server.more or "{}").get("oauth")
    if entered is None:
        return None
    sealed, issuer = entered.get("sealed_secret", ""), entered.get("issuer", "")
    secret = SealedCredential(sealed=sealed, bound=_bound(server.row, issuer)) if sealed else None
    return OAuthSpec(issuer=issuer, client_id=entered.get("client_id", ""), client_secret=secret)


def specs() -> list[McpSpec]:
    """The stored servers that are on, without those whose name the operator's file has, or whose key cannot be read."""
    taken = _names_of_file()
    found = []
    for server in rules.servers():
        if server.name not in taken:
            try:
                found.append(spec_of(server))
            except (ServerError, ValidationError):
                continue
    return found


def _names_of_file() -> set[str]:
    path = environment().tools_file
    return {spec.name for spec in read_file(path).servers} if path is not None else set()


def _bound(row: str, url: str) -> str:
    return f"key of a tool server, {row}, {origin(url)}"


@dataclass(frozen=True, slots=True)
class WantedSignIn:
    """That each person signs in there as themselves."""

    issuer: str = ""
    """Empty if the server says where."""
    client_id: str = ""
    """Empty if the installation registers itself."""
    secret: str | None = field(default=None, repr=False)
    """A new one; None keeps the stored one, if issuer and client are the same."""


@dataclass(frozen=True, slots=True)
class WantedServer:
    """What was entered."""

    name: str
    url: str
    header: str = AUTHORIZATION
    key: str | None = field(default=None, repr=False)
    """A new one; None keeps the stored one, if the address has the same origin."""
    forgets_key: bool = False
    sign_in: WantedSignIn | None = None
    """How each person signs in; None if all people use the server with the same key, or without one."""


def problems(wanted: WantedServer, before: StoredToolServer | None) -> list[tuple[str, str]]:
    """The field and a sentence for each mistake."""
    found = []
    others = StoredToolServer.objects.exclude(pk=before.pk) if before else StoredToolServer.objects.all()
    if not SERVER_NAME.fullmatch(wanted.name):
        found.append(("name", _("At most 20 small letters and digits, beginning with a letter.")))
    elif wanted.name in _names_of_file() or others.filter(name=wanted.name).exists():
        found.append(("name", _("There is already a tool server with this name.")))
    if (problem := staff_address_problem(wanted.url)) or (problem := _fault_of_path(wanted.url)):
        found.append(("url", _("This address cannot be used (%(problem)s).") % {"problem": problem}))
    if wanted.key is not None and not (wanted.key.isascii() and wanted.key.isprintable()):
        found.append(("key", _("This key cannot be used: %(reason)s.") % {"reason": _("it has characters that cannot be sent")}))
    return [*found, *(_problems_of_sign_in(wanted, wanted.sign_in) if wanted.sign_in else ())]


def _problems_of_sign_in(wanted: WantedServer, sign_in: WantedSignIn) -> Iterator[tuple[str, str]]:
    if wanted.key is not None and wanted.header == AUTHORIZATION:
        yield "key", _("Where each person signs in, there is no key for everybody in this header.")
    if sign_in.issuer and (problem := staff_address_problem(sign_in.issuer) or _fault_of_path(sign_in.issuer)):
        yield "issuer", _("This address cannot be used (%(problem)s).") % {"problem": problem}
    if sign_in.client_id and not sign_in.issuer:
        yield "issuer", _("A client needs the address of the service that knows it.")
    if sign_in.secret is not None and not sign_in.client_id:
        yield "client_id", _("A secret needs its client.")
    if sign_in.secret is not None and not (sign_in.secret.isascii() and sign_in.secret.isprintable()):
        yield "secret", _("This key cannot be used: %(reason)s.") % {"reason": _("it has characters that cannot be sent")}


def _more_of(row: StoredToolServer, sign_in: WantedSignIn | None) -> dict[str, Any]:
    """What is stored of a sign-in. Its secret is sealed for this row and the issuer, and kept for this client only."""
    if sign_in is None:
        return {}
    before = row.more.get("oauth") or {}
    oauth = {"issuer": sign_in.issuer, "client_id": sign_in.client_id}
    is_same = {name: before.get(name) for name in oauth} == oauth
    if sign_in.secret is not None:
        oauth["sealed_secret"] = sealing.seal(sign_in.secret.encode(), _bound(str(row.pk), sign_in.issuer).encode())
    elif is_same and before.get("sealed_secret"):
        oauth["sealed_secret"] = before["sealed_secret"]
    return {"oauth": oauth}


def _fault_of_path(url: str) -> str:
    try:
        McpSpec(name="a", url=url, tools=["-"])
    except ValidationError:
        return "has .. in its path"
    return ""


def save(visitor: Visitor, wanted: WantedServer, before: StoredToolServer | None) -> StoredToolServer:
    """Connect a server, or change one. With another address or key, its tools have to be confirmed again; with another address, their
    calls ask again, too.

    Raises:
        ServerNameTakenError: somebody has just connected another server of this name.
    """
    row = before or StoredToolServer()
    moved = before is not None and origin(row.url) != origin(wanted.url)
    changed = [] if before else ["created"]
    is_elsewhere = before is not None and row.url != wanted.url
    if is_elsewhere:
        changed.append(f"address is now {wanted.url}")
        if row.gives_resources:
            row.gives_resources = False
            changed.append("resources is now False")
    row.name, row.url, row.header = before.name if before else wanted.name, wanted.url, wanted.header
    if wanted.key is not None:
        row.sealed_key = sealing.seal(wanted.key.encode(), _bound(str(row.pk), row.url).encode())
        changed.append("key is now stored")
    elif row.sealed_key and (moved or wanted.forgets_key or (wanted.sign_in and wanted.header == AUTHORIZATION)):
        row.sealed_key = ""
        changed.append("key is now empty")
    more = _more_of(row, wanted.sign_in)
    if more != row.more:
        changed.append(f"sign-in per person is now {wanted.sign_in is not None}")
        row.more = more
    try:
        with transaction.atomic():
            row.save()
            if is_elsewhere:
                stored.distrust(visitor, _names(row))
            detail = "; ".join([f"address {row.url}", *changed[1:]] if before is None else changed)
            record("tool server connected" if before is None else "tool server changed", visitor, row.name, detail=detail)
            transaction.on_commit(rules.forget_rows)
    except IntegrityError:
        raise ServerNameTakenError from None
    return row


def select(
    visitor: Visitor, row: StoredToolServer, names: Sequence[str], groups: Collection[Group] | None, *, gives_resources: bool = False
) -> None:
    """Offer these tools of the server, by its names, once they are confirmed; those that are new for these groups (None: everybody).
    ``gives_resources``: whether people who are offered one of them may attach the server's resources."""
    names = list(dict.fromkeys(filter(is_name, names)))[:MAX_TOOLS]
    kept = [name for name in row.selected if name in names]
    before = _names(row)
    row.selected = kept + [name for name in names if name not in kept]
    ours = _names(row)
    changed = [f"tools is now {', '.join(row.selected) or 'empty'}"]
    if row.gives_resources != gives_resources:
        changed.append(f"resources is now {gives_resources}")
    row.gives_resources = gives_resources
    with transaction.atomic():
        row.save()
        stored.distrust(visitor, set(before) - set(ours))
        record("tool server changed", visitor, row.name, detail="; ".join(changed))
        known = set(ToolSetting.objects.filter(name__in=ours).values_list("name", flat=True))
        for name in ours:
            if name not in known:
                stored.save(visitor, name, stored.Wanted(is_on=True, groups=groups))
        transaction.on_commit(rules.forget_rows)


def _names(row: StoredToolServer) -> list[str]:
    """Our names of the server's selected tools."""
    ours: list[str] = []
    for name in row.selected:
        ours.append(tool_name(row.name, name, set(ours)))
    return ours


def switch(visitor: Visitor, row: StoredToolServer, *, is_on: bool) -> None:
    with transaction.atomic():
        row.is_on = is_on
        row.save()
        record("tool server changed", visitor, row.name, detail=f"enabled is now {is_on}")
        transaction.on_commit(rules.forget_rows)


def remove(visitor: Visitor, row: StoredToolServer) -> None:
    """Remove a server with its key. What was confirmed of it is confirmed of no other, and no other is trusted as it was."""
    with transaction.atomic():
        record("tool server removed", visitor, row.name, detail=row.url)
        stored.distrust(visitor, _names(row))
        row.delete()
        transaction.on_commit(rules.forget_rows)


def find_row(name: str) -> StoredToolServer | None:
    return StoredToolServer.objects.filter(name=name).first()
