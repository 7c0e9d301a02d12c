"""The admin pages for accounts, groups, and conversations without their content. Changes are recorded.

Messages must not be registered: a list of rows would show hidden text without the gate and without an audit line.
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
from chatui.accounts.people.named_groups import problem_with_new_name, settings_that_name
from chatui.accounts.sign_in_rules import account_managers
from chatui.admin import account_keys, password_links
from chatui.admin.backends import StoredBackendAdmin
from chatui.admin.closing import ClosingAdmin
from chatui.admin.erasure import ErasingAdmin
from chatui.admin.last_manager import LastManagerGuardAdmin
from chatui.admin.permissions import PermissionsField, grantable_permissions
from chatui.admin.read_only import ReadOnlyAdmin
from chatui.models import Conversation, StoredBackend, User
from chatui.permissions import access, administration
from chatui.web import people
from chatui.web.visitors import visitor_of


class RecordedAdmin(LastManagerGuardAdmin):
    """Records every creation, change and deletion of a row, in the same transaction."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save related rows, and then record the differences from the snapshot that ``save_model`` took."""
        super().save_related(request, form, formsets, change)
        if change:
            self.before_recording(request, form.instance, form.before)
            changes.record_changed(visitor_of(request, "admin"), form.instance, form.before)
        else:
            changes.record_created(visitor_of(request, "admin"), form.instance)
        _notify_sockets(form.instance)

    def before_recording(self, request: HttpRequest, row: Any, before: changes.AccountSnapshot) -> None:
        """A hook for the side effects of a change. It runs in the same transaction, before the change is recorded."""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Take a snapshot, and save the row itself."""
        if change:
            form.before = changes.snapshot(obj)
        super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete one row, from its page. Recorded."""
        changes.record_deleted(visitor_of(request, "admin"), obj)
        _notify_sockets(obj)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete the rows selected in the list. Each is recorded."""
        with transaction.atomic():
            for obj in queryset:
                changes.record_deleted(visitor_of(request, "admin"), obj)
                _notify_sockets(obj)
            super().delete_queryset(request, queryset)


def _notify_sockets(row: User | Group) -> None:
    """Tell sockets to check permissions after the commit, so that a removed permission ends open streams at once."""
    keys = [row.pk] if isinstance(row, User) else list(row.user_set.filter(is_staff=True).values_list("pk", flat=True))
    transaction.on_commit(partial(_notify, keys))


def _notify(keys: list[UUID]) -> None:
    for key in keys:
        people.notify_sockets(User(pk=key))


@admin.register(User)
class PersonAdmin(ErasingAdmin, ClosingAdmin, RecordedAdmin, UserAdmin):  # type: ignore[type-arg]
    """The admin pages for accounts. Nobody can grant a permission that they lack."""

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
    # Django's two boxes with arrows have no names for screen readers.
    filter_horizontal = ()
    actions = ["remove_second_factor", *ClosingAdmin.actions]

    @admin.action(description=_("Remove the second factor of the selected people"), permissions=["change"])
    def remove_second_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Remove the second factor of the selected people whose accounts this member of staff may change. Each is recorded."""
        for person in self.except_own(request, queryset):
            try:
                account_actions.remove_second_factor(visitor_of(request, "admin"), person.pk)
            except account_managers.LastAccountManagerError:
                messages.error(request, gettext("Nothing was changed: nobody else could manage accounts."))

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer only permissions that this product uses and the member of staff has, and only groups without other permissions."""
        if db_field.name == "user_permissions":
            kwargs |= {"queryset": grantable_permissions(request), "form_class": PermissionsField}
        elif db_field.name == "groups":
            kwargs["widget"] = CheckboxSelectMultiple
            kwargs["queryset"] = administration.assignable_groups(request.user)
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only superusers may change their own groups: settings that name a group grant more than its permissions show."""
        fixed = super().get_readonly_fields(request, obj)
        return fixed if obj is None or obj != request.user or request.user.is_superuser else (*fixed, "groups")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Not for an account with permissions that the member of staff lacks, which they could gain by taking it over."""
        return super().has_change_permission(request, obj) and _has_no_more_permissions(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As for changes, and never for one's own account."""
        return super().has_delete_permission(request, obj) and obj != request.user and _has_no_more_permissions(request, obj)

    def get_urls(self) -> list[Any]:
        """Add the page for creating an API key for an account that nobody can sign in to."""
        own = path("<id>/api-key/", self.admin_site.admin_view(self.new_api_key), name="chatui_user_api_key")
        return [own, *super().get_urls()]

    def new_api_key(self, request: HttpRequest, id: str) -> HttpResponse:  # noqa: A002
        """The page for creating an API key."""
        account = self.get_object(request, unquote(id))
        if not isinstance(account, User) or not self.has_change_permission(request, account):
            raise PermissionDenied
        return account_keys.account_key_page(request, account, self.admin_site.each_context(request))

    @admin.display(description=_("New key"))
    def api_keys(self, account: User) -> str:
        """A link to that page, for an account without sign-in."""
        if not account_keys.is_service_account(account):
            return gettext("People who can sign in create their keys themselves.")
        return format_html('<a href="{}">{}</a>', reverse("admin:chatui_user_api_key", args=[account.pk]), gettext("Create a key"))

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """Create a link with which the person chooses a password. Staff do not set passwords, because they could sign in with them."""
        person = self.get_object(request, unquote(id))
        if not isinstance(person, User) or not self.has_change_permission(request, person):
            raise PermissionDenied
        return password_links.password_link_page(request, person, self.admin_site.each_context(request))


