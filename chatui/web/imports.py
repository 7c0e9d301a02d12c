"""The page on which a person uploads a transcript or another chat product's export."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from chatui.codes import ProductCode
from chatui.display import conversation_list
from chatui.display.conversation_list import shown_conversation
from chatui.limits import Throttle
from chatui.transfer import imports, upload
from chatui.transfer.export_imports import ImportedExport, import_export, look_at_export
from chatui.transfer.imports import TranscriptFindings
from chatui.transfer.other_products import conversation_tree, reading
from chatui.transfer.other_products.conversation_tree import DroppedKind
from chatui.transfer.upload import MAX_BYTES, MAX_EXPORT_BYTES, ImportRefusedError, refuse
from chatui.web.guards import person_of, signed_in
from renderer.errors import Code, ErrorCode, Problem

# Each may contain megabytes and thousands of messages.
_imports = Throttle("import", attempts=40, seconds=600)

MAX_LISTED = 50
"""How many new conversations the report links to. Open pages are notified of as many; the others appear when a page is reloaded."""


class ImportForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        help_text=format_lazy(
            _(
                "A transcript in OpenChatML or its JSON, up to {most} MB, the zip of “Download everything”, or an export from ChatGPT "
                "(the zip, or conversations.json in it), Claude (the same), DeepSeek, Open WebUI or LibreChat (JSON), up to "
                "{max_of_exports} MB. System and developer messages, reasoning and tool traffic in it stay hidden."
            ),
            most=MAX_BYTES // (1024 * 1024),
            max_of_exports=MAX_EXPORT_BYTES // (1024 * 1024),
        ),
        widget=forms.FileInput(
            attrs={"accept": ".ocml,.txt,.json,.zip,text/plain,application/json,application/zip"},
        ),
    )


@signed_in("GET", "POST")
def import_page(request: HttpRequest) -> HttpResponse:
    """The form; after a valid upload, the new conversation, or a report of the import."""
    if request.method != "POST":
        return render(request, "account/import.html", {"form": ImportForm(), "details": ""})
    _imports.check(str(person_of(request).pk))
    form, data, details = ImportForm(request.POST, request.FILES), b"", ""
    try:
        if form.is_valid():
            data = form.cleaned_data["file"].read(MAX_EXPORT_BYTES + 1)
            _refuse_longer(len(data))
            return _look(request, form, data) if "look" in request.POST else _import(request, data)
        # The server drops the end of a long request, and with it the file.
        _refuse_longer(int(request.headers.get("Content-Length") or 0))
    except ImportRefusedError as error:
        form.errors.pop("file", None)
        form.add_error(None, _sentence(error, data))
        details = _rule(error.problem)
    return render(request, "account/import.html", {"form": form, "details": details}, status=400 if form.errors else 200)


def _refuse_longer(size: int) -> None:
    if size > MAX_EXPORT_BYTES:
        refuse(ProductCode.TOO_LARGE, gettext("the file is larger than %(count)d MB") % {"count": MAX_EXPORT_BYTES // (1024 * 1024)})


def _import(request: HttpRequest, data: bytes) -> HttpResponse:
    person = person_of(request)
    if reading.is_export(data):
        return _report(request, import_export(person, data))
    imported = imports.import_transcript(person, data)
    row, findings = imported.conversation, imported.findings
    conversation_list.tell(row.owner_id, conversation_list.listed(row))
    if not findings.problems and not findings.unheld:
        return redirect("conversation", row.pk)
    rules = [_rule(problem) for problem in findings.reported]
    report = {"links": [shown_conversation(row)], "count": 1, "found": _sentences(findings), "rules": rules}
    return render(request, "account/imported.html", report)


def _look(request: HttpRequest, form: ImportForm, data: bytes) -> HttpResponse:
    """The form again, with what is in the chosen file. Nothing is stored."""
    if reading.is_export(data):
        seen = look_at_export(person_of(request), data)
        words = gettext("This is an export. What was left out of it is said after the import.")
        report: dict[str, object] = {"found": [words, *(each["words"] for each in _new(seen)), *conversation_tree.sentences(seen.left_out)]}
    else:
        findings = imports.look_at(person_of(request), data)
        words = ngettext(
            "%(count)d message, %(visible)d of them visible.", "%(count)d messages, %(visible)d of them visible.", findings.frames
        ) % {"count": findings.frames, "visible": findings.visible}
        report = {"found": [words, *_sentences(findings)], "rules": [_rule(problem) for problem in findings.reported]}
    return render(request, "account/import.html", {"form": form, **report})


_WORDS: dict[ErrorCode, Promise] = {
    Code.PARSE_HEADER: _("A part does not follow the format. Whatever could not be understood is hidden."),
    Code.BODY_CONSTRAINT_VIOLATION: _("The text is not in the form that its header promises."),
    Code.CALL_SCHEMA: _("A tool call and its reply do not fit together, or the call cannot be carried out."),
}
_HEADER_WORDS = _("The header of the file is missing or has a fault. The messages after it were read all the same.")


def _sentences(imported: TranscriptFindings) -> list[str]:
    """What was found in a transcript, in words for the person who uploaded it."""
    places = [problem.location for problem in imported.reported]
    has_fault = any(place is None or place.frame is None for place in places)
    found = [str(_HEADER_WORDS)] if has_fault or (imported.is_fragment and places) else []
    for problem, place in zip(imported.reported, places, strict=True):
        if place is not None and place.frame is not None:
            words = str(_WORDS.get(problem.code) or gettext(problem.sentence))
            values = {"number": place.frame + 1, "line": place.line, "words": words}
            found.append(gettext("Message %(number)d, line %(line)d: %(words)s") % values)
    if more := imported.problems - len(imported.reported):
        found.append(ngettext("%(count)d more place is like these.", "%(count)d more places are like these.", more) % {"count": more})
    if imported.unheld:
        words = gettext("These settings of the file do not apply here: %(names)s.")
        found.append(words % {"names": ", ".join(imported.unheld)})
    return found


def _new(found: ImportedExport) -> list[dict[str, str]]:
    """How many assistants and prompts of an archive the person did not have yet, with the page where they are."""
    numbers = (
        ("assistants", ngettext("%(count)d new assistant", "%(count)d new assistants", found.assistants), found.assistants),
        ("prompts", ngettext("%(count)d new saved prompt", "%(count)d new saved prompts", found.prompts), found.prompts),
    )
    return [{"url": reverse(page), "words": words % {"count": number}} for page, words, number in numbers if number]


def _report(request: HttpRequest, imported: ImportedExport) -> HttpResponse:
    """The report: links to new conversations, and counts of what was left out, by kind."""
    rows = imported.conversations[:MAX_LISTED]
    for row in rows:
        conversation_list.tell(row.owner_id, conversation_list.listed(row))
    waiting = imported.left_out.pop(DroppedKind.CONVERSATION_POSTPONED, 0)
    report = {
        "postponed": DroppedKind.CONVERSATION_POSTPONED.sentence(waiting) if waiting else "",
        "links": [shown_conversation(row) for row in rows],
        "count": len(imported.conversations),
        "new": _new(imported),
        "more": len(imported.conversations) - len(rows),
        "left_out": conversation_tree.sentences(imported.left_out),
    }
    return render(request, "account/imported.html", report)


def _sentence(error: ImportRefusedError, data: bytes) -> str:
    """Our own rule that the file breaks; or, if no transcript was found in it, what it is instead. Quotes nothing from the file."""
    if isinstance(error.problem.code, ProductCode):
        return gettext("Nothing was imported: %(reason)s.") % {"reason": error.problem.hint}
    return gettext("Nothing was imported. %(what)s") % {"what": upload.what_it_is(data)}


def _rule(problem: Problem) -> str:
    """For whoever made the file: the code, and the place and rule of the format, which quote nothing from the file either."""
    place = problem.location
    if place is None:
        return str(problem.code)
    words = gettext("Line %(line)d, column %(column)d: %(reason)s (%(code)s).")
    return words % {"line": place.line, "column": place.column, "reason": problem.hint, "code": problem.code}
