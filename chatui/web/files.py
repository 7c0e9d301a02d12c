"""The endpoints for files: download one that a model or a person wrote, upload one, find earlier ones, show the text, and delete one.

Files are served with headers that keep browsers from executing them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote
from uuid import UUID

from csp.constants import UNSAFE_INLINE
from csp.decorators import csp
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header

from chatui.codes import ProductCode
from chatui.display import file_limits
from chatui.display import files as display_files
from chatui.documents.kinds import NoTextReason
from chatui.env import environment
from chatui.limits import Throttle
from chatui.permissions import access
from chatui.transfer import files as transfer_files
from chatui.transfer.files import DOWNLOAD_ACTION, Download, FileDestination, UploadRefusedError
from chatui.web import downloads
from chatui.web.errors import refuse
from chatui.web.guards import INERT, hidden_channels, person_of, signed_in, visitor_of

if TYPE_CHECKING:
    from chatui.models.files import StoredFile

# The browser makes the document around a picture that is opened directly. Its styles must be allowed, or black lines may be drawn on black.
_PICTURE_POLICY = {**INERT, "style-src": [UNSAFE_INLINE]}
_ANYTHING = "application/octet-stream"


@signed_in("GET")
def file(request: HttpRequest, file_id: UUID) -> HttpResponseBase:
    return _served(request, transfer_files.own(access.as_person(request.user), file_id))


@signed_in("GET")
def turn_files(request: HttpRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    """The fragment with the files of a turn, for a page that follows it."""
    row = access.own_conversation(person_of(request), conversation_id)
    return render(request, "exchange/_files.html", {"answer": {"files": display_files.of_turn(row, turn_id)}})


@hidden_channels("GET", DOWNLOAD_ACTION)
def debug_file(request: HttpRequest, conversation_id: UUID, file_id: UUID) -> HttpResponseBase:
    """A file in a conversation whose debug view is open.

    Like the debug view it needs the permission and opt-in, and is recorded in the audit log.
    """
    return _served(request, transfer_files.hidden(visitor_of(request, "download"), conversation_id, file_id))


def _served(request: HttpRequest, found: Download) -> HttpResponseBase:
    """Pictures in formats without scripts are shown in place; everything else is downloaded as untyped bytes."""
    response = downloads.streamed(request, found.pieces, found.picture_type or _ANYTHING)
    response.headers["Content-Length"] = str(found.size)
    disposition = content_disposition_header(not found.picture_type, found.name)
    response.headers["Content-Disposition"] = disposition or "attachment"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return csp(_PICTURE_POLICY if found.picture_type else INERT)(lambda _: response)(request)


uploads = Throttle("files", attempts=120, seconds=600)
_NAME_CHARS = 1000
_MAX_NUMBER = 2**31 - 1
_TEMPORARY = ("busy", "unchecked", NoTextReason.SLOW, NoTextReason.UNAVAILABLE)
"""Temporary reasons: the page offers to try again."""


@signed_in("GET", "POST")
def files(request: HttpRequest) -> HttpResponse:
    """Upload one file for the message box of ``conversation``; or list the files that wait there, or that were sent with its
    ``question``."""
    person, choice, question = person_of(request), request.GET.get("choice", ""), request.GET.get("question", "")
    if request.method == "GET" and question:
        # Before the conversation is: naming a hidden message is an attempt, whoever owns the conversation.
        asked = request.GET.get("conversation", "")
        return JsonResponse(display_files.of_question(visitor_of(request, "page"), asked, question, choice))
    conversation_id = message_box(request)
    if request.method == "POST":
        uploads.check(str(person.pk))
        return _upload(request, FileDestination(person.pk, None, brought_in=conversation_id))
    return JsonResponse(display_files.waiting_at(person, conversation_id, choice))


def _upload(request: HttpRequest, place: FileDestination) -> HttpResponse:
    """Upload one file: the body is its bytes, and ``X-File-Name`` its percent-encoded name.

    The reply gives its share of the context of the model ``choice``, or the reason for refusing it.
    """
    try:
        file = transfer_files.accept(place, unquote(request.headers.get("X-File-Name", ""))[:_NAME_CHARS], partial(_body, request))
    except UploadRefusedError as error:
        return _refused(error)
    return _chip(request, file)


@signed_in("GET")
def files_earlier(request: HttpRequest) -> HttpResponse:
    """The files that the person has sent before whose names have all words of ``q``, the newest first, and whether there are ``more``."""
    found, more = transfer_files.search(person_of(request), request.GET.get("q", "")[:_NAME_CHARS])
    return JsonResponse({"ok": True, "files": [display_files.earlier_as_json(file) for file in found], "more": more})


@signed_in("GET")
def limits(request: HttpRequest) -> HttpResponse:
    """The page that says which files can be attached, and the limits of each kind."""
    return render(request, "site/file_limits.html", {"accepted": display_files.accepted(), "table": file_limits.table()})


@signed_in("POST")
def again(request: HttpRequest, file_id: UUID) -> HttpResponse:
    """Add such a file to the message box of ``conversation``. The reply is the same as for an upload."""
    person = person_of(request)
    uploads.check(str(person.pk))
    file = transfer_files.attach_again(person, file_id, message_box(request))
    return _chip(request, file)


@signed_in("POST")
def encoding(request: HttpRequest, file_id: UUID) -> HttpResponse:
    """Read a text file that waits to be sent in another ``encoding``. The reply is the same as for an upload."""
    person = person_of(request)
    uploads.check(str(person.pk))
    try:
        return _chip(request, transfer_files.read_again(person, file_id, request.POST.get("encoding", "")))
    except UploadRefusedError as error:
        return _refused(error)


def _chip(request: HttpRequest, file: StoredFile) -> HttpResponse:
    status = display_files.as_json(file, display_files.reader(person_of(request), request.GET.get("choice", "")))
    return JsonResponse({"ok": True, **status}) if status else _refused(UploadRefusedError("gone"))


@signed_in("GET")
@csp(INERT)  # type: ignore[arg-type]
def text(request: HttpRequest, file_id: UUID) -> HttpResponse:
    """The text extracted from one's own file, as plain text, in which no script can run."""
    found = transfer_files.text_of(access.as_person(request.user), file_id)
    response = HttpResponse(found, content_type="text/plain; charset=utf-8")
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


