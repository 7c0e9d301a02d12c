"""The endpoints for uploads: upload a file, find earlier ones, show the extracted text, and delete it."""

from __future__ import annotations

from functools import partial
from urllib.parse import unquote
from uuid import UUID

from csp.constants import NONE
from csp.decorators import csp
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatui.codes import ProductCode
from chatui.display.files import upload_status
from chatui.documents.kinds import Reason
from chatui.env import environment
from chatui.permissions import access
from chatui.throttle import Throttle
from chatui.transfer import file_intake, sent_files, uploaded_files
from chatui.transfer.file_intake import FileDestination, UploadRefusedError
from chatui.web.errors import refuse
from chatui.web.guards import guarded
from chatui.web.people import person_of

_uploads = Throttle("files", attempts=120, seconds=600)
_NOTHING = {"default-src": [NONE], "base-uri": [NONE], "form-action": [NONE], "frame-ancestors": [NONE], "sandbox": []}
_NAME_CHARS = 1000
_MAX_NUMBER = 2**31 - 1
_TEMPORARY = ("busy", "unchecked", Reason.UNAVAILABLE)
"""Temporary reasons: the page offers to try again."""


@require_http_methods(["GET", "POST"])
@login_required
@guarded
def files(request: HttpRequest) -> HttpResponse:
    """Upload one file for the message box of ``conversation``, or list those that wait there, or those sent with its ``question``."""
    person, choice, conversation_id = person_of(request), request.GET.get("choice", ""), _message_box(request)
    if request.method == "POST":
        _uploads.check(str(person.pk))
        return _upload(request, FileDestination(person.pk, None, brought_in=conversation_id))
    if conversation_id and (question := request.GET.get("question", "")):
        return JsonResponse(upload_status.of_question(person, conversation_id, question, choice))
    return JsonResponse(upload_status.waiting_at(person, conversation_id, choice))


def _upload(request: HttpRequest, place: FileDestination) -> HttpResponse:
    """Upload one file: the body is its bytes, and ``X-File-Name`` its percent-encoded name.

    The reply gives its share of the context of the model ``choice``, or the reason for refusing it.
    """
    try:
        file = file_intake.accept(place, unquote(request.headers.get("X-File-Name", ""))[:_NAME_CHARS], partial(_body, request))
    except UploadRefusedError as error:
        return _refused(error.why, error)
    status = upload_status.as_json(file, upload_status.reader(person_of(request), request.GET.get("choice", "")))
    return JsonResponse({"ok": True, **status}) if status else _refused("gone")


@require_GET
@login_required
@guarded
def files_earlier(request: HttpRequest) -> HttpResponse:
    """The files that the person has sent before whose names have all words of ``q``, the newest first, and whether there are ``more``."""
    found, more = sent_files.search(person_of(request), request.GET.get("q", "")[:_NAME_CHARS])
    return JsonResponse({"ok": True, "files": [upload_status.earlier_as_json(file) for file in found], "more": more})


@require_POST
@login_required
@guarded
def again(request: HttpRequest, file_id: UUID) -> HttpResponse:
    """Add such a file to the message box of ``conversation``. The reply is the same as for an upload."""
    person = person_of(request)
    _uploads.check(str(person.pk))
    file = sent_files.attach_again(person, file_id, _message_box(request))
    status = upload_status.as_json(file, upload_status.reader(person, request.GET.get("choice", "")))
    return JsonResponse({"ok": True, **status}) if status else _refused("gone")


@require_GET
@login_required
@guarded
@csp(_NOTHING)  # type: ignore[arg-type]
def text(request: HttpRequest, file_id: UUID) -> HttpResponse:
    """The text extracted from one's own file, as plain text, in which no script can run."""
    found = uploaded_files.text_of(access.as_person(request.user), file_id)
    response = HttpResponse(found, content_type="text/plain; charset=utf-8")
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


@require_GET
@login_required
@guarded
def passage(request: HttpRequest, file_id: UUID, number: int) -> HttpResponse:
    """The passage of one's own document to which a citation leads."""
    place = uploaded_files.passage_of(access.as_person(request.user), file_id, min(number, _MAX_NUMBER))
    neighbours = {"previous": place.number - 1, "next": place.number + 1 if place.number < place.count else 0}
    return render(request, "files/passage.html", {"place": place, **neighbours})


@require_POST
@login_required
@guarded
def delete(request: HttpRequest, file_id: UUID) -> HttpResponse:
    """Delete a file that the person uploaded, sent or not. 409 while an answer is being written in its conversation."""
    try:
        uploaded_files.delete(person_of(request), file_id)
    except uploaded_files.AnsweringError:
        return refuse(request, ProductCode.BUSY, 409)
    return JsonResponse({"ok": True})


def _message_box(request: HttpRequest) -> UUID | None:
    """The conversation whose message box the files belong to; None for a new one."""
    asked = request.GET.get("conversation", "")
    return access.own_conversation(person_of(request), asked).pk if asked else None


def _body(request: HttpRequest) -> bytes:
    most = environment().file_mb * 1024 * 1024
    data = request.read(most + 1)
    if len(data) > most:
        raise UploadRefusedError("too-long")
    return data


def _refused(why: str, error: UploadRefusedError | None = None) -> HttpResponse:
    found = error.found if error else None
    status = {"ok": False, "why": why, "message": upload_status.sentence(why, found.places if found else 0)}
    return JsonResponse(status, status=503 if why in _TEMPORARY else 200)