def _has_no_more_permissions(request: HttpRequest, obj: Model | None) -> bool:
    return not isinstance(obj, User) or administration.has_no_more_permissions(request.user, obj)


admin.site.unregister(Group)


class NamedGroupForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form for a group. It refuses to rename a group that a setting names, and names that the group pages refuse for new groups.

    Only a superuser may rename a group to a name in a setting: the setting would apply to all of the group's members at once.
    """

    staff: Any = None

    def clean_name(self) -> str:
        """Check the name."""
        name: str = self.cleaned_data["name"]
        before = str(self.initial.get("name", ""))
        if not self.instance.pk and (why := problem_with_new_name(self.staff, name)):
            raise ValidationError(why)
        if not self.instance.pk or name == before:
            return name
        if named := settings_that_name(before):
            words = _("A setting refers to this group: %(settings)s. Change the setting first.")
            raise ValidationError(words, params={"settings": ", ".join(named)})
        if not self.staff.is_superuser and (named := settings_that_name(name)):
            words = _("A setting refers to a group with this name: %(settings)s. Create a new group instead of renaming this one.")
            raise ValidationError(words, params={"settings": ", ".join(named)})
        return name


@admin.register(Group)
class PeopleGroupAdmin(RecordedAdmin, GroupAdmin):
    """The admin pages for groups.

    A group that a setting names cannot be renamed: the setting, such as a required second factor, would no longer apply, unnoticed.
    """

    form = NamedGroupForm
    filter_horizontal = ()

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """A form class for this request, with its member of staff."""
        form: Any = super().get_form(request, obj, change, **kwargs)
        form.staff = request.user
        return form

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Report settings and back ends that refer to a group as protected objects, so that the group cannot be deleted."""
        found, counts, needed, protected = super().get_deleted_objects(objs, request)
        return found, counts, needed, [*protected, *(f"{each}: {group.name}" for group in objs for each in _references_to(group))]

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest | None = None, **kwargs: Any) -> Any:
        """As for accounts: offer only permissions that the member of staff has."""
        if db_field.name == "permissions" and request is not None:
            kwargs |= {"queryset": grantable_permissions(request), "form_class": PermissionsField}
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Not for a group with permissions that the member of staff lacks: the form omits those, so saving it would remove them."""
        return super().has_change_permission(request, obj) and _group_has_no_more_permissions(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """As for changes."""
        return super().has_delete_permission(request, obj) and _group_has_no_more_permissions(request, obj)


def _references_to(group: Group) -> list[str]:
    """The settings and back ends that refer to this group. A back end without groups would become available to everybody."""
    back_ends = StoredBackend.objects.filter(groups=group).order_by("name")
    return [*settings_that_name(group.name), *(f"{StoredBackend._meta.verbose_name} {row.name}" for row in back_ends)]


def _group_has_no_more_permissions(request: HttpRequest, obj: Group | None) -> bool:
    if obj is None or request.user.is_superuser:
        return True
    return administration.permission_names(Q(group=obj)) <= request.user.get_all_permissions()


admin.site.register(StoredBackend, StoredBackendAdmin)


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    """Conversations by owner and time, without title or content, with a link to the debug view."""

    list_display = ("id", "owner", "debug_view", "active_at", "created_at")
    list_filter = ("active_at",)
    search_fields = ("owner__username", "=id")
    fields = ("id", "owner", "created_at", "active_at", "debug_view")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        """All conversations except temporary ones, which are in no list. Their debug view can be opened by its address."""
        return super().get_queryset(request).filter(temporary_until=None)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Allow only filters by time. Django would filter by any column, which would reveal a title letter by letter."""
        return lookup.partition("__")[0] == "active_at" and super().lookup_allowed(lookup, value, request)  # type: ignore[arg-type]

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Staff who may open any conversation in the debug view."""
        return isinstance(request.user, User) and access.can_view_any(request.user)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Staff who may see the list."""
        return self.has_view_permission(request)

    @admin.display(description=_("Debug view"))
    def debug_view(self, row: Conversation) -> str:
        """A link; the page behind it checks the permission."""
        return format_html('<a href="{}">{}</a>', reverse("debug", args=[row.pk]), pgettext("to visit", "Open"))
