"""The operator's pages and files (help, terms of use, mark, colours), the list of keyboard shortcuts, and the document that draws diagrams.

Diagrams are drawn in a document that is sandboxed, without an origin or a network, and with its own content security policy.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from csp.constants import NONCE, NONE, SELF, UNSAFE_INLINE
from csp.decorators import csp, csp_replace
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from chatui.display import operator_pages
from chatui.permissions.access import existing
from chatui.site import brand
from chatui.web.guards import INERT, View, for_anybody, signed_in


@for_anybody("GET")
def page(request: HttpRequest, name: str) -> HttpResponse:
    """A page of the operator's: help or terms of use."""
    body = existing(operator_pages.read(name) if name in operator_pages.PAGES else None)
    return render(request, "site/page.html", {"title": operator_pages.PAGES[name], "body": body, "name": name})


@signed_in("GET")
def shortcuts(request: HttpRequest) -> HttpResponse:
    return render(request, "chat/_shortcuts.html")


@for_anybody("GET")
@csp(INERT)  # type: ignore[arg-type]
def brand_file(request: HttpRequest, digest: str, file: str) -> HttpResponse:
    """The operator's mark, or a style sheet with their colour. Its address changes with its content, so browsers may keep it for ever."""
    found = existing(brand.file(digest, file))
    response = HttpResponse(found.data, content_type=found.content_type)
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response


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
