"""Gives people a page when an address does not accept the method. Django's own response is blank.

A person gets there after signing in again, if their session ended while they sent a form: the sign-in leads to the form's address.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponseBase, HttpResponseNotAllowed

from chatui.codes import ProductCode
from chatui.web.errors import refuse


class RefusedMethodMiddleware:
    """Replaces a blank 405 by the error page. The innermost middleware, so that the page has a language."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]) -> None:
        self._get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self._is_async:
            return self._call_async(request)
        response: HttpResponseBase = self._get_response(request)  # type: ignore[assignment]
        return _page(request, response) if _is_blank(response) else response

    async def _call_async(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = await self._get_response(request)  # type: ignore[misc]
        return await sync_to_async(_page)(request, response) if _is_blank(response) else response


def _is_blank(response: HttpResponseBase) -> bool:
    return isinstance(response, HttpResponseNotAllowed) and not response.content


def _page(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    page = refuse(request, ProductCode.NOT_FOUND, response.status_code)
    page.headers["Allow"] = response.headers["Allow"]
    return page
