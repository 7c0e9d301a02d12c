"""The admin page that erases an account. It shows what will be deleted, and requires the account's name as confirmation."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatui.erasure.contents import contents_of
from chatui.erasure.person import erase
from chatui.models import User
from chatui.web.visitors import visitor_of


class ConfirmForm(forms.Form):
    """Asks for the name of the account as confirmation."""

    name = forms.CharField(label=_("Name of the account"), max_length=150, widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        """``person``: the account whose name must be typed."""
        super().__init__(*args, **kwargs)
        self._person = person

    def clean_name(self) -> str:
        """Check that it is exactly that name."""
        name: str = self.cleaned_data["name"]
        if name != self._person.get_username():
            raise forms.ValidationError(_("This is not the name of the account."))
        return name


class ErasingAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Erases one account at a time. Django would erase in one transaction, during which nobody else could write."""

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
        form = ConfirmForm(request.POST or None, person=person)
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
