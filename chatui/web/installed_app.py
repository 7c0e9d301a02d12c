"""What makes an app of the product: the manifest, the service worker, and the page that is shown while the server cannot be reached."""

from __future__ import annotations

from typing import Any

from csp.constants import NONE, SELF
from csp.decorators import csp
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_GET

from chatui.env import environment
from chatui.site.brand import Brand
from chatui.site.brand import brand as brand_for_installing
from chatui.web.page_context import worker_cache

PAPER = "#fbfaf8"
"""The background of the light theme (``static/css/tokens.css``): a manifest has one colour only."""

ICONS = (("app-192.png", "192x192", "any"), ("app-512.png", "512x512", "any"), ("app-maskable-512.png", "512x512", "maskable"))
SHELL = ("css/base.css", "css/banners.css", "css/card.css", "js/theme-early.js", "js/offline.js", "icons/icons.svg")
"""The static files that the offline page needs."""


@require_GET
def manifest(request: HttpRequest) -> HttpResponse:
    """The web app manifest. It is the same for everybody."""
    brand = brand_for_installing()
    described = {
        "id": "/",
        "name": brand.name,
        "short_name": brand.name,
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
        "theme_color": brand.accent,
        "icons": _icons(brand),
    }
    return JsonResponse(described, content_type="application/manifest+json")


@require_GET
@csp({"default-src": [NONE], "connect-src": [SELF]})  # the service worker only fetches
def service_worker(request: HttpRequest) -> HttpResponse:
    """The worker that caches static files and the offline page; if it is switched off, one that deletes the caches and itself."""
    is_on = environment().service_worker
    name = "site/worker.js" if is_on else "site/worker_off.js"
    context = {"cache": worker_cache(), "shell": [static(file) for file in SHELL]} if is_on else {}
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
