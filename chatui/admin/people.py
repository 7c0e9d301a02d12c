"""The admin pages for people, groups, and conversations without their content. Changes are recorded.

Messages are not registered, and must not be: a list of rows would show hidden text without the gate and without an audit row.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.forms import CheckboxSelectMultiple
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from chatui.accounts.people import account_actions, changes
from chatui.accounts.people.named_groups import settings_that_name, why_not_new
from chatui.accounts.sign_in_rules import account_managers
from chatui.admin import account_keys, password_links
from chatui.admin.backends import StoredBackendAdmin
from chatui.admin.closing import ClosingAdmin
from chatui.admin.erasure import ErasingAdmin
from chatui.admin.last_manager import LastManagerGuardAdmin
from chatui.admin.permissions import PermissionsField, offered
from chatui.admin.read_only import ReadOnlyAdmin
from chatui.models import Conversation, StoredBackend, User
from chatui.permissions import access, administration
from chatui.web import people
from chatui.web.visitors import visitor_of


class RecordedAdmin(LastManagerGuardAdmin):
    """Records every creation, change and deletion of a row, in the same transaction."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """The last step of saving; compares with the state read in the first step."""
        super().save_related(request, form, formsets, change)
        if change:
            self.carry_out(request, form.instance, form.before)
            changes.record_changed(visitor_of(request, "admin"), form.instance, form.before)
        else:
            changes.record_made(visitor_of(request, "admin"), form.instance)
        _tell_sockets(form.instance)

    def carry_out(self, request: HttpRequest, row: Any, before: changes.AccountSnapshot) -> None:
        """A hook for side effects of a change, before it is recorded, in the same transaction."""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """The first step."""
        if change:
            form.before = changes.snapshot(obj)
        super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """One row, from its own page."""
        changes.record_deleted(visitor_of(request, "admin"), obj)
        _tell_sockets(obj)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Many rows, from the list."""
        with transaction.atomic():
            for obj in queryset:
                changes.record_deleted(visitor_of(request, "admin"), obj)
                _tell_sockets(obj)
            super().delete_queryset(request, queryset)


def _tell_sockets(row: User | Group) -> None:
    """Tell sockets to check permissions now, so that an open stream ends at once after a permission was removed."""
    keys = [row.pk] if isinstance(row, User) else list(row.user_set.filter(is_staff=True).values_list("pk", flat=True))
    transaction.on_commit(partial(_tell, keys))


def _tell(keys: list[UUID]) -> None:
    for key in keys:
        people.notify_sockets(User(pk=key))


