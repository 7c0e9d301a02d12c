"""The decorator of all SCIM endpoints: token in, JSON out. Sessions are ignored here, and the token is valid nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt

from chatui.accounts.sign_in_rules.provider import Provider
from chatui.audit_log.record import Visitor
from chatui.guess_limits import MustWaitError
from chatui.provisioning import resources, tokens
from chatui.provisioning.errors import ScimError
from chatui.provisioning.tokens import TokenRefusedError
from chatui.throttle import ThrottledError
from renderer import strict_json
from renderer.strict_json import JsonError

MAX_BYTES = 1024 * 1024
TYPE = "application/scim+json"


@dataclass(frozen=True, slots=True)
class Call:
    """A directory's request. ``base``: the SCIM base URL; ``body``: the JSON object that was sent, empty if none."""

    visitor: Visitor
    provider: Provider
    method: str
    base: str
    query: Mapping[str, str]
    body: Mapping[str, Any]


class _TooLargeError(ScimError):
    status = 413

    def __init__(self) -> None:
        super().__init__("The request is too large.")


Answer = tuple[int, Any]
"""Status and JSON; None for no body."""


def scim(*methods: str) -> Callable[[Callable[..., Answer]], Callable[..., HttpResponse]]:
    """A view of these methods, given a Call and the parameters of its address."""

    def decorate(view: Callable[..., Answer]) -> Callable[..., HttpResponse]:
        @csrf_exempt
        @wraps(view)
        def answer(request: HttpRequest, **parameters: str) -> HttpResponse:
            visitor = Visitor(None, request.META.get("REMOTE_ADDR") or "", "program")
            try:
                provider = tokens.authenticate(visitor, _bearer(request))
            except TokenRefusedError:
                return _refused(401, "A good bearer token is needed.", {"WWW-Authenticate": "Bearer"})
            except MustWaitError as wait:
                return _refused(429, "Too many wrong tokens.", {"Retry-After": str(wait.seconds)})
            except ThrottledError:
                return _refused(429, "Too many requests.", {"Retry-After": "60"})
            if request.method not in methods:
                return _refused(405, "There is no such method here.", {"Allow": ", ".join(methods)})
            return _answered(request, view, visitor, provider, parameters)

        return answer

    return decorate


def _answered(
    request: HttpRequest, view: Callable[..., Answer], visitor: Visitor, provider: Provider, parameters: Mapping[str, str]
) -> HttpResponse:
    base = request.build_absolute_uri(reverse("scim_users")).removesuffix("Users")
    try:
        call = Call(visitor, provider, request.method or "", base, request.GET.dict(), _body(request))
        status, found = view(call, **parameters)
    except ScimError as error:
        return JsonResponse(resources.problem(error), status=error.status, content_type=TYPE)
    if found is None:
        return HttpResponse(status=status)
    location = {"Location": found["meta"]["location"]} if status == 201 else {}
    return JsonResponse(found, status=status, content_type=TYPE, headers=location)


def _bearer(request: HttpRequest) -> str:
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() if kind.lower() == "bearer" and len(text) < 200 else ""


def _body(request: HttpRequest) -> Mapping[str, Any]:
    if request.method not in ("POST", "PUT", "PATCH"):
        return {}
    try:
        if len(request.body) > MAX_BYTES:
            raise _TooLargeError
        found = strict_json.loads(request.body.decode("utf-8"), exact=True)
    except RequestDataTooBig:
        raise _TooLargeError from None
    except (UnicodeDecodeError, JsonError):
        raise ScimError("The body is not JSON.", "invalidSyntax") from None
    if not isinstance(found, dict):
        raise ScimError("The body must be an object.", "invalidSyntax")
    return found


def _refused(status: int, detail: str, headers: Mapping[str, str]) -> HttpResponse:
    error = ScimError(detail)
    error.status = status
    return JsonResponse(resources.problem(error), status=status, content_type=TYPE, headers=headers)
