"""The administration pages about model servers: the list, the one form that connects and changes them, and the examination of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from chatui.audit_log import words
from chatui.display import model_servers
from chatui.limits import Throttle
from chatui.model_servers import connected, stored
from chatui.model_servers.stored import Checked, Entered, FaultySettingsError
from chatui.operations.doctor import runs
from chatui.operations.doctor.examination import SECONDS
from chatui.operations.doctor.runs import BusyError, ServerTest
from chatui.permissions import access, administration
from chatui.permissions.access import NotFoundError, existing
from chatui.permissions.administration import AdminPart
from chatui.web.guards import person_of, visitor_of
from chatui.web.manage.parts import RowsField, done, for_part, page

if TYPE_CHECKING:
    from django.http import QueryDict

    from chatui.backends.spec import BackendSpec
    from chatui.models.model_servers import StoredBackend
    from chatui.models.user import User

_throttle = Throttle("examinations", attempts=30, seconds=600)
_KEY_CHARS = 16_384


class ModelServerForm(forms.Form):
    """The settings of a model server. ``checked`` are those of a valid form; a mistake is reported at its field.

    A key is never in the form that is sent back: a typed one is handed on sealed, in ``held``, and a stored one stays where it is. Such a
    form says that a key is held, and shows its field only once that is forgotten: what a form shows is what is used.
    """

    url = forms.CharField(
        label=pgettext_lazy("of a server", "Address"),
        max_length=300,
        required=False,
        help_text=_("Such as http://127.0.0.1:8080/v1. People never see it."),
        widget=forms.TextInput({"spellcheck": "false", "autocapitalize": "off", "inputmode": "url"}),
    )
    key = forms.CharField(
        label=_("API key"),
        max_length=_KEY_CHARS,
        required=False,
        help_text=_("Empty if the server needs none. It is stored encrypted, never shown again, and sent to no other address."),
        widget=forms.PasswordInput({"autocomplete": "off"}),
    )
    name = forms.CharField(
        label=_("Name"),
        max_length=60,
        required=False,
        help_text=_("Letters, digits, dots and hyphens; conversations remember it. Empty: proposed by the test."),
        widget=forms.TextInput({"spellcheck": "false", "autocapitalize": "off"}),
    )
    is_enabled = forms.BooleanField(label=_("Offer it to people"), required=False)
    is_default = forms.BooleanField(
        label=_("Default for new conversations"),
        required=False,
        help_text=_("Instead of the present one. Conversations that have begun stay with their model server."),
    )
    untested = forms.BooleanField(label=_("Offer it although no test of these settings has passed"), required=False)
    label = forms.CharField(
        label=_("Display name"),
        max_length=80,
        required=False,
        help_text=_("What people see instead of the model’s name, if the server has one model; of several, only where two read alike."),
    )
    position = forms.IntegerField(
        label=_("Position"),
        min_value=0,
        max_value=stored.MAX_POSITION,
        required=False,
        help_text=_("In lists, lower numbers come first."),
    )
    groups = RowsField(
        label=_("Groups"),
        queryset=Group.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Only members of these groups may use the model server. None selected: everybody."),
    )
    model_names = forms.CharField(
        label=_("Models"),
        required=False,
        widget=forms.Textarea({"rows": 3, "spellcheck": "false"}),
        help_text=_("One name per line, the default first. Empty: all models that the server lists."),
    )
    kind = forms.ChoiceField(
        label=_("Wire format"),
        choices=[(kind, kind) for kind in stored.KINDS],
        required=False,
        help_text=_("auto: chosen by examining the server. docs/back-ends/formats.md says which format suits which server."),
    )
    key_name = forms.CharField(
        label=_("Key name"),
        max_length=60,
        required=False,
        help_text=_(
            "Instead of a key above. For example ACME: the key is then in the variable CHATUI_KEY_ACME, or in the file keys/ACME in the "
            "data directory, together with the origin that it is for."
        ),
        widget=forms.TextInput({"spellcheck": "false"}),
    )
    effort = forms.ChoiceField(
        label=_("Reasoning effort"), choices=stored.EFFORTS, required=False, help_text=_("The default for new conversations.")
    )
    max_answer_tokens = forms.IntegerField(
        label=_("Maximum length of an answer, in tokens"),
        min_value=0,
        max_value=2**31 - 1,
        required=False,
        help_text=_("0: the value of CHATUI_MAX_ANSWER_TOKENS."),
    )
    context_tokens = forms.IntegerField(
        label=_("Context size, in tokens"),
        min_value=0,
        max_value=2**31 - 1,
        required=False,
        help_text=_("Question, conversation and answer together. 0: the server is asked, or the size is taken from its error message."),
    )
    first_token_seconds = forms.FloatField(label=_("Seconds for the first token"), required=False)
    idle_seconds = forms.FloatField(label=_("Seconds between two tokens"), required=False)
    overall_seconds = forms.FloatField(label=_("Seconds for the whole answer"), required=False)
    summaries = forms.ChoiceField(label=_("Source of summaries of the reasoning"), choices=stored.SUMMARIES, required=False)
    summarizer = forms.CharField(
        label=_("Summarizer"),
        max_length=260,
        required=False,
        help_text=_("The model server that is asked, such as small or small/model."),
    )
    other_settings = forms.CharField(
        label=_("Other settings"),
        max_length=8000,
        required=False,
        widget=forms.Textarea({"rows": 4, "spellcheck": "false"}),
        help_text=_("As in the file of model servers, one per line, such as: sampling = { temperature = 0.7 }"),
    )
    held = forms.CharField(max_length=2 * _KEY_CHARS, required=False, widget=forms.HiddenInput)
    proposed = forms.CharField(max_length=60, required=False, widget=forms.HiddenInput)
    proof = forms.CharField(max_length=500, required=False, widget=forms.HiddenInput)

    MAIN = ("url", "key", "name", "is_enabled", "is_default", "untested")

    def __init__(self, staff: User, before: StoredBackend | None, data: Any = None) -> None:
        """``before``: the model server that is changed; None for a new one."""
        self._defaults = stored.values_of(before)
        if before is None and not access.can_see_hidden(staff):
            self._defaults["is_default"] = False  # it is not for them to choose
        whole = {name: int(value) for name, value in self._defaults.items() if isinstance(value, float) and value.is_integer()}
        held = stored.STORED_KEY if stored.key_place(before) else ""
        if data is not None:
            data = data.copy()
            data["url"] = stored.put_right(data.get("url", ""))  # and so it is shown
        super().__init__(data, initial=self._defaults | whole | {"held": held}, auto_id="server-%s")
        self._staff, self._before = staff, before
        self.checked: Checked | None = None
        self.asks_about_test = False
        self.has_proposed_name = False
        fields: dict[str, Any] = self.fields
        if groups := list(Group.objects.order_by("name").values_list("pk", "name")):
            fields["groups"].queryset, fields["groups"].choices = Group.objects.all(), groups
        else:
            del fields["groups"]

    def clean(self) -> dict[str, Any]:
        """Check the settings as those of a file are, together with all other model servers."""
        entered: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return entered
        columns: dict[str, Any] = {name: entered[name] if entered[name] not in (None, "") else self._empty(name) for name in stored.COLUMNS}
        if not columns["name"] or ("test" in self.data and columns["name"] == entered["proposed"]):
            columns["name"], self.has_proposed_name = stored.proposed_name(), True
        settings = Entered(columns, list(entered.get("groups", ())), str(self._staff.pk), entered["key"], entered["held"])
        try:
            self.checked = stored.check(settings, self._before, may_see_hidden=access.can_see_hidden(self._staff))
        except FaultySettingsError as error:
            self.report(error)
        return entered

    def report(self, error: FaultySettingsError) -> None:
        for field, problem in error.problems:
            self.add_error(field or None, problem)

    def _empty(self, name: str) -> Any:
        """The value of a field that was left empty: numbers and choices keep theirs."""
        is_text = isinstance(self._defaults[name], str) and not isinstance(self.fields[name], forms.ChoiceField)
        return "" if is_text else self._defaults[name]

    def keep(self, test: ServerTest | None) -> None:
        """Put into the form that is sent back what the next press of a button needs: a key, and of a test the proof and a proposed name. A
        key that was refused is not held, unless it is stored."""
        values, data = self.cleaned_data, cast("QueryDict", self.data).copy()
        url, typed, held_before = (values.get(name, "") for name in ("url", "key", "held"))
        is_faulty = "key" in self.errors
        held = "" if is_faulty else stored.held_key(typed, held_before, url, str(self._staff.pk), self._before)
        if held_before and not typed and not held and not is_faulty:
            self["key"].help_text = left_behind()
        if test is not None:
            data["proof"] = test.proof
            if self.has_proposed_name:
                # What a failed test proposes would be proposed for another server, too.
                data["name"] = data["proposed"] = stored.proposed_name(*test.models[:1]) if test.has_passed else ""
            if test.is_key_refused:
                held = held if held == stored.STORED_KEY else ""
                self.fields["key"].widget.attrs["autofocus"] = True
        data["held"] = held
        self.data = data

    @property
    def held_for(self) -> str:
        """The origin of the address that the held key is for; empty if none is held, or the address has a mistake."""
        held = self["held"].value()
        return stored.key_place(self._before) if held == stored.STORED_KEY else stored.place_of(self["url"].value() or "") if held else ""

    @property
    def main(self) -> list[forms.BoundField]:
        """The fields that everybody needs."""
        return [self[name] for name in self.MAIN if name in self.fields and (name != "untested" or self.asks_about_test)]

    @property
    def more(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name not in self.MAIN]

    @property
    def has_problems_in_more(self) -> bool:
        """Whether the others must be open, so that a problem is seen."""
        return any(field.errors for field in self.more)


def left_behind() -> str:
    """The text at the field for the key, which is shown again when the address was changed while a key for the old one was held."""
    return gettext("The key that was held is for another address, and is not used for this one. If this server wants one, enter it here.")


@for_part(AdminPart.SERVERS, "GET", "POST")
def servers(request: HttpRequest) -> HttpResponse:
    """Each model server: whether it answers, its load, and its failures; and the form that connects another."""
    staff = person_of(request)
    may_add = administration.may_add_servers(staff)
    if request.method == "POST":
        if not may_add:
            raise NotFoundError
        return _entered(request, None)
    kept = model_servers.kept_servers()
    context = {
        "servers": model_servers.all_of_them(),
        "not_offered": [each for each in kept if not each.is_offered],
        "has_default": connected.default() is not None,
        "kept_here": {each.name for each in kept},
        "may_change": administration.may_examine(staff),
        "form": ModelServerForm(staff, None) if may_add else None,
    }
    return page(request, AdminPart.SERVERS, "manage/servers.html", context)


@for_part(AdminPart.SERVERS, "GET", "POST", may=administration.may_examine)
def server_settings(request: HttpRequest, name: str) -> HttpResponse:
    row = existing(stored.find_row(name))
    if request.method == "POST":
        return _entered(request, row)
    return _form_page(request, row, ModelServerForm(person_of(request), row))


def _entered(request: HttpRequest, before: StoredBackend | None) -> HttpResponse:
    """Test what was entered, or save it. Nothing that was entered is lost by a mistake, except a key with one."""
    if "forget" in request.POST:
        form = ModelServerForm(person_of(request), before, _without_key(request.POST))
        form.full_clean()
        form.fields["key"].widget.attrs["autofocus"] = True
        return _form_page(request, before, form)
    form = ModelServerForm(person_of(request), before, request.POST)
    if not form.is_valid() or form.checked is None:
        return _form_page(request, before, form)
    if "test" in request.POST:
        return _tested(request, before, form, form.checked)
    if form.checked.has_left_key:
        form.add_error("key", left_behind())
        return _form_page(request, before, form)
    wants = form.checked.row.is_enabled and not form.cleaned_data["untested"] and not form.checked.spec.is_demo
    if not _take_test(form.checked, form.cleaned_data["proof"]) and wants and not _is_as_before(form.checked):
        form.asks_about_test = True
        form.add_error("is_enabled", gettext("No test of these settings has passed. Test them, or choose below to offer it all the same."))
        return _form_page(request, before, form)
    try:
        row = stored.save(visitor_of(request, "admin"), form.checked, may_see_hidden=access.can_see_hidden(person_of(request)))
    except FaultySettingsError as error:
        form.report(error)
        return _form_page(request, before, form)
    return done(_said_of_server(row, before), row.name, "manage_server", row.name)


def _said_of_server(row: StoredBackend, before: StoredBackend | None) -> str:
    """What has become of a model server that was saved."""
    if row.unconfirmed_by:
        return "server-waits"
    if not row.is_enabled:
        return "server-saved"
    was_offered = before is not None and before.is_enabled and not before.unconfirmed_by
    return "server-settings" if was_offered else _said_of_offer(row)


def _said_of_offer(row: StoredBackend) -> str:
    return "server-in-groups" if row.groups.exists() else "server-offered"


def _without_key(sent: QueryDict) -> QueryDict:
    sent = sent.copy()
    sent["held"] = ""
    return sent


def _take_test(checked: Checked, proof: str) -> bool:
    """Note on the row when a test of exactly these settings passed: one of this form, or one from before. Returns whether one has."""
    row, spec = checked.row, checked.spec
    row.tested_at = runs.proved_at(spec, proof) or (stored.passed_at(checked.before, spec) if checked.before else None)
    row.tested_digest = stored.settings_digest(spec) if row.tested_at else ""
    return row.tested_at is not None


def _is_as_before(checked: Checked) -> bool:
    """Whether it is offered already, with settings and a key that an earlier test was about, or somebody's decision."""
    spec = stored.spec_of(checked.before) if checked.before and checked.before.is_enabled else None
    return spec is not None and stored.settings_digest(spec) == stored.settings_digest(checked.spec)


