"""What monitors ask for: liveness (``/healthz``) and readiness (``/readyz``), open to everybody, with no other information, and with the
operator's token ``/metrics``; and whether a page's WebSocket is refused because of how the site is set up.
"""

from __future__ import annotations

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe

from chatui.codes import ProductCode
from chatui.display import metrics as display_metrics
from chatui.display import readiness
from chatui.env import environment
from chatui.guesses import GuessLimit, Scope
from chatui.live import routing
from chatui.permissions.access import NotFoundError
from chatui.proxies import setup_faults
from chatui.site.languages import sentence_of
from chatui.web.guards import for_anybody, visitor_of
from chatui.web.middleware import PEER


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the process runs. It checks nothing else: a process must not be killed because its database is down."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
async def readyz(request: HttpRequest) -> HttpResponse:
    """200 if everything that the process needs is available, else 503; both list the state of each."""
    findings = await readiness.check()
    is_ready = readiness.is_ready(findings)
    response = JsonResponse({"ready": is_ready, **findings}, status=200 if is_ready else 503)
    response._has_been_logged = True  # type: ignore[attr-defined] # or Django logs an error for every request
    return response


@require_safe
def socket(request: HttpRequest) -> HttpResponse:
    """426 for the handshake of a WebSocket from which a proxy took the header ``Upgrade``, and to a page whose sockets fail, if the reason
    is how the site is set up. The page names its ``origin``. Otherwise 404, as there is no page at this address."""
    if "Sec-WebSocket-Key" in request.headers:
        setup_faults.note_spoilt("Upgrade")
    elif not setup_faults.spoils_sockets and _is_allowed(request, request.GET.get("origin", "")):
        return _socket_answer(ProductCode.NOT_FOUND, 404)
    return _socket_answer(ProductCode.WRONG_PROXY, 426)


def _socket_answer(code: ProductCode, status: int) -> HttpResponse:
    """Without a line in the log: every page asks again and again, and the fault has its own line."""
    response = JsonResponse({"ok": False, "code": code, "message": sentence_of(code)}, status=status)
    response._has_been_logged = True  # type: ignore[attr-defined] # or Django logs every one
    return response


def _is_allowed(request: HttpRequest, origin: str) -> bool:
    """Whether a socket from this origin would be let in at the address of the request."""
    named = [(b"origin", origin.encode()), (b"host", request.get_host().encode())]
    named += [(b"x-forwarded-proto", request.headers.get("X-Forwarded-Proto", "").encode())]
    return not origin or routing.is_allowed({"client": (request.META.get(PEER, ""),), "headers": named})


_guesses = GuessLimit("metrics token", address=Scope(free=9, longest=60, window=600))


@for_anybody("GET")
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics. 404 without the right token."""
    token = environment().metrics_token
    if not token:
        raise NotFoundError
    if not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {token}"):
        _guesses.miss(visitor_of(request, "page").address)
        raise NotFoundError
    return HttpResponse(async_to_sync(display_metrics.text)(), content_type="text/plain; version=0.0.4; charset=utf-8")
