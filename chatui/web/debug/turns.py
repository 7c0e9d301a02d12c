"""The debug view's pages about one turn: the prompt that was sent to the model, and the tokens of prompt and output."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from chatui.display.debug import prompts, tokens
from chatui.permissions import access
from chatui.web.debug.pages import after_opt_in, number_of, opened
from chatui.web.guards import hidden_channels
from chatui.web.visitors import visitor_of


@hidden_channels("GET", "debug prompt")
@after_opt_in
def prompt(request: HttpRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    """The body of the request, one part at a time. ``format=sent`` shows it byte for byte."""
    row = access.view_hidden(visitor_of(request, "page"), conversation_id, action="debug prompt")
    # Old links use ``form``.
    laid_out = request.GET.get("format", request.GET.get("form")) != "sent"
    number = number_of(request.GET.get("part"), 1)
    shown = prompts.part(row, turn_id, number, laid_out=laid_out)
    return render(request, "debug/prompt.html", opened(request, row, "prompt") | {"prompt": shown})


@hidden_channels("GET", "prompt download")
@after_opt_in
def prompt_file(request: HttpRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    """The whole body as a file."""
    row = access.view_hidden(visitor_of(request, "download"), conversation_id, action="prompt download")
    # Served as a download: a prompt may contain anything.
    response = HttpResponse(prompts.whole(row, turn_id), content_type="text/plain; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="prompt-{turn_id}.json"'
    return response


@hidden_channels("GET", "debug tokens")
@after_opt_in
def turn_tokens(request: HttpRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    """Token ids and text, a few hundred per page: of the prompt, or of the model's output with ``of=output``."""
    row = access.view_hidden(visitor_of(request, "page"), conversation_id, action="debug tokens")
    of = tokens.OUTPUT if request.GET.get("of") == tokens.OUTPUT else tokens.PROMPT
    page = tokens.page(row, turn_id, of, number_of(request.GET.get("from"), 0))
    return render(request, "debug/tokens.html", opened(request, row, "tokens") | {"page": page})
