"""The operator's pages and files (help, terms of use, mark, colours), the list of keyboard shortcuts, and what makes an app of the product.

That is the manifest, the service worker, and the offline page. Diagrams are drawn in a document that is sandboxed, without an origin or a
network, and with its own content security policy.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from csp.constants import NONCE, NONE, SELF, UNSAFE_INLINE
from csp.decorators import csp, csp_replace
from django.contrib.auth.models import AnonymousUser
from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from chatui import program
from chatui.display import operator_pages
from chatui.env import environment
from chatui.permissions.access import existing
from chatui.site import brand
from chatui.site.brand import Brand
from chatui.site.brand import brand as brand_for_installing
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


PAPER = "#fbfaf8"
"""The background of the light theme (``static/css/tokens.css``): a manifest has one colour only."""

ICONS = (("app-192.png", "192x192", "any"), ("app-512.png", "512x512", "any"), ("app-maskable-512.png", "512x512", "maskable"))
SHELL = ("css/base.css", "css/banners.css", "css/card.css", "js/theme-early.js", "js/offline.js", "icons/icons.svg")
"""The static files that the offline page needs."""


@require_GET
def manifest(request: HttpRequest) -> HttpResponse:
    """The web app manifest. It is the same for everybody."""
    found = brand_for_installing()
    described = {
        "id": "/",
        "name": found.name,
        "short_name": found.name,
        "start_url": reverse("home"),
        "scope": reverse("home"),
        "display": "standalone",
        # What a phone shares fills the message box ("static/js/composer/filled.js").
        "share_target": {
            "action": reverse("home"),
            "method": "GET",
            "enctype": "application/x-www-form-urlencoded",  # the default, but browsers complain without it
            "params": {"title": "title", "text": "q", "url": "url"},
        },
        "background_color": PAPER,
        "theme_color": found.accent,
        "icons": _icons(found),
    }
    return JsonResponse(described, content_type="application/manifest+json")


@require_GET
@csp({"default-src": [NONE], "connect-src": [SELF]})  # the service worker only fetches
def service_worker(request: HttpRequest) -> HttpResponse:
    """The worker that caches static files and the offline page; if it is switched off, one that deletes the caches and itself."""
    is_on = environment().service_worker
    name = "site/worker.js" if is_on else "site/worker_off.js"
    # A digest that changes with any static file, the operator's brand and the release. Caches are named after it.
    release = "-".join([program.version(), getattr(staticfiles_storage, "manifest_hash", ""), brand_for_installing().digest])
    context = {"release": release, "shell": [static(file) for file in SHELL]} if is_on else {}
    response = HttpResponse(render_to_string(name, context), content_type="text/javascript; charset=utf-8")
    response.headers["Cache-Control"] = "no-cache"
    return response


@require_GET
def offline(request: HttpRequest) -> HttpResponse:
    """The page that the worker shows when the server cannot be reached. It is the same for everybody, so it contains no names."""
    # The worker sends cookies if a sign-in proxy demands them. The page stays in the browser after the person has signed out.
    request.user = AnonymousUser()
    return render(request, "site/offline.html")


def _icons(found: Brand) -> list[dict[str, Any]]:
    if mark := found.mark:
        source = reverse("brand_file", args=[found.digest, mark.name])
        return [{"src": source, "sizes": mark.sizes, "type": mark.content_type}]
    return [{"src": static(f"icons/{name}"), "sizes": sizes, "type": "image/png", "purpose": use} for name, sizes, use in ICONS]