@admin.register(User)
class PersonAdmin(ErasingAdmin, ClosingAdmin, RecordedAdmin, UserAdmin):  # type: ignore[type-arg]
    """People. Nobody can grant a permission that they do not have."""

    acts_one_by_one = True

    list_display = ("username", "is_active", "is_staff", "last_login")
    list_filter = ("is_active", "is_staff", "groups")
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (_("Person"), {"fields": ("first_name", "last_name", "email")}),
        (_("Permissions"), {"fields": ("is_active", "closed", "is_staff", "groups", "user_permissions")}),
        (_("Dates"), {"fields": ("last_login", "date_joined")}),
        (_("API keys"), {"fields": ("api_keys",)}),
    )
    readonly_fields = ("last_login", "date_joined", "api_keys", "closed")
    # Django's two boxes with arrows have no names that a screen reader could say.
    filter_horizontal = ()
    actions = ["remove_second_factor", *ClosingAdmin.actions]

    @admin.action(description=_("Remove the second factor of the chosen people"), permissions=["change"])
    def remove_second_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Remove the second factor of people who have lost it, for accounts that this member of staff may change. Each is recorded."""
        for person in self.others(request, queryset):
            try:
                account_actions.remove_second_factor(visitor_of(request, "admin"), person.pk)
            except account_managers.LastAccountManagerError:
                messages.error(request, gettext("Nothing was changed: nobody else could manage accounts."))

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer only permissions of this product that the member of staff has, and only groups without any others."""
        if db_field.name == "user_permissions":
            kwargs |= {"queryset": offered(request), "form_class": PermissionsField}
        elif db_field.name == "groups":
            kwargs["widget"] = CheckboxSelectMultiple
            kwargs["queryset"] = administration.givable(request.user)
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only a superuser may change their own groups: settings refer to groups by name, with effects that no permission shows."""
        fixed = super().get_readonly_fields(request, obj)
        return fixed if obj is None or obj != request.user or request.user.is_superuser else (*fixed, "groups")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Staff cannot change an account with more permissions than theirs, because they could take it over."""
        return super().has_change_permission(request, obj) and _has_no_more(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As for changes; nobody can erase their own account."""
        return super().has_delete_permission(request, obj) and obj != request.user and _has_no_more(request, obj)

    def get_urls(self) -> list[Any]:
        """Adds the page for creating an API key for an account without sign-in."""
        own = path("<id>/api-key/", self.admin_site.admin_view(self.new_api_key), name="chatui_user_api_key")
        return [own, *super().get_urls()]

    def new_api_key(self, request: HttpRequest, id: str) -> HttpResponse:  # noqa: A002
        """That page."""
        account = self.get_object(request, unquote(id))
        if not isinstance(account, User) or not self.has_change_permission(request, account):
            raise PermissionDenied
        return account_keys.page(request, account, self.admin_site.each_context(request))

    @admin.display(description=_("New key"))
    def api_keys(self, account: User) -> str:
        """A link to that page, for an account without sign-in."""
        if not account_keys.is_for_programs(account):
            return gettext("People who can sign in create their keys themselves.")
        return format_html('<a href="{}">{}</a>', reverse("admin:chatui_user_api_key", args=[account.pk]), gettext("Create a key"))

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """Staff do not set passwords, as they could sign in with them: they create a link for the person to choose one."""
        person = self.get_object(request, unquote(id))
        if not isinstance(person, User) or not self.has_change_permission(request, person):
            raise PermissionDenied
        return password_links.page(request, person, self.admin_site.each_context(request))


def _has_no_more(request: HttpRequest, obj: Model | None) -> bool:
    return not isinstance(obj, User) or administration.has_no_more(request.user, obj)


admin.site.unregister(Group)


class NamedGroupForm(forms.ModelForm):  # type: ignore[type-arg]
    """Refuses the names that the group pages refuse for a new group, and a new name for a group that a setting names.

    Only a superuser may give such a name to an existing group: all its members would gain the effects of the setting at once.
    """

    staff: Any = None

    def clean_name(self) -> str:
        """Check the given name."""
        name: str = self.cleaned_data["name"]
        before = str(self.initial.get("name", ""))
        if not self.instance.pk and (why := why_not_new(self.staff, name)):
            raise ValidationError(why)
        if not self.instance.pk or name == before:
            return name
        if named := settings_that_name(before):
            words = _("A setting names this group: %(settings)s. Change the setting first.")
            raise ValidationError(words, params={"settings": ", ".join(named)})
        if not self.staff.is_superuser and (named := settings_that_name(name)):
            words = _("A setting names a group like this: %(settings)s. Create a new group with this name instead.")
            raise ValidationError(words, params={"settings": ", ".join(named)})
        return name


@admin.register(Group)
class PeopleGroupAdmin(RecordedAdmin, GroupAdmin):
    """Groups of people, with the permissions that they share.

    A group that a setting names cannot be renamed: the setting, such as a required second factor, would silently stop applying.
    """

    form = NamedGroupForm
    filter_horizontal = ()

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """A new form class for each request, with the member of staff."""
        form: Any = super().get_form(request, obj, change, **kwargs)
        form.staff = request.user
        return form

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Lists the settings and back ends that refer to a group as protected objects, so that the group cannot be deleted."""
        found, counts, needed, protected = super().get_deleted_objects(objs, request)
        return found, counts, needed, [*protected, *(f"{each}: {group.name}" for group in objs for each in _references_to(group))]

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest | None = None, **kwargs: Any) -> Any:
        """As for people: only permissions that the member of staff has."""
        if db_field.name == "permissions" and request is not None:
            kwargs |= {"queryset": offered(request), "form_class": PermissionsField}
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Not for a group with more permissions: saving the form would remove permissions that it does not offer."""
        return super().has_change_permission(request, obj) and _group_has_no_more(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """As for changes."""
        return super().has_delete_permission(request, obj) and _group_has_no_more(request, obj)


def _references_to(group: Group) -> list[str]:
    """The settings and back ends that refer to this group. A back end without groups would become available to everybody."""
    back_ends = StoredBackend.objects.filter(groups=group).order_by("name")
    return [*settings_that_name(group.name), *(f"{StoredBackend._meta.verbose_name} {row.name}" for row in back_ends)]


def _group_has_no_more(request: HttpRequest, obj: Group | None) -> bool:
    if obj is None or request.user.is_superuser:
        return True
    return administration.held_by(Q(group=obj)) <= request.user.get_all_permissions()


admin.site.register(StoredBackend, StoredBackendAdmin)


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    """Conversations by owner and time, without title or content; with a link to the debug view for those with the permission."""

    list_display = ("id", "owner", "debug_view", "active_at", "created_at")
    list_filter = ("active_at",)
    search_fields = ("owner__username", "=id")
    fields = ("id", "owner", "created_at", "active_at", "debug_view")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        """Without temporary conversations, which are in no list. Their debug view can be opened by its address."""
        return super().get_queryset(request).filter(temporary_until=None)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """By time only. Django would filter by any requested column, which would reveal a title letter by letter."""
        return lookup.partition("__")[0] == "active_at" and super().lookup_allowed(lookup, value, request)  # type: ignore[arg-type]

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Only for those with the permission to open any conversation."""
        return isinstance(request.user, User) and access.can_view_any(request.user)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As for the list."""
        return self.has_view_permission(request)

    @admin.display(description=_("Debug view"))
    def debug_view(self, row: Conversation) -> str:
        """A link; the page behind it checks the permission."""
        return format_html('<a href="{}">{}</a>', reverse("debug", args=[row.pk]), pgettext("to visit", "Open"))
