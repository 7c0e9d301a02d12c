"""The admin pages for accounts, groups, and conversations without their content, with what they do to an account.

Accounts are closed and reopened with list actions and with the *active* check box on an account's page. The page that erases an account
shows what will be deleted, and requires the account's name as confirmation. Staff cannot remove the last account manager, or use
permissions that they have lost. The permission fields offer only the permissions that this product uses, under headings. A one-time link
for a new password neither takes nor shows a password. API keys can be created here for accounts that nobody can sign in to, such as service
accounts. Changes are recorded.

Messages must not be registered: a list of rows would show hidden text without the gate and without an audit line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.forms import CheckboxSelectMultiple
from django.forms.models import ModelChoiceIterator, ModelMultipleChoiceField
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop

from chatui.accounts import account_managers, api_keys, password_links
from chatui.accounts import people as accounts_people
from chatui.accounts.account_managers import LastAccountManagerError
from chatui.accounts.api_keys import CreatedKey, TooManyKeysError
from chatui.accounts.groups import problem_with_new_name, settings_that_name
from chatui.audit_log.record import Visitor, record
from chatui.lifecycle import closing
from chatui.lifecycle.closing import CannotCloseError
from chatui.lifecycle.erasure import contents_of, erase
from chatui.model_servers import choice
from chatui.models.model_servers import StoredBackend
from chatui.models.user import ClosingCause, User
from chatui.permissions import administration, four_eyes, programs
from chatui.permissions.access import NotFoundError, as_person
from chatui.proxies import public_address
from chatui.web.api_keys import KeyForm
from chatui.web.guards import visitor_of
from chatui.web.sign_in import pages

_CAUSES = {
    ClosingCause.STAFF: noop("by staff"),
    ClosingCause.OPERATOR: noop("by the operator"),
    ClosingCause.OWN: noop("by the account's owner"),
    ClosingCause.PROVISIONING: noop("by the directory of"),
    ClosingCause.LOGOUT: noop("by the sign-in service"),
}


class ConfirmNameForm(forms.Form):
    """Asks for the name of the account as confirmation."""

    name = forms.CharField(label=_("Name of the account"), max_length=150, widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        """``person``: the account whose name must be typed."""
        super().__init__(*args, **kwargs)
        self._person = person

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name != self._person.get_username():
            raise forms.ValidationError(_("This is not the name of the account."))
        return name


class _GroupedIterator(ModelChoiceIterator):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Any]:
        rows = {administration.name_of(row): row for row in self.queryset}
        for heading, names in administration.GROUPS.items():
            choices = [self.choice(rows[name]) for name in names if name in rows]
            if choices:
                yield gettext(heading), choices


class PermissionsField(ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Check boxes under the headings of the catalogue, with its descriptions."""

    iterator = _GroupedIterator
    widget = forms.CheckboxSelectMultiple

    def label_from_instance(self, obj: Any) -> str:
        return gettext(administration.DESCRIPTIONS[administration.name_of(obj)])


class RecordedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Records every creation, change and deletion of a row, in the same transaction.

    Any change that leaves no account manager, which only the operator could repair, is rolled back, and recorded. Permissions are checked
    after the accounts of the member of staff and of the target are locked, because those read at the start of the request may be out of
    date.
    """

    def changeform_view(self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None) -> Any:
        return self.keep_manager(request, object_id, super().changeform_view, object_id, form_url, extra_context)

    def keep_manager(self, request: HttpRequest, object_id: str | None, view: Callable[..., HttpResponse], *values: Any) -> HttpResponse:
        """The response of ``view`` to a form, which must leave an account manager."""
        staff = as_person(request.user)
        if request.method != "POST" or staff is None:
            return view(request, *values)
        row = self.get_object(request, object_id) if object_id else None
        name, others = str(row or f"{self.opts.model_name}s"), [staff.pk, *([row.pk] if isinstance(row, User) else ())]
        try:
            with account_managers.require_manager_left(name, others):
                request.user = account_managers.lock_for(staff)
                if not self.admin_site.has_permission(request):
                    raise PermissionDenied
                return view(request, *values)
        except LastAccountManagerError as error:
            record("account not changed", visitor_of(request, "admin"), error.name, detail=f"by staff: {error}")
            list(messages.get_messages(request))  # remove the success message, which is no longer true
            messages.error(request, gettext("Nothing was changed: nobody else could manage accounts."))
            return redirect(request.path)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Not for an account with permissions that the member of staff lacks, which they could gain by taking it over, nor for such a
        group: its form omits those permissions, so saving it would remove them."""
        return super().has_change_permission(request, obj) and _has_no_more_permissions(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As for changes, and never for one's own account."""
        return super().has_delete_permission(request, obj) and obj != request.user and _has_no_more_permissions(request, obj)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save related rows, and then record the differences from the snapshot that ``save_model`` took."""
        super().save_related(request, form, formsets, change)
        if change:
            accounts_people.record_changed(visitor_of(request, "admin"), form.instance, form.before)
        else:
            accounts_people.record_created(visitor_of(request, "admin"), form.instance)
        _notify_sockets(form.instance)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            form.before = accounts_people.snapshot(obj)
        super().save_model(request, obj, form, change)


def _has_no_more_permissions(request: HttpRequest, obj: User | Group | None) -> bool:
    return obj is None or administration.has_no_more_permissions(request.user, obj)


def _notify_sockets(row: User | Group) -> None:
    """Tell sockets to check permissions after the commit, so that a removed permission ends open streams at once."""
    for person in [row] if isinstance(row, User) else row.user_set.filter(is_staff=True).only("pk"):
        transaction.on_commit(partial(pages.notify_sockets, person))


@admin.register(User)
class PersonAdmin(RecordedAdmin, UserAdmin):  # type: ignore[type-arg]
    """The admin pages for accounts. Nobody can grant a permission that they lack.

    Actions lock and check each account by itself: one transaction for all would block everybody's writes. They skip one's own account.
    """

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
    actions = ["remove_second_factor", "close_accounts", "reopen_accounts"]

    @admin.action(description=_("Remove the second factor of the selected people"), permissions=["change"])
    def remove_second_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Remove the second factor of the selected people whose accounts this member of staff may change. Each is recorded."""
        for person in self.except_own(request, queryset):
            try:
                accounts_people.remove_second_factor(visitor_of(request, "admin"), person.pk)
            except LastAccountManagerError:
                messages.error(request, gettext("Nothing was changed: nobody else could manage accounts."))

    @admin.action(description=_("Close the selected accounts"), permissions=["change"])
    def close_accounts(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Close the selected accounts: all access ends at once, and nothing is erased. Each is recorded."""
        closed = sum(self._close(request, person) for person in self.except_own(request, queryset))
        words = ngettext("%(count)d account was closed.", "%(count)d accounts were closed.", closed)
        messages.success(request, words % {"count": closed})

    @admin.action(description=_("Reopen the selected accounts"), permissions=["change"])
    def reopen_accounts(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Reopen the selected accounts. Each is recorded."""
        visitor = visitor_of(request, "admin")
        opened = sum(self._reopen(visitor, person) for person in self.except_own(request, queryset))
        words = ngettext("%(count)d account was reopened.", "%(count)d accounts were reopened.", opened)
        messages.success(request, words % {"count": opened})

    @admin.display(description=_("Closed"))
    def closed(self, person: User) -> str:
        found = closing.closed_by(person)
        return f"{gettext(_CAUSES[found[0]])} {found[1]}".strip() if found else "-"

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the account, and close or reopen it if the *active* check box was changed."""
        wanted, was_active = obj.is_active, not change or User.objects.get(pk=obj.pk).is_active
        obj.is_active = was_active if change else wanted
        super().save_model(request, obj, form, change)
        if wanted == obj.is_active:
            return
        if wanted:
            closing.reopen_account(obj, visitor_of(request, "admin"))
        else:
            self._close(request, obj)

    def except_own(self, request: HttpRequest, queryset: QuerySet[User]) -> list[User]:
        """Those of the accounts that the member of staff may change, except their own."""
        return [person for person in queryset if person != request.user and self.has_change_permission(request, person)]

    def _reopen(self, visitor: Visitor, person: User) -> bool:
        try:
            return closing.reopen_account(person, visitor)
        except NotFoundError:
            return False

    def _close(self, request: HttpRequest, person: User) -> bool:
        try:
            return closing.close_by_staff(person, visitor_of(request, "admin"))
        except NotFoundError:
            return False  # they no longer may, or the account is gone
        except CannotCloseError:
            words = gettext("%(name)s was not closed: nobody else could manage accounts.")
            messages.error(request, words % {"name": person.get_username()})
            return False

    def get_actions(self, request: HttpRequest) -> Any:
        """All actions except bulk deletion: each erasure must be confirmed separately."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Show what would be deleted, and erase it once the name has been typed."""
        person = self.get_object(request, object_id)
        if not isinstance(person, User):
            raise Http404
        if not self.has_delete_permission(request, person):
            raise PermissionDenied
        form = ConfirmNameForm(request.POST or None, person=person)
        if request.method == "POST" and form.is_valid():
            erased = erase(visitor_of(request, "admin"), person)
            words = gettext("The account %(name)s was erased: %(contents)s.")
            messages.success(request, words % {"name": erased.name, "contents": erased.contents.in_words()})
            if erased.warning:
                messages.warning(request, gettext(erased.warning))
            return redirect(reverse("admin:chatui_user_changelist"))
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Erase an account"),
            "opts": self.opts,
            "person": person,
            "contents": contents_of(person).in_words(),
            "form": form,
        }
        return render(request, "admin/erase_person.html", context)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer only permissions that this product uses and the member of staff has, and only groups without other permissions."""
        if db_field.name == "user_permissions":
            kwargs |= {"queryset": administration.group_permissions(request.user), "form_class": PermissionsField}
        elif db_field.name == "groups":
            kwargs["widget"] = CheckboxSelectMultiple
            kwargs["queryset"] = administration.assignable_groups(request.user)
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only superusers may change their own groups: settings that name a group grant more than its permissions show."""
        fixed = super().get_readonly_fields(request, obj)
        return fixed if obj is None or obj != request.user or request.user.is_superuser else (*fixed, "groups")

    def get_urls(self) -> list[Any]:
        """Add the page for creating an API key for an account that nobody can sign in to."""
        own = path("<id>/api-key/", self.admin_site.admin_view(self.new_api_key), name="chatui_user_api_key")
        return [own, *super().get_urls()]

    def new_api_key(self, request: HttpRequest, id: str) -> HttpResponse:  # noqa: A002
        """Show the form, and once it is sent the key, which is shown only once."""
        account = self._changeable(request, id)
        maker = as_person(request.user)
        may_view_hidden = maker is not None and programs.may_read(account) and programs.may_read(maker)
        form = KeyForm(request.POST or None, choices=choice.choices_for(account), may_view_hidden=may_view_hidden)
        shown = self.admin_site.each_context(request) | {
            "account": account,
            "form": form,
            "title": gettext("New API key: %(name)s") % {"name": account.get_username()},
            "is_service_account": api_keys.is_service_account(account),
        }
        if request.method == "POST":
            shown["made"] = self._create_key(request, account, form)
        return render(request, "admin/api_key.html", shown, status=400 if form.errors else 200)

    def _create_key(self, request: HttpRequest, account: User, form: KeyForm) -> CreatedKey | None:
        wanted, visitor = form.wanted(), visitor_of(request, "admin")
        if wanted is None:
            return None
        try:
            with transaction.atomic():
                made = api_keys.create_for_account(visitor, accounts_people.locked(visitor, account.pk), wanted)
                four_eyes.record_change(visitor.user, [account.pk], "an API key")
                return made
        except TooManyKeysError:
            form.add_error(None, gettext("This account has the maximum number of keys. Revoke one that is no longer used."))
        except NotFoundError:
            form.add_error(None, gettext("No key can be created for this account here."))
        return None

    @admin.display(description=_("New key"))
    def api_keys(self, account: User) -> str:
        """A link to that page, for an account without sign-in."""
        if not api_keys.is_service_account(account):
            return gettext("People who can sign in create their keys themselves.")
        return format_html('<a href="{}">{}</a>', reverse("admin:chatui_user_api_key", args=[account.pk]), gettext("Create a key"))

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """Show the form, and once it is sent a link with which the person chooses a password, which is shown only once.

        Staff do not set passwords, because they could sign in with them. For their own, they use the page that asks for the old one.
        """
        person = self._changeable(request, id)
        if person == request.user:
            return redirect("password")
        shown = self.admin_site.each_context(request) | {
            "person": person,
            "title": gettext("New password: %(name)s") % {"name": person.get_username()},
            "hours": password_links.LIFETIME // timedelta(hours=1),
        }
        if request.method == "POST":
            visitor, voids_password = visitor_of(request, "admin"), request.POST.get("void") == "yes"
            with transaction.atomic():
                path = password_links.create(visitor, accounts_people.locked(visitor, person.pk), voids_password=voids_password)
            shown["link"] = public_address(request, path)
            pages.notify_sockets(person)
        return render(request, "admin/password_link.html", shown)

    def _changeable(self, request: HttpRequest, key: str) -> User:
        account = self.get_object(request, unquote(key))
        if not isinstance(account, User) or not self.has_change_permission(request, account):
            raise PermissionDenied
        return account


admin.site.unregister(Group)


class NamedGroupForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form for a group. It refuses to rename a group that a setting names, and names that the group pages refuse for new groups.

    Only a superuser may rename a group to a name in a setting: the setting would apply to all of the group's members at once.
    """

    staff: Any = None

    def clean_name(self) -> str:
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
        form: Any = super().get_form(request, obj, change, **kwargs)
        form.staff = request.user
        return form

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return self.keep_manager(request, None, super().changelist_view, extra_context)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        return self.keep_manager(request, object_id, super().delete_view, object_id, extra_context)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        accounts_people.record_deleted(visitor_of(request, "admin"), obj)
        _notify_sockets(obj)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        with transaction.atomic():
            for obj in queryset:
                self.delete_model(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Report settings and model servers that refer to a group as protected objects, so that the group cannot be deleted."""
        found, counts, needed, protected = super().get_deleted_objects(objs, request)
        return found, counts, needed, [*protected, *(f"{each}: {group.name}" for group in objs for each in _references_to(group))]

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest | None = None, **kwargs: Any) -> Any:
        """As for accounts: offer only permissions that the member of staff has."""
        if db_field.name == "permissions" and request is not None:
            kwargs |= {"queryset": administration.group_permissions(request.user), "form_class": PermissionsField}
        return super().formfield_for_manytomany(db_field, request, **kwargs)


def _references_to(group: Group) -> list[str]:
    """The settings and model servers that refer to this group. A model server without groups would become available to everybody."""
    servers = StoredBackend.objects.filter(groups=group).order_by("name")
    return [*settings_that_name(group.name), *(f"{StoredBackend._meta.verbose_name} {row.name}" for row in servers)]