@signed_in("GET")
def passage(request: HttpRequest, file_id: UUID, number: int) -> HttpResponse:
    """The passage of one's own document to which a citation leads."""
    place = transfer_files.passage_of(access.as_person(request.user), file_id, min(number, _MAX_NUMBER))
    neighbours = {"previous": place.number - 1, "next": place.number + 1 if place.number < place.count else 0}
    return render(request, "exchange/passage.html", {"place": place, **neighbours})


@signed_in("POST")
def delete(request: HttpRequest, file_id: UUID) -> HttpResponse:
    """Delete a file that the person uploaded, sent or not. 409 while an answer is being written in its conversation."""
    try:
        transfer_files.delete(person_of(request), file_id)
    except transfer_files.AnsweringError:
        return refuse(request, ProductCode.BUSY, 409)
    return JsonResponse({"ok": True})


def message_box(request: HttpRequest) -> UUID | None:
    """The conversation whose message box the files belong to; None for a new one."""
    asked = request.GET.get("conversation", "")
    return access.own_conversation(person_of(request), asked).pk if asked else None


def _body(request: HttpRequest) -> bytes:
    most = environment().file_mb * 1024 * 1024
    data = request.read(most + 1)
    if len(data) > most:
        raise UploadRefusedError("too-long")
    return data


def _refused(error: UploadRefusedError) -> HttpResponse:
    message = display_files.sentence(error.why, error.reading.places if error.reading else 0)
    return JsonResponse({"ok": False, "why": error.why, "message": message}, status=503 if error.why in _TEMPORARY else 200)