def _tested(request: HttpRequest, before: StoredBackend | None, form: ModelServerForm, checked: Checked) -> HttpResponse:
    test = None
    if checked.spec.is_demo:
        form.add_error("kind", gettext("The demo is no server, and needs no test."))
    else:
        _throttle.check(str(person_of(request).pk))
        try:
            test = runs.test(visitor_of(request, "admin"), checked.spec, "" if form.has_proposed_name else checked.spec.name)
            form.asks_about_test = not test.has_passed
        except BusyError:
            form.add_error(None, gettext("Another model server is being examined at the moment. Test again in a minute."))
    return _form_page(request, before, form, test)


def _form_page(request: HttpRequest, before: StoredBackend | None, form: ModelServerForm, test: ServerTest | None = None) -> HttpResponse:
    if form.is_bound:
        form.keep(test)
    context: dict[str, object] = {"form": form, "test": test, "name": before.name if before else ""}
    if test and test.is_key_refused and form.checked:
        context["key_words"] = _key_words(form.checked)
    return page(request, AdminPart.SERVERS, "manage/server_settings.html", context)


def _key_words(checked: Checked) -> str:
    """What a refused key means on the form, where its field is."""
    if checked.row.sealed_key:
        return gettext("This server refuses this key. Enter the right one below.")
    if checked.row.key_name:
        return gettext("This server refuses the key of this key name.")
    return gettext("This server wants a key. Enter it below.")


