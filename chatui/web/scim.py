"""The SCIM endpoints, below ``/scim/v2/``: token in, JSON out. ``chatui.lifecycle`` does the work.

Sessions are ignored here, and the token is valid nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import Resolver404, resolve, reverse
from django.views.decorators.csrf import csrf_exempt

from chatui.accounts.sign_in_settings import Provider
from chatui.audit_log.record import Visitor
from chatui.guesses import MustWaitError
from chatui.lifecycle import scim_groups, scim_patches, scim_people, scim_resources, scim_tokens
from chatui.lifecycle.scim_resources import NoSuchResourceError, ScimError
from chatui.lifecycle.scim_tokens import TokenRefusedError
from chatui.limits import ThrottledError
from chatui.proxies import public_address
from renderer import strict_json
from renderer.strict_json import JsonError

MAX_BYTES = 1024 * 1024
TYPE = "application/scim+json"
_TOO_LARGE = "The request is too large."


@dataclass(frozen=True, slots=True)
class ScimCall:
    """A directory's request."""

    visitor: Visitor
    provider: Provider
    method: str
    base: str
    """The SCIM base URL."""
    query: Mapping[str, str]
    body: Mapping[str, Any]
    """The JSON object that was sent, empty if none."""


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
                provider = scim_tokens.authenticate(visitor, _bearer(request))
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
    base = public_address(request, reverse("scim_users")).removesuffix("Users")
    try:
        call = ScimCall(visitor, provider, request.method or "", base, request.GET.dict(), _body(request))
        status, found = view(call, **parameters)
    except ScimError as error:
        return JsonResponse(scim_resources.problem(error), status=error.status, content_type=TYPE)
    if found is None:
        return HttpResponse(status=status)
    location = {"Location": found["meta"]["location"]} if status == 201 else {}
    if "Resources" in found:
        found = {**found, "Resources": [_selected(request, each) for each in found["Resources"]]}
    else:
        found = _selected(request, found)
    return JsonResponse(found, status=status, content_type=TYPE, headers=location)


def _selected(request: HttpRequest, resource: scim_resources.Json) -> scim_resources.Json:
    only, without = (list(filter(None, request.GET.get(name, "").split(","))) for name in ("attributes", "excludedAttributes"))
    return scim_resources.selected(resource, only, without)


def _bearer(request: HttpRequest) -> str:
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() if kind.lower() == "bearer" and len(text) < 200 else ""


def _body(request: HttpRequest) -> Mapping[str, Any]:
    if request.method not in ("POST", "PUT", "PATCH"):
        return {}
    try:
        if len(request.body) > MAX_BYTES:
            raise ScimError(_TOO_LARGE, status=413)
        found = strict_json.loads(request.body.decode("utf-8"), exact=True)
    except RequestDataTooBig:
        raise ScimError(_TOO_LARGE, status=413) from None
    except (UnicodeDecodeError, JsonError):
        raise ScimError("The body is not JSON.", "invalidSyntax") from None
    if not isinstance(found, dict):
        raise ScimError("The body must be an object.", "invalidSyntax")
    return found


def _refused(status: int, detail: str, headers: Mapping[str, str]) -> HttpResponse:
    return JsonResponse(scim_resources.problem(ScimError(detail, status=status)), status=status, content_type=TYPE, headers=headers)


@scim("GET")
def service_provider_config(call: ScimCall) -> Answer:
    return 200, scim_resources.service_provider_config(call.base)


@scim("GET")
def resource_types(call: ScimCall, key: str = "") -> Answer:
    return _listed_or_one(scim_resources.resource_types(call.base), key)


@scim("GET")
def schemas(call: ScimCall, key: str = "") -> Answer:
    return _listed_or_one(scim_resources.schemas(call.base), key)


@scim("GET", "POST")
def users(call: ScimCall) -> Answer:
    return _search_or_create(call, scim_people, _person)


@scim("GET", "PUT", "PATCH", "DELETE")
def user(call: ScimCall, key: str) -> Answer:
    return _read_or_change(call, key, scim_people, _person)


@scim("GET", "POST")
def all_groups(call: ScimCall) -> Answer:
    return _search_or_create(call, scim_groups, _group)


@scim("GET", "PUT", "PATCH", "DELETE")
def group(call: ScimCall, key: str) -> Answer:
    return _read_or_change(call, key, scim_groups, _group)


def _search_or_create(call: ScimCall, kind: ModuleType, write: Callable[[ScimCall, Any], scim_resources.Json]) -> Answer:
    if call.method == "POST":
        scim_patches.check_schemas(call.body, kind.SCHEMA)
        return 201, write(call, kind.create(call.visitor, call.provider, call.body))
    text = call.query.get("filter", "")
    if len(text) > 1000:
        raise ScimError("The filter is too long.", "invalidFilter")
    rows = kind.search(call.provider, text)
    start = max(1, _number(call, "startIndex", 1))  # counted from 1
    count = min(scim_resources.MAX_RESULTS, max(0, _number(call, "count", 100)))
    wanted = rows[start - 1 : start - 1 + count]
    return 200, scim_resources.page([write(call, row) for row in wanted], rows.count(), start)


def _read_or_change(call: ScimCall, key: str, kind: ModuleType, write: Callable[[ScimCall, Any], scim_resources.Json]) -> Answer:
    if call.method == "DELETE":
        kind.delete(call.visitor, call.provider, key)
        return 204, None
    if call.method == "GET":
        return 200, write(call, kind.get(call.provider, key))
    if call.method == "PUT":
        scim_patches.check_schemas(call.body, kind.SCHEMA)
        changes = scim_patches.of_resource(call.body, kind.NEEDED)
    else:
        scim_patches.check_schemas(call.body, scim_resources.PATCH)
        changes = scim_patches.changes(call.body, key)
    return 200, write(call, kind.change(call.visitor, call.provider, key, changes))


@csrf_exempt
def nothing(request: HttpRequest, rest: str) -> HttpResponse:
    """All other addresses, such as those of bulk requests. A slash at the end makes none of another."""
    try:
        found = resolve(request.path_info.rstrip("/"))
    except Resolver404:
        return _nothing(request, rest=rest)
    if rest.endswith("/") and found.url_name != "scim_nothing":
        response: HttpResponse = found.func(request, **found.kwargs)
        return response
    return _nothing(request, rest=rest)


@scim("GET", "POST", "PUT", "PATCH", "DELETE")
def _nothing(call: ScimCall, rest: str) -> Answer:
    raise NoSuchResourceError


def _person(call: ScimCall, row: Any) -> scim_resources.Json:
    return scim_resources.person(row, call.base)


def _group(call: ScimCall, row: Any) -> scim_resources.Json:
    is_short = "members" in call.query.get("excludedAttributes", "")
    return scim_resources.group(row, call.base, None if is_short else list(scim_groups.members_of(call.provider, row)))


def _number(call: ScimCall, name: str, otherwise: int) -> int:
    text = call.query.get(name, "")
    if not text:
        return otherwise
    if len(text) > 9 or not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        raise ScimError(f"{name} must be a number.", "invalidValue")
    return int(text)


def _listed_or_one(found: Sequence[scim_resources.Json], key: str) -> Answer:
    if not key:
        return 200, scim_resources.page(found, len(found), 1)
    for each in found:
        if each["id"] == key:
            return 200, each
    raise NoSuchResourceError
