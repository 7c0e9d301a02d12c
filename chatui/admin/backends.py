"""The admin pages for model servers. A model server is checked before it is saved, and has only the name of a key, never the key."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from chatui.audit_log.record import record
from chatui.backends import keys
from chatui.backends.auto import AUTO
from chatui.backends.keys import KeyUnusableError
from chatui.backends.spec import SPEC_KINDS, BackendSpec, SpecError, find, split_choice
from chatui.env import environment
from chatui.model_servers import configured, connected
from chatui.models.model_servers import StoredBackend
from chatui.permissions import access
from chatui.site.languages import SOURCE
from chatui.web.guards import visitor_of

_LISTED_FIRST = ("address", "other settings", "wire format", "key name", "groups", "summaries", "summarizer")
_VALUE_CHARS = 80
_DESCRIPTION_CHARS = 180


class StoredBackendForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form for a model server. It reports every mistake that ``manage.py check`` would find in the row."""

    kind = forms.ChoiceField(
        choices=[(kind, kind) for kind in SPEC_KINDS],
        initial=AUTO,
        label=_("Wire format"),
        help_text=_("auto: chosen by examining the server. docs/back-ends.md says which format suits which server."),
    )
    may_see_hidden = False

    class Meta:
        model = StoredBackend
        fields = [field.name for field in [*StoredBackend._meta.fields, *StoredBackend._meta.many_to_many] if field.editable]
        labels = {
            "max_answer_tokens": _("Maximum length of an answer, in tokens"),
            "context_tokens": _("Context size, in tokens"),
            "first_token_seconds": _("For the first token"),
            "idle_seconds": _("Between two tokens"),
            "overall_seconds": _("For the whole answer"),
            "summaries": _("Source"),
        }
        widgets = {"groups": forms.CheckboxSelectMultiple, "model_names": forms.Textarea({"rows": 4}), "url": forms.TextInput({"size": 60})}
        widgets["other_settings"] = forms.Textarea({"rows": 5, "spellcheck": "false"})

    def clean(self) -> dict[str, Any]:
        """Check the row as a spec, and together with all other model servers."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        row = StoredBackend(**{name: value for name, value in cleaned.items() if name != "groups"})
        try:
            spec = configured.of_row(row, (group.name for group in cleaned["groups"]))
        except SpecError as error:
            for problem in error.problems:
                self._add_problem(problem)
            return cleaned
        self._check(spec)
        return cleaned

    def _check(self, spec: BackendSpec) -> None:
        env = environment()
        if spec.name in {known.name for known in configured.operator_backends(env)}:
            self.add_error("name", _("A back end with this name is configured outside the admin pages, and takes precedence."))
        if spec.summarizer and find([*configured.combined(env, configured.rows()), spec], spec.summarizer) is None:
            self.add_error("summarizer", _("There is no such back end."))
        if not self.may_see_hidden and self._redirects_reasoning(spec):
            words = _("Only people who may see hidden channels can set where reasoning is sent, or whose summaries choose the lines.")
            self.add_error("summaries", words)
        try:
            keys.key_of(spec, env.data_dir)
        except KeyUnusableError as error:
            self.add_error("key_name", _("This key cannot be used: %(reason)s.") % {"reason": error})

    def _redirects_reasoning(self, spec: BackendSpec) -> bool:
        """Whether the change affects where reasoning is sent or whose summaries are read: only staff who may see reasoning may do that.

        A summarizer receives the whole chain of thought, and a server that writes summaries chooses what people read. Without the
        permission, nobody may choose either, or point such a row at their own server. The built-in code sends nothing anywhere.
        """
        changed = set(self.changed_data)
        if spec.summaries in ("server", "model") and changed & {"summaries", "summarizer"}:
            return True
        if spec.summaries == "server" and changed & {"url", "kind", "other_settings"}:
            return True
        return bool(changed & {"name", "url", "kind", "other_settings", "is_enabled"}) and spec.name in _summarizers()

    def _add_problem(self, problem: str) -> None:
        """Show the problem at the field whose name its sentence begins with, and without that name; otherwise at the top."""
        name, _, rest = problem.partition(" ")
        field = {"models": "model_names", **dict.fromkeys(configured.OTHER_SETTINGS, "other_settings")}.get(name, name.removesuffix(":"))
        is_of_field = field in self.fields and not rest.startswith(("=", "does"))
        words = rest if is_of_field and name not in configured.OTHER_SETTINGS else problem
        self.add_error(field if field in self.fields else None, words[:1].upper() + words[1:] + ("" if words.endswith("?") else "."))


class StoredBackendAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The model servers. Whoever may change them decides which servers receive what people write. Each change is recorded."""

    form = StoredBackendForm
    list_display = ("name", "unconfirmed_by", "label", "is_enabled", "position", "kind", "url", "key_name", "changed_at")
    list_filter = ("is_enabled", "kind")
    search_fields = ("name", "label")
    actions = ("confirm",)
    fieldsets = (
        (None, {"fields": ("name", "label", "is_enabled", "position", "groups")}),
        (_("Server"), {"fields": ("kind", "url", "key_name", "model_names", "effort", "max_answer_tokens", "context_tokens")}),
        (_("Advanced"), {"fields": ("other_settings",)}),
        (_("Timeouts, in seconds"), {"fields": ("first_token_seconds", "idle_seconds", "overall_seconds")}),
        (_("Summaries of the reasoning"), {"fields": ("summaries", "summarizer")}),
    )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        may_see_hidden = access.can_see_hidden(access.as_person(request.user))
        return type(form.__name__, (form,), {"may_see_hidden": may_see_hidden})

    def has_confirm_permission(self, request: HttpRequest) -> bool:
        """Staff who may see hidden channels: only they may decide which server receives them."""
        return access.can_see_hidden(access.as_person(request.user))

    @admin.action(permissions=["confirm"], description=_("Confirm selected back ends, so that people can use them"))
    def confirm(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Confirm those of the selected model servers that wait for confirmation. Each is recorded."""
        with transaction.atomic():
            for row in queryset.exclude(unconfirmed_by="").select_for_update():
                _record(request, row, "confirmed", f"after a change by {row.unconfirmed_by}: {row.url}")
                StoredBackend.objects.filter(pk=row.pk).update(unconfirmed_by="")
        transaction.on_commit(connected.forget_rows)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the row itself. It counts as confirmed if somebody who may see hidden channels saves it."""
        if form.may_see_hidden:
            obj.unconfirmed_by = ""
        elif form.has_changed() or not change:
            obj.unconfirmed_by = request.user.get_username()
            words = _("Nobody can use back end %(name)s until somebody who may see hidden channels confirms it.")
            self.message_user(request, words % {"name": obj.name}, messages.WARNING)
        before = StoredBackend.objects.get(pk=obj.pk) if change else None
        form.before, form.unconfirmed_before = (_values_by_label(before), before.unconfirmed_by) if before else ({}, "")
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save the groups, and then record the differences in the same transaction."""
        super().save_related(request, form, formsets, change)
        if change:
            self._record_changes(request, form)
        else:
            _record(request, form.instance, "created", _description(form.instance))
        transaction.on_commit(connected.forget_rows)

    def _record_changes(self, request: HttpRequest, form: Any) -> None:
        for name, value in _values_by_label(form.instance).items():
            if form.before.get(name) != value:
                _record(request, form.instance, "changed", f"{name} is now {value or 'empty'}")
        if form.instance.unconfirmed_by != form.unconfirmed_before:
            _record(request, form.instance, *_confirmation(form.instance))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        _record(request, obj, "deleted", obj.url)
        super().delete_model(request, obj)
        transaction.on_commit(connected.forget_rows)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        with transaction.atomic():
            for obj in queryset:
                self.delete_model(request, obj)


@translation.override(SOURCE)
def _description(row: StoredBackend) -> str:
    """A new row in one line: whether it is confirmed, and then the values that differ from the defaults.

    The first values are those that affect where text is sent.
    """
    defaults = {str(field.verbose_name): str(field.get_default()) for field in StoredBackend._meta.fields}
    listed = {name: value for name, value in _values_by_label(row).items() if value != defaults.get(name, "") and name != "name"}
    parts = [f"{name} {value if len(value) <= _VALUE_CHARS else value[:_VALUE_CHARS] + '…'}" for name, value in listed.items()]
    parts.sort(key=lambda part: not part.startswith(_LISTED_FIRST))
    words = "waits for confirmation" if row.unconfirmed_by else "confirmed"
    while parts and len(words) + len(parts[0]) < _DESCRIPTION_CHARS:
        words += f"; {parts.pop(0)}"
    return f"{words}; and {len(parts)} more" if parts else words


def _confirmation(row: StoredBackend) -> tuple[str, str]:
    """The action and its description, for the audit log."""
    return (
        ("not confirmed", "offered to nobody until somebody who may see hidden channels confirms it")
        if row.unconfirmed_by
        else ("confirmed", row.url)
    )


def _summarizers() -> set[str]:
    """The names of the model servers that summarize reasoning, and so receive it, including rows that are switched off."""
    stored = StoredBackend.objects.exclude(summarizer="").values_list("summarizer", flat=True)
    return {
        split_choice(choice)[0]
        for choice in [*stored, *(spec.summarizer for spec in configured.operator_backends(environment()))]
        if choice
    }


@translation.override(SOURCE)
def _values_by_label(row: StoredBackend) -> dict[str, str]:
    """The row's values by their labels, in English like the rest of the audit log. None of them is a secret."""
    fields = [field for field in StoredBackend._meta.fields if field.editable]
    words = {str(field.verbose_name): " ".join(str(getattr(row, field.name)).split()) for field in fields}
    return words | {"groups": ", ".join(sorted(row.groups.values_list("name", flat=True)))}


def _record(request: HttpRequest, row: StoredBackend, what: str, detail: str) -> None:
    record(f"back end {what}", visitor_of(request, "admin"), row.name, detail=detail)
