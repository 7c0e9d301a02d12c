"""Accounts: the first one against the console's code, signing in and out, a new password. Staff make the others in the back office."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import auth
from django.contrib.auth import views
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm, BaseUserCreationForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from chatui.accounts import first_account
from chatui.audit_log.record import Visitor, record
from chatui.permissions.access import as_person
from chatui.throttle import Throttle
from chatui.turns import groups
from chatui.web.visitors import visitor_of

if TYPE_CHECKING:
    from chatui.models import User

_guesses = Throttle("sign-in", attempts=10, seconds=300)
_codes = Throttle("setup", attempts=10, seconds=300)


def person_of(request: HttpRequest) -> User:
    """The signed-in person of a view that needs one."""
    person = as_person(request.user)
    if person is None:
        raise TypeError("a view without login_required asked for a person")
    return person


class FirstAccountForm(BaseUserCreationForm):  # type: ignore[type-arg]
    """Name, password twice, and the code from the console."""

    code = forms.CharField(
        label="Code from the server's console",
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "spellcheck": "false", "autocapitalize": "characters"}),
    )
    field_order = ["code", "username", "password1", "password2"]

    def __init__(self, *args: Any, too_many: bool = False, **kwargs: Any) -> None:
        """The code is the first thing to type. ``too_many``: codes were guessed at too often."""
        super().__init__(*args, **kwargs)
        self._too_many = too_many
        self.fields["username"].widget.attrs.pop("autofocus", None)
        self.fields["code"].widget.attrs["autofocus"] = True

    class Meta:
        model = auth.get_user_model()
        fields = ("username",)

    def clean_code(self) -> str:
        """A wrong code says only that; after too many of them a good one says no more than another wrong one."""
        code: str = self.cleaned_data["code"]
        if self._too_many:
            raise forms.ValidationError("Too many attempts. Wait a few minutes.")
        if not first_account.code_is_good(code):
            raise forms.ValidationError("This is not the code that the server printed.")
        return code


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """Make the first account: staff, with every permission of ours. Exists only while there is no account."""
    if not first_account.is_needed():
        return redirect("home")
    too_many = request.method == "POST" and _codes.exceeded(visitor_of(request, "page").address)
    form = FirstAccountForm(request.POST or None, too_many=too_many)
    if request.method == "POST" and form.is_valid():
        person = first_account.make(form.cleaned_data["username"], form.cleaned_data["password1"])
        if person is None:
            return redirect("sign_in")
        record("first account", Visitor(person, visitor_of(request, "page").address, "page"))
        auth.login(request, person, "django.contrib.auth.backends.ModelBackend")
        return redirect("home")
    return render(request, "account/setup.html", {"form": form})


class ThrottledAuthenticationForm(AuthenticationForm):
    """Signing in; after too many wrong passwords for a name from an address it waits."""

    def clean(self) -> dict[str, object]:
        """Count before asking, so that a guess in flight counts too."""
        # The name as the form understood it: typed with spaces or in other letter forms, it is still the same account.
        key = (self.cleaned_data.get("username", "").casefold(), visitor_of(self.request, "page").address if self.request else "")
        if _guesses.exceeded(*key):
            raise forms.ValidationError("Too many attempts. Wait a few minutes.")
        cleaned: dict[str, object] = super().clean()
        _guesses.forgive(*key)
        return cleaned


class SignIn(views.LoginView):
    """The sign-in page."""

    template_name = "account/sign_in.html"
    authentication_form = ThrottledAuthenticationForm
    redirect_authenticated_user = True

    def get(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """While there is nobody to sign in, offer to make the first account."""
        if first_account.is_needed():
            return redirect("setup")
        return super().get(request, *args, **kwargs)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session, and with it this person's sockets that hang on it."""
    person = as_person(request.user)
    auth.logout(request)
    if person is not None:
        tell_sockets(person)
    return redirect("sign_in")


@method_decorator(login_required, name="dispatch")
class Password(views.PasswordChangeView):
    """A new password; other sessions of this person end."""

    template_name = "account/password.html"
    success_url = reverse_lazy("home")

    def form_valid(self, form: forms.BaseForm) -> HttpResponse:
        """Keep it, then have every socket of this person look whether its session is still good."""
        response = super().form_valid(form)  # type: ignore[arg-type]
        tell_sockets(person_of(self.request))
        return response


def tell_sockets(person: User) -> None:
    """Have this person's sockets ask again who they are and what they may see. Best effort: they ask by themselves, too."""
    groups.tell_person(person.pk, {"type": "session.check"})