@for_part(AdminPart.SERVERS, "GET", "POST")
def server(request: HttpRequest, name: str) -> HttpResponse:
    """Show the result of the last examination, and to staff who may change model servers a button for a new one."""
    row = stored.find_row(name)
    spec = stored.spec_of(row) if row else next((known for known in connected.specs() if known.name == name), None)
    if row is None and (spec is None or spec.is_demo):
        raise NotFoundError
    if request.method == "POST":
        return _begin(request, row, spec)
    return _page(request, row, spec)


def _begin(request: HttpRequest, row: StoredBackend | None, spec: BackendSpec | None) -> HttpResponse:
    staff = person_of(request)
    if spec is None or spec.is_demo or not administration.may_examine(staff):
        raise NotFoundError
    _throttle.check(str(staff.pk))
    try:
        runs.begin(visitor_of(request, "admin"), spec)
    except BusyError:
        words = gettext("This process is already examining this server or another one. Try again when it has finished.")
        return _page(request, row, spec, words)
    return redirect("manage_server", name=spec.name)


@for_part(AdminPart.SERVERS, "POST")
def server_act(request: HttpRequest, name: str, what: str) -> HttpResponse:
    """Offer, pause, confirm or remove a model server that staff keep here, or choose its models, recorded in the audit log."""
    staff, visitor, row = person_of(request), visitor_of(request, "admin"), existing(stored.find_row(name))
    may = {
        "offer": administration.may_examine,
        "pause": administration.may_examine,
        "models": administration.may_examine,
        "confirm": access.can_see_hidden,
        "remove": administration.may_remove_servers,
    }
    if what not in may or not may[what](staff):
        raise NotFoundError
    if what == "remove":
        stored.remove(visitor, row)
        return done("server-removed", row.name, "manage_servers")
    # Whoever confirms, and "offer", "pause" and "models" by them do, confirms what they have read.
    if row.unconfirmed_by and access.can_see_hidden(staff) and request.POST.get("seen") != row.changed_at.isoformat():
        return _page(request, row, stored.spec_of(row), gettext("It was changed in the meantime. Read it again before you confirm it."))
    if what == "confirm":
        stored.confirm(visitor, row)
        return done(_said_of_offer(row) if row.is_enabled else "server-confirmed", name, "manage_server", name)
    spec = stored.spec_of(row)
    if what == "offer" and "untested" not in request.POST and not _may_offer(row, spec):
        return _page(request, row, spec, gettext("No test of these settings has passed. Examine it, or choose to offer it all the same."))
    try:
        if what == "models":
            row = _choose_models(request, row, spec)
        else:
            row = stored.set_offered(visitor, row, is_offered=what == "offer", may_see_hidden=access.can_see_hidden(staff))
    except FaultySettingsError as error:
        return _page(request, row, spec, " ".join(problem for _field, problem in error.problems))
    outcome = {"pause": "server-paused", "models": "server-models"}.get(what, _said_of_offer(row))
    return done("server-waits" if row.unconfirmed_by and what != "pause" else outcome, name, "manage_server", name)


