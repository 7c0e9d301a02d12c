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

# Third-party code draws what a model wrote. So the document has an opaque origin (no cookies, no storage, no access to the page that frames
# it), runs only the two scripts with this response's nonce, loads nothing, and can send nothing anywhere. Inline styles are allowed,
# because diagrams need them; without images and fonts they cannot fetch anything.
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
    """Lets a page frame the diagram document, the only one of ours that may be framed. Redirects and refusals allow no framing."""

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
    return render(request, "site/diagram.html")
