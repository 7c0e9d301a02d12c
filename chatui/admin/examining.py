"""The admin page that examines a model server, and shows the progress and the findings."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from chatui.backends.spec import BackendSpec
from chatui.env import environment
from chatui.limits import Throttle
from chatui.model_servers import connected
from chatui.model_servers.configured import operator_backends
from chatui.models.model_servers import StoredBackend
from chatui.operations.doctor import runs
from chatui.operations.doctor.examination import SECONDS
from chatui.operations.doctor.runs import BusyError
from chatui.permissions import administration
from chatui.permissions.access import NotFoundError
from chatui.permissions.administration import AdminPart
from chatui.web.guards import visitor_of
from chatui.web.manage.parts import for_part, page
from chatui.web.sign_in.pages import person_of

_throttle = Throttle("examinations", attempts=30, seconds=600)


@for_part(AdminPart.SERVERS, "GET", "POST")
def server(request: HttpRequest, name: str) -> HttpResponse:
    """Show the result of the last examination, and to staff who may change model servers a button for a new one."""
    spec = next((known for known in connected.specs() if known.name == name and not known.is_demo), None)
    if spec is None:
        raise NotFoundError
    if request.method == "POST":
        return _begin(request, spec)
    return _page(request, spec)


def _begin(request: HttpRequest, spec: BackendSpec) -> HttpResponse:
    staff = person_of(request)
    if not administration.may_examine(staff):
        raise NotFoundError
    _throttle.check(str(staff.pk))
    try:
        runs.begin(visitor_of(request, "admin"), spec)
    except BusyError:
        return _page(request, spec, is_busy=True)
    return redirect("manage_server", name=spec.name)


def _page(request: HttpRequest, spec: BackendSpec, *, is_busy: bool = False) -> HttpResponse:
    is_outside = spec.name in [known.name for known in operator_backends(environment())]
    context: dict[str, object] = {
        "server": {"name": spec.name, "label": spec.label, "addresses": 1 + len(spec.more_urls)},
        "stored": None if is_outside else StoredBackend.objects.filter(name=spec.name).values_list("pk", flat=True).first(),
        "found": runs.status_of(spec),
        "most": runs.max_questions(spec),
        "seconds": round(SECONDS),
        "may_examine": administration.may_examine(person_of(request)),
        "is_busy": is_busy,
    }
    return page(request, AdminPart.SERVERS, "manage/server.html", context, 409 if is_busy else 200)