def _choose_models(request: HttpRequest, row: StoredBackend, spec: BackendSpec | None) -> StoredBackend:
    listed = [each.name for each in model_servers.models_of(spec) if each.is_listed and not each.is_left_out] if spec else []
    may_see_hidden = access.can_see_hidden(person_of(request))
    return stored.set_models(visitor_of(request, "admin"), row, request.POST.getlist("model"), listed, may_see_hidden=may_see_hidden)


def _described(row: StoredBackend) -> str:
    return words.detail_in_words(stored.description(row))


def _may_offer(row: StoredBackend, spec: BackendSpec | None) -> bool:
    """Whether it may be offered without a further decision: a test passed, or the demo needs none."""
    return spec is not None and (spec.is_demo or stored.passed_at(row, spec) is not None)


def _page(request: HttpRequest, row: StoredBackend | None, spec: BackendSpec | None, problem: str = "") -> HttpResponse:
    staff, is_examined = person_of(request), spec is not None and not spec.is_demo
    kept = model_servers.kept_server(row) if row else None
    # What a server sends is shown only once it has answered like one, or somebody offered it.
    shows_models = kept is not None and (kept.is_offered or kept.tested_at is not None)
    context: dict[str, object] = {
        "server": {
            "name": row.name if row else spec.name if spec else "",
            "label": row.label if row else spec.label if spec else "",
            "addresses": 1 + len(spec.more_urls) if spec else 0,
            "is_examined": is_examined,
        },
        "kept": kept,
        "found": runs.status_of(spec) if spec and is_examined else None,
        "models": model_servers.models_of(spec) if spec and is_examined and shows_models else [],
        "follows_server": spec is not None and not spec.models,
        "may_offer": row is not None and _may_offer(row, spec),
        "most": runs.max_questions(spec) if spec else 0,
        "seconds": round(SECONDS),
        "may_examine": administration.may_examine(staff),
        "may_remove": administration.may_remove_servers(staff),
        "may_confirm": access.can_see_hidden(staff),
        "unconfirmed": _described(row) if row and row.unconfirmed_by and access.can_see_hidden(staff) else "",
        "seen": row.changed_at.isoformat() if row else "",
        "problem": problem,
    }
    return page(request, AdminPart.SERVERS, "manage/server.html", context, 409 if problem else 200)
