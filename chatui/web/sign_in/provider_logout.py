"""The endpoint for a provider's logout notification (OpenID Connect Back-Channel Logout 1.0)."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from chatui.accounts import sign_in
from chatui.accounts.sign_in_rules.provider import Provider
from chatui.accounts.sign_in_rules.sign_in_file import provider_of
from chatui.accounts.single_sign_on import logout_tokens
from chatui.accounts.single_sign_on.errors import BadSignInError, ProviderUnavailableError
from chatui.audit_log.record import Visitor
from chatui.guess_limits import MustWaitError
from chatui.offboarding import provider_logout
from chatui.permissions.access import NotFoundError
from chatui.web.guards import guarded
from chatui.web.visitors import visitor_of


@csrf_exempt
@require_POST
@guarded
def provider_logout_view(request: HttpRequest, provider: str) -> HttpResponse:
    """Accept a logout token. The request's own session is ignored: the token alone identifies the person."""
    found = provider_of(provider)
    if found is None:
        raise NotFoundError
    visitor = visitor_of(request, "program").as_nobody()
    try:
        with logout_tokens.use(found, request.POST.get("logout_token")) as logged_out:
            provider_logout.sign_out(visitor, found, logged_out)
    except (BadSignInError, ProviderUnavailableError) as error:
        return _refused_logout(visitor, found, error)
    return HttpResponse(status=200)


def _refused_logout(visitor: Visitor, provider: Provider, error: BadSignInError | ProviderUnavailableError) -> HttpResponse:
    """Refuse and count a wrong token. A valid token is never refused because of wrong ones from the same address."""
    sign_in.record_provider_sign_in_refused(visitor, f"by {provider.key}: {error.why}")
    if isinstance(error, ProviderUnavailableError):
        return JsonResponse({"error": "temporarily_unavailable"}, status=503)
    try:
        sign_in.count_wrong_logout(visitor)
    except MustWaitError as wait:
        return JsonResponse({"error": "invalid_request"}, status=429, headers={"Retry-After": str(wait.seconds)})
    return JsonResponse({"error": "invalid_request"}, status=400)
