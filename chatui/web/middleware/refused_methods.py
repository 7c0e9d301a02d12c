"""Gives people a page when an address does not accept the method. Django's own response is blank.

A person gets there after signing in again, if their session ended while they sent a form: the sign-in leads to the form's address.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase, HttpResponseNotAllowed
from django.utils.deprecation import MiddlewareMixin

from chatui.codes import ProductCode
from chatui.web.errors import refuse
from chatui.web.middleware.inline import Inline


class RefusedMethodMiddleware(Inline, MiddlewareMixin):
    """Replaces a blank 405 by the error page. The innermost middleware, so that the page has a language."""

    def may_wait_after(self, request: HttpRequest, response: HttpResponseBase) -> bool:
        """The page may read the person's settings."""
        return _is_blank(response)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The page, if the response is a blank 405."""
        if not _is_blank(response):
            return response
        page = refuse(request, ProductCode.NOT_FOUND, response.status_code)
        page.headers["Allow"] = response.headers["Allow"]
        return page


def _is_blank(response: HttpResponseBase) -> bool:
    return isinstance(response, HttpResponseNotAllowed) and not response.content
