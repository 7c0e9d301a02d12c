"""The administration pages about tools: the list, the switch of each, and the search engine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from chatui.display import tool_settings
from chatui.display.tool_settings import ListedTool
from chatui.limits import Throttle
from chatui.outbound.staff_addresses import STAFF_CHARS, staff_address_problem
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import AdminPart
from chatui.tools import rules, search_engines, stored
from chatui.tools.search_engines import ENGINES
from chatui.tools.stored import Wanted, WantedEngine
from chatui.tools.tool import ToolError
from chatui.web.guards import person_of, visitor_of
from chatui.web.manage.parts import RowsField, done, for_part, page

if TYPE_CHECKING:
    from chatui.models.tools import ToolSetting

_throttle = Throttle("search-tests", attempts=30, seconds=600)
_KEY_CHARS = 16_384
EVERYBODY, GROUPS = "everybody", "groups"


@for_part(AdminPart.TOOLS)
def tools(request: HttpRequest) -> HttpResponse:
    staff = person_of(request)
    context = {
        "tools": tool_settings.listed(),
        "may_change": administration.may_change_tools(staff),
        "may_connect": administration.may_connect_tools(staff),
        "may_choose_search": administration.may_choose_search(staff),
    }
    return page(request, AdminPart.TOOLS, "manage/tools.html", context)


class ToolForm(forms.Form):
    """What a tool is from now on: on or off, for whom, and what its calls need."""

    is_on = forms.BooleanField(label=pgettext_lazy("a tool", "On"), required=False)
    whom = forms.ChoiceField(
        label=_("For whom"),
        choices=[(EVERYBODY, _("Everybody")), (GROUPS, _("Only members of these groups"))],
        widget=forms.RadioSelect,
    )
    groups = RowsField(label=_("Groups"), queryset=Group.objects.none(), required=False, widget=forms.CheckboxSelectMultiple)
    needs_approval = forms.BooleanField(
        label=_("Ask the person before each call"),
        required=False,
        help_text=_("Without it, the model calls the tool as it likes. Only for tools that can do no harm."),
    )
    reads_private_data = forms.BooleanField(
        label=_("It can read data that not everybody may know"),
        required=False,
    )
    sends_outside = forms.BooleanField(
        label=_("It can send something out of your systems"),
        required=False,
        help_text=_("A tool that reads such data is never offered together with another one that sends something out."),
    )

    def __init__(self, row: ToolSetting, now: ListedTool, data: Any = None) -> None:
        initial = {
            # Whoever opens the page of a tool that is off came to switch it on.
            "is_on": row.is_on or row._state.adding or not now.is_on,
            "whom": GROUPS if row.is_for_groups else EVERYBODY,
            "groups": [] if row._state.adding else list(row.groups.all()),
            "needs_approval": row.needs_approval,
            "reads_private_data": now.reads_private_data,
            "sends_outside": now.sends_outside,
        }
        super().__init__(data, initial=initial, auto_id="tool-%s")
        fields: dict[str, Any] = self.fields
        if now.needs_person:
            del fields["needs_approval"]
        if groups := list(Group.objects.order_by("name").values_list("pk", "name")):
            fields["groups"].queryset, fields["groups"].choices = Group.objects.all(), groups
        else:
            del fields["groups"], fields["whom"]

    def clean(self) -> dict[str, Any]:
        entered: dict[str, Any] = super().clean() or self.cleaned_data
        if entered.get("whom") == GROUPS and not entered.get("groups"):
            self.add_error("groups", gettext("Choose at least one group."))
        return entered

    def wanted(self, now: ListedTool) -> Wanted:
        """What was entered. Facts that are as they were stay with the tool's author, so that they follow the author."""
        entered = self.cleaned_data
        facts = entered["reads_private_data"], entered["sends_outside"]
        is_said = facts != (now.reads_private_data, now.sends_outside)
        groups = entered["groups"] if entered.get("whom") == GROUPS else None
        return Wanted(entered["is_on"], groups, entered.get("needs_approval", False), facts if is_said else None)


@for_part(AdminPart.TOOLS, "GET", "POST")
def tool(request: HttpRequest, name: str) -> HttpResponse:
    """One tool, or those of a trained namespace together, such as the browser's."""
    parts, may_change = tool_settings.of_name(name), administration.may_change_tools(person_of(request))
    if not parts:
        raise NotFoundError
    now, row = parts[-1], stored.setting(name)
    form = None if now.is_from_file or name in rules.BY_OPERATOR or not may_change else ToolForm(row, now)
    if request.method == "POST":
        if not may_change or (form is None and not now.is_from_file):
            raise NotFoundError
        if "switch" in request.POST or form is None:
            is_on = request.POST.get("switch") == "on"
            stored.switch(visitor_of(request, "admin"), name, is_on=is_on)
            return done("tool-on" if is_on else "tool-off", now.title, "manage_tool", name)
        form = ToolForm(row, now, request.POST)
        if form.is_valid():
            stored.save(visitor_of(request, "admin"), name, _kept_facts(form.wanted(now), row))
            return done("tool-on" if form.cleaned_data["is_on"] else "tool-off", now.title, "manage_tools")
    context = {
        "tool": now,
        "parts": parts,
        "name": name,
        "form": form,
        "may_change": may_change,
        "is_by_operator": name in rules.BY_OPERATOR,
    }
    return page(request, AdminPart.TOOLS, "manage/tool.html", context, 400 if form and form.errors else 200)


