"""The administration pages about servers with tools: their connections, the choice of their tools, and the confirmation of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from chatui.limits import Throttle
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError, existing
from chatui.permissions.administration import AdminPart
from chatui.web.guards import person_of, visitor_of
from chatui.web.manage.parts import RowsField, done, for_part, page
from chatui.web.manage.tools import EVERYBODY, GROUPS

if TYPE_CHECKING:
    from chatui.audit_log.record import Visitor
    from chatui.models.tools import StoredToolServer

_reviews = Throttle("tool-reviews", attempts=60, seconds=600)
_KEY_CHARS = 16_384


class ToolServerForm(forms.Form):
    """Where a tool server is, and its key, which is never in the form that is sent back."""

    name = forms.CharField(
        label=_("Name"),
        max_length=20,
        help_text=_("Small letters and digits. It begins the names of the tools, and people see it."),
        widget=forms.TextInput({"spellcheck": "false", "autocapitalize": "off"}),
    )
    url = forms.CharField(
        label=pgettext_lazy("of a server", "Address"),
        max_length=300,
        help_text=_("Of an MCP server, such as https://tools.example.org/mcp."),
        widget=forms.TextInput({"spellcheck": "false", "autocapitalize": "off", "inputmode": "url"}),
    )
    key = forms.CharField(
        label=_("Key"),
        max_length=_KEY_CHARS,
        required=False,
        help_text=_("Empty if the server needs none. It is stored encrypted, never shown again, and sent to no other address."),
        widget=forms.PasswordInput({"autocomplete": "off"}),
    )
    header = forms.RegexField(
        regex=r"^[A-Za-z][A-Za-z0-9-]{0,99}\Z",
        label=_("Header of the key"),
        help_text=_("Most servers want Authorization; the word Bearer is added to a key without spaces."),
        widget=forms.TextInput({"spellcheck": "false", "autocapitalize": "off"}),
    )
    forgets_key = forms.BooleanField(label=_("Forget the stored key"), required=False)
    signs_in = forms.BooleanField(
        label=_("Each person signs in there as themselves (OAuth)"),
        required=False,
        help_text=_("Then no key is needed. The fields below stay empty, unless the service wants a client that was registered there."),
    )
    issuer = forms.CharField(
        label=_("Address of the sign-in service"),
        max_length=300,
        required=False,
        widget=forms.TextInput({"spellcheck": "false", "autocapitalize": "off", "inputmode": "url"}),
    )
    client_id = forms.CharField(
        label=_("Client"), max_length=500, required=False, widget=forms.TextInput({"spellcheck": "false", "autocapitalize": "off"})
    )
    secret = forms.CharField(
        label=_("Secret of the client"),
        max_length=_KEY_CHARS,
        required=False,
        help_text=_("Stored encrypted. Leave it empty to keep the one that is stored for this client."),
        widget=forms.PasswordInput({"autocomplete": "off"}),
    )

    def __init__(self, before: StoredToolServer | None, data: Any = None) -> None:
        initial: dict[str, Any] = {"header": "Authorization"}
        if before is not None:
            initial = {"name": before.name, "url": before.url, "header": before.header}
        if before is not None and (oauth := before.more.get("oauth")) is not None:
            initial |= {"signs_in": True, "issuer": oauth["issuer"], "client_id": oauth["client_id"]}
        super().__init__(data, initial=initial, auto_id="server-%s")
        self._before = before
        if before is not None:
            del self.fields["name"]
        if before is None or not before.sealed_key:
            del self.fields["forgets_key"]

    def wanted(self) -> Any:
        from chatui.tools.stored_servers import WantedServer, WantedSignIn

        entered = self.cleaned_data
        name = self._before.name if self._before else entered["name"]
        key, forgets = entered["key"].strip() or None, bool(entered.get("forgets_key"))
        client = entered["issuer"].strip(), entered["client_id"].strip(), entered["secret"].strip() or None
        return WantedServer(
            name, entered["url"].strip(), entered["header"], key, forgets, WantedSignIn(*client) if entered["signs_in"] else None
        )

    def clean(self) -> dict[str, Any]:
        from chatui.tools import stored_servers  # takes 1 MB, and most installations have no tool servers

        entered: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            for name, problem in stored_servers.problems(self.wanted(), self._before):
                self.add_error(name, problem)
        return entered


class ChoiceForm(forms.Form):
    """What else the choice of a server's tools says: whether its resources can be attached, and for whom those tools are that are chosen
    now, which each tool's page can change."""

    gives_resources = forms.BooleanField(
        label=_("People may attach its resources"),
        required=False,
        help_text=_(
            "Whoever is offered one of these tools can then read all that the server lists as resources, with the key that is stored here."
        ),
    )
    whom = forms.ChoiceField(
        label=_("For whom are tools that you add?"),
        choices=[(EVERYBODY, _("Everybody")), (GROUPS, _("Only members of these groups"))],
        initial=EVERYBODY,
        widget=forms.RadioSelect,
    )
    groups = RowsField(label=_("Groups"), queryset=Group.objects.none(), required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(self, row: StoredToolServer, data: Any = None) -> None:
        super().__init__(data, initial={"gives_resources": row.gives_resources}, auto_id="choice-%s")
        fields: dict[str, Any] = self.fields
        if groups := list(Group.objects.order_by("name").values_list("pk", "name")):
            fields["groups"].queryset, fields["groups"].choices = Group.objects.all(), groups
        else:
            del fields["groups"], fields["whom"]

    def clean(self) -> dict[str, Any]:
        entered: dict[str, Any] = super().clean() or self.cleaned_data
        if entered.get("whom") == GROUPS and not entered.get("groups"):
            self.add_error("groups", gettext("Choose at least one group."))
        return entered


@for_part(AdminPart.TOOLS, "GET", "POST", may=administration.may_connect_tools)
def connect(request: HttpRequest) -> HttpResponse:
    """Connect a server by its address."""
    from chatui.tools import stored_servers

    form = ToolServerForm(None, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            row = stored_servers.save(visitor_of(request, "admin"), form.wanted(), None)
        except stored_servers.ServerNameTakenError:
            form.add_error("name", gettext("There is already a tool server with this name."))
        else:
            return done("tool-server-connected", row.name, "manage_tool_server", row.name)
    return page(request, AdminPart.TOOLS, "manage/tool_server.html", {"form": form}, 400 if form.errors else 200)


@for_part(AdminPart.TOOLS, "GET", "POST", may=administration.may_connect_tools)
def server(request: HttpRequest, name: str) -> HttpResponse:
    """One connected server: the choice of its tools, its address and key, on or off, and its removal."""
    from chatui.tools import stored_servers

    row = existing(stored_servers.find_row(name))
    visitor, posted = visitor_of(request, "admin"), request.POST
    form, choice = ToolServerForm(row), ChoiceForm(row)
    if "remove" in posted:
        stored_servers.remove(visitor, row)
        return done("tool-server-removed", name, "manage_tools")
    if "switch" in posted:
        is_on = posted["switch"] == "on"
        stored_servers.switch(visitor, row, is_on=is_on)
        return done("tool-server-on" if is_on else "tool-server-off", name, "manage_tool_server", name)
    if "choose" in posted:
        choice = ChoiceForm(row, posted)
        if choice.is_valid():
            groups = choice.cleaned_data["groups"] if choice.cleaned_data.get("whom") == GROUPS else None
            gives = choice.cleaned_data["gives_resources"]
            stored_servers.select(visitor, row, posted.getlist("tool"), groups, gives_resources=gives)
            return done("tool-server-tools", name, "manage_tool_servers")
    elif request.method == "POST":
        form = ToolServerForm(row, posted)
        if form.is_valid():
            stored_servers.save(visitor, form.wanted(), row)
            return done("tool-server-saved", name, "manage_tool_server", name)
    _reviews.check(str(person_of(request).pk))
    tools, problem = _described(visitor, row)
    context = {"form": form, "choice": choice, "row": row, "tools": tools, "problem": problem, "has_key": bool(row.sealed_key)}
    context["may_sign_in"] = "oauth" in row.more and row.is_on and administration.may_confirm_tools(person_of(request))
    return page(request, AdminPart.TOOLS, "manage/tool_server.html", context, 400 if form.errors or choice.errors else 200)


def _described(visitor: Visitor, row: StoredToolServer) -> tuple[list[tuple[str, str, bool]], str]:
    """The tools that a server lists now, each with its description and whether it is chosen; and why it cannot be asked, in English."""
    from chatui.display import tool_reviews

    return tool_reviews.described(visitor, row)


@for_part(AdminPart.TOOLS, "GET", "POST")
def servers(request: HttpRequest) -> HttpResponse:
    """The tools of other servers: what each says to a model, and what has changed since it was confirmed."""
    from chatui.display import tool_reviews  # takes 1 MB, and most installations have no tool servers

    staff = person_of(request)
    may_confirm, problem = administration.may_confirm_tools(staff), ""
    _reviews.check(str(staff.pk))
    if request.method == "POST":
        if not may_confirm:
            raise NotFoundError
        visitor, name = visitor_of(request, "admin"), request.POST.get("withdraw", "")
        if name:
            if not tool_reviews.withdraw(visitor, name):
                raise NotFoundError
            return done("tool-withdrawn", name, "manage_tool_servers")
        confirmed, is_outdated = tool_reviews.confirm(visitor, request.POST.getlist("seen"))
        if confirmed and not is_outdated:
            return done("tools-confirmed", ", ".join(confirmed), "manage_tool_servers")
        problem = gettext("It is no longer what you saw. Read it again before you confirm it.")
    context = {"reviews": tool_reviews.read(visitor_of(request, "admin")), "may_confirm": may_confirm, "problem": problem}
    return page(request, AdminPart.TOOLS, "manage/tool_servers.html", context, 409 if problem else 200)
