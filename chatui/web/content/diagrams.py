"""The document in which diagrams are drawn: sandboxed, without an origin or a network, and with its own content security policy."""

from __future__ import annotations

from functools import wraps
from typing import Any

from csp.constants import NONCE, NONE, SELF, UNSAFE_INLINE
from csp.decorators import csp, csp_replace
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from chatui.web.guards import View

# What draws is the code of others, and what it reads was written by a model. So its document has an opaque origin (no cookies, no storage,
# nothing of the page that frames it), runs the two scripts that carry this answer's nonce, loads nothing, and can send nothing anywhere.
# Styles are free, because diagrams are full of them; without images and fonts they have nothing to fetch.
_POLICY = {
    "default-src": [NONE],
    "script-src": [NONCE],
    "style-src": [SELF, UNSAFE_INLINE],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": [SELF],
    "sandbox": ["allow-scripts"],
}

_framing = csp_replace({"frame-src": [SELF]})


def draws_diagrams(view: View) -> View:
    """Lets a page frame the diagram document, the only one of ours that any page may frame. Redirects and refusals frame nothing."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        return _framing(lambda _: response)(request) if response.status_code == 200 else response

    return answer


@require_GET
@xframe_options_sameorigin
@csp(_POLICY)
def diagram(request: HttpRequest) -> HttpResponse:
    """An empty page that draws one diagram, whose source the page around it sends. It is the same for everybody."""
    return render(request, "diagram/diagram.html")