def _kept_facts(wanted: Wanted, row: ToolSetting) -> Wanted:
    """Facts that staff stated before stay theirs if the form did not change them."""
    if wanted.facts is not None or row.reads_private_data is None or row.sends_outside is None:
        return wanted
    return Wanted(wanted.is_on, wanted.groups, wanted.needs_approval, (row.reads_private_data, row.sends_outside))


class SearchForm(forms.Form):
    """The search engine, with its address or its key. A stored key is never in the form."""

    engine = forms.ChoiceField(
        label=_("Search engine"), choices=[("", _("None")), *((name, each.name) for name, each in ENGINES.items())], required=False
    )
    address = forms.CharField(
        label=pgettext_lazy("of a server", "Address"),
        max_length=STAFF_CHARS,
        required=False,
        help_text=_("Required for SearXNG, such as https://search.example.org. For the others, only that of a proxy of yours."),
        widget=forms.TextInput({"spellcheck": "false", "autocapitalize": "off", "inputmode": "url"}),
    )
    key = forms.CharField(
        label=_("API key"),
        max_length=_KEY_CHARS,
        required=False,
        help_text=_("Required for all but SearXNG. It is stored encrypted, never shown again, and sent to no other address."),
        widget=forms.PasswordInput({"autocomplete": "off"}),
    )

    def __init__(self, row: ToolSetting, data: Any = None) -> None:
        super().__init__(data, initial={"engine": row.engine or next(iter(ENGINES)), "address": row.address}, auto_id="search-%s")
        self._row = row

    def clean(self) -> dict[str, Any]:
        entered: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors or not entered["engine"]:
            return entered
        engine, address = ENGINES[entered["engine"]], entered["address"].strip()
        entered["address"] = address
        if address and (problem := staff_address_problem(address)):
            self.add_error("address", gettext("This address cannot be used (%(problem)s).") % {"problem": problem})
        elif not address and not engine.url:
            self.add_error("address", gettext("This search engine needs an address."))
        has_key = entered["key"] or stored.has_key(self._row, entered["engine"], address)
        if engine.needs_key and not has_key:
            self.add_error("key", gettext("This search engine needs a key."))
        return entered

    def wanted(self) -> WantedEngine | None:
        entered = self.cleaned_data
        return WantedEngine(entered["engine"], entered["address"], entered["key"] or None) if entered["engine"] else None


@for_part(AdminPart.TOOLS, "GET", "POST", may=administration.may_choose_search)
def search(request: HttpRequest) -> HttpResponse:
    """The search engine: choose one, and see whether it answers."""
    used, row = search_engines.chosen(), stored.setting(rules.SEARCH)
    is_from_file = used is not None and used.is_from_file
    form = None if is_from_file else SearchForm(row)
    test_result: dict[str, object] = {}
    if request.method == "POST" and "test" in request.POST:
        test_result = _tested(request)
    elif request.method == "POST":
        if is_from_file:
            raise NotFoundError
        form = SearchForm(row, request.POST)
        if form.is_valid():
            try:
                stored.save_engine(visitor_of(request, "admin"), form.wanted())
            except ValueError as error:
                form.add_error("key", gettext("This key cannot be used: %(reason)s.") % {"reason": error})
            else:
                chosen = form.cleaned_data["engine"]
                return done("search-saved" if chosen else "search-off", ENGINES[chosen].name if chosen else "", "manage_tool_search")
    context = {
        "form": form,
        "used": used.engine.name if used else "",
        "is_from_file": is_from_file,
        "has_key": bool(row.sealed_key),
        "browser": "browser" in rules.rules(),
        **test_result,
    }
    return page(request, AdminPart.TOOLS, "manage/tool_search.html", context, 400 if form and form.errors else 200)


def _tested(request: HttpRequest) -> dict[str, object]:
    """Search for one fixed word, which nobody wrote."""
    _throttle.check(str(person_of(request).pk))
    try:
        found = asyncio.run(search_engines.search("Wikipedia", 5))
    except ToolError:
        return {"problem": gettext("The search engine does not answer as it should. The log says why.")}
    if not found:
        return {"problem": gettext("The search engine answers, but finds nothing.")}
    return {"passed": len(found)}
